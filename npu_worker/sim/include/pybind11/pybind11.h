// The simulator's binding layer stands in for pybind11 in sources that need no more than it has; the others get pybind11 itself.
#pragma once
#ifdef OPMEND_SIM_FULL_PYBIND11
#include_next <pybind11/pybind11.h>
#else
#include "opmend_sim/binding.h"
#endif
