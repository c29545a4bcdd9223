// The binding layer has its containers in one header; see pybind11.h.
#pragma once
#ifdef OPMEND_SIM_FULL_PYBIND11
#include_next <pybind11/stl.h>
#else
#include "opmend_sim/binding.h"
#endif
