// Forwards to kernel_operator.h: it has the whole library.
#pragma once
#include "kernel_operator.h"
