#pragma once
#include "lib/matmul_intf.h"
