// The whole interface stands in kernel_operator.h here.
#pragma once
#include "kernel_operator.h"
