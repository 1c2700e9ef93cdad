// tests/fake_cuda/no_kernels.cpp -- the fake CUDA driver without an emulator: it runs no kernel.
#include "tests/fake_cuda/kernels.hpp"

namespace adjit::tests {

std::unique_ptr<Kernels> kernels_of(const void* /*image*/) { return nullptr; }

}  // namespace adjit::tests
