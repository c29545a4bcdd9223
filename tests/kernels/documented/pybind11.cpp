#include <torch/extension.h>

#include "calls.h"

void documented_do(uint8_t* in, uint8_t* out, DocumentedCase c);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("run", [](const at::Tensor& in, const at::Tensor& out, uint32_t call, uint32_t rows, uint32_t k, uint32_t used, double scalar, double epsilon) {
        documented_do((uint8_t*)in.data_ptr(), (uint8_t*)out.data_ptr(),
                      DocumentedCase{call, rows, k, used, (float)scalar, (float)epsilon});
    });
    m.def("calls", [] {  // "name type" by number
        std::vector<std::string> all;
#define DOCUMENTED_ONE(Name, Type) all.push_back(#Name " " #Type);
        DOCUMENTED_CALLS(DOCUMENTED_ONE)
#undef DOCUMENTED_ONE
        return all;
    });
}
