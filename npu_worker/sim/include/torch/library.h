// Registration of operators with torch's dispatcher is not there: it says so where it is used, not where it is included.
#pragma once
#include "torch/extension.h"

#define OPMEND_NO_LIBRARY(form, name, m)                                                   \
    static_assert(sizeof(#name) == 0, "unsupported by the simulator: " #form);             \
    [[maybe_unused]] static void opmend_library_##form##_##name(at::Tensor& m)
#define TORCH_LIBRARY(name, m) OPMEND_NO_LIBRARY(TORCH_LIBRARY, name, m)
#define TORCH_LIBRARY_FRAGMENT(name, m) OPMEND_NO_LIBRARY(TORCH_LIBRARY_FRAGMENT, name, m)
#define TORCH_LIBRARY_IMPL(name, key, m) OPMEND_NO_LIBRARY(TORCH_LIBRARY_IMPL, name, m)
