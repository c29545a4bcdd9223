// Kernels include it by habit; what they use of it is in torch/extension.h.
#pragma once
#include "torch/extension.h"
