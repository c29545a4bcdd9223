// Forwards to NPUGuard.h of the simulator.
#pragma once
#include "torch_npu/csrc/core/npu/NPUGuard.h"
