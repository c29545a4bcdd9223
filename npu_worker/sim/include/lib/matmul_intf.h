// The Matmul object.
#pragma once
#include "kernel_operator.h"
#include "opmend_sim/matmul.h"
