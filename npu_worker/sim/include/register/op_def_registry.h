// Operators of a project: descriptions, contexts, registration.
#pragma once
#include "opmend_sim/operator_def.h"
#include "opmend_sim/tiling_data.h"
