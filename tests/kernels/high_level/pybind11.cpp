#include <torch/extension.h>

#include "calls.h"

void calls_do(uint8_t* in, uint8_t* out, CallCase c);
void half_softmax_do(uint8_t* in, uint8_t* out, uint8_t* sums, CallCase c);

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
    m.def("call", [](const at::Tensor& in, uint32_t what, uint32_t rows, uint32_t k, uint32_t used, uint32_t other) {
        at::Tensor out = at::empty({3, 2048}, in.options());
        calls_do((uint8_t*)in.data_ptr(), (uint8_t*)out.data_ptr(), CallCase{what, rows, k, used, other});
        return out;
    });
    m.def("half_softmax", [](const at::Tensor& in) {
        at::Tensor out = at::empty_like(in), sums = at::empty({in.size(0), 8}, at::kFloat);
        half_softmax_do((uint8_t*)in.data_ptr(), (uint8_t*)out.data_ptr(), (uint8_t*)sums.data_ptr(),
                        CallCase{0, (uint32_t)in.size(0), (uint32_t)in.size(1), 0, 0});
        return std::make_tuple(out, sums);
    });
}
