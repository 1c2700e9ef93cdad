// tests/fake_cuda/steering.cpp -- how tests steer the fake CUDA driver, from their side.
#include <dlfcn.h>

#include <stdexcept>

#include "tests/fake_cuda/fake_cuda.hpp"

namespace adjit::tests {

FakeCuda::FakeCuda(const std::string& library)
    : handle_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error("no fake driver at " + library);
  found<void()>("fake_cuda_reset")();
}

template <typename Function>
Function* FakeCuda::found(const char* name) const {
  return reinterpret_cast<Function*>(dlsym(handle_, name));
}

void FakeCuda::show_devices(int count, int capability) {
  found<void(int, int)>("fake_cuda_devices")(count, capability);
}
void FakeCuda::have_multiprocessors(int count) {
  found<void(int)>("fake_cuda_multiprocessors")(count);
}
void FakeCuda::have(int attribute, int value) {
  found<void(int, int)>("fake_cuda_attribute")(attribute, value);
}
void FakeCuda::fail(const std::string& symbol, int result, int nth) {
  found<void(const char*, int, int)>("fake_cuda_fail")(symbol.c_str(), result, nth);
}
int FakeCuda::calls(const std::string& symbol) const {
  return found<int(const char*)>("fake_cuda_calls")(symbol.c_str());
}
int FakeCuda::live() const { return found<int()>("fake_cuda_live")(); }
void FakeCuda::have_memory(size_t bytes) { found<void(size_t)>("fake_cuda_memory")(bytes); }
void* FakeCuda::allocate(size_t bytes, int device) {
  return found<void*(size_t, int)>("fake_cuda_allocate")(bytes, device);
}
void FakeCuda::give_back(void* memory) { found<void(void*)>("fake_cuda_free")(memory); }
size_t FakeCuda::taken() const { return found<size_t()>("fake_cuda_taken")(); }
bool FakeCuda::runs_kernels() const {
  return dlsym(handle_, "adjit_driver_takes_bitcode") != nullptr;
}
std::string FakeCuda::faults() const { return found<const char*()>("fake_cuda_faults")(); }
void FakeCuda::capture(void* stream, bool captured) {
  found<void(void*, int)>("fake_cuda_capture")(stream, captured ? 1 : 0);
}
void* FakeCuda::current_context() const { return found<void*()>("fake_cuda_current")(); }
void FakeCuda::set_current_context(void* context) const {
  found<void(void*)>("fake_cuda_set_current")(context);
}

}  // namespace adjit::tests
