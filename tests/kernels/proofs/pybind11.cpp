#include <torch/extension.h>

#include "elementwise.h"

void elementwise_do(uint8_t* x, uint8_t* y, uint8_t* z, ProofCase c);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("elementwise", [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, uint32_t call, uint32_t type, uint32_t form, uint32_t repeat,
                            double scalar, uint64_t low, uint64_t high, const std::vector<uint32_t>& strides) {
        elementwise_do((uint8_t*)x.data_ptr(), (uint8_t*)y.data_ptr(), (uint8_t*)z.data_ptr(),
                       ProofCase{call, type, form, repeat, (float)scalar, low, high, strides[0], strides[1], strides[2], strides[3], strides[4], strides[5]});
    });
    m.def("elementwise_calls", [] {  // "name type, type" by number
        std::vector<std::string> all;
#define PROOF_ONE(Name, ...) all.push_back(#Name " " #__VA_ARGS__);
        PROOF_CALLS(PROOF_ONE)
#undef PROOF_ONE
        return all;
    });
}
