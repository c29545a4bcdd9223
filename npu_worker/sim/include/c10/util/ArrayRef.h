// Forwards to the light torch/extension.h of the simulator.
#pragma once
#include "torch/extension.h"
