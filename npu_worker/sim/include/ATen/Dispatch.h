// Forwards to torch/dispatch.h of the simulator.
#pragma once
#include "torch/dispatch.h"
