#include <torch/extension.h>

#include "elementwise.h"
#include "lines.h"

void elementwise_do(uint8_t* x, uint8_t* y, uint8_t* z, ProofCase c);
void lines_do(uint8_t* x, uint8_t* y, uint8_t* z, LineCase c);
void facts_do(uint8_t* z, uint32_t blocks, int32_t what);

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
    m.def("line", [](const at::Tensor& x, const at::Tensor& y, const at::Tensor& z, uint32_t call, uint32_t type, uint32_t bitwise, uint32_t repeat,
                     uint32_t order, double scalar, uint64_t low, uint64_t high, uint32_t block, uint32_t stride) {
        lines_do((uint8_t*)x.data_ptr(), (uint8_t*)y.data_ptr(), (uint8_t*)z.data_ptr(),
                 LineCase{call, type, bitwise, repeat, order, (float)scalar, low, high, block, stride});
    });
    m.def("line_calls", [] {
        std::vector<std::string> all;
#define LINE_ONE(Name) all.push_back(#Name);
        LINE_CALLS(LINE_ONE)
#undef LINE_ONE
        return all;
    });
    m.def("facts", [](const at::Tensor& z, uint32_t blocks, int32_t what) { facts_do((uint8_t*)z.data_ptr(), blocks, what); });
}
