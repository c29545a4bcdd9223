// The host's macros for tiling data.
#pragma once
#include "opmend_sim/tiling_data.h"
