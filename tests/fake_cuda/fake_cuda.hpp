// tests/fake_cuda/fake_cuda.hpp -- how tests steer the fake CUDA driver (fake_cuda.cpp).
//
// ADJIT_CUDA_LIBRARY, or load_driver(), names its library. The functions below are exported beside
// the driver's own; FakeCuda finds them in the library that is loaded already.
#pragma once

#include <cstddef>
#include <string>

namespace adjit::tests {

/// What the fake driver counts and does, for all threads. Reset by the constructor, with the
/// calling thread's context.
class FakeCuda {
 public:
  /// `library`: the path that is, or will be, given to the code under test.
  explicit FakeCuda(const std::string& library);

  /// So many GPUs of this compute capability (90 for 9.0), at first one of 9.0.
  void show_devices(int count, int capability = 90);
  /// Of each GPU, at first 132: schedules for fewer have vectors in smaller programs.
  void have_multiprocessors(int count);
  /// Another one of its numbers, by its CUdevice_attribute (jit/cuda/driver_numbers.hpp).
  void have(int attribute, int value);
  /// Call number `nth` from now on of a function, by its exported name, fails with `result`.
  void fail(const std::string& symbol, int result, int nth = 1);
  /// Calls of a function since the reset.
  int calls(const std::string& symbol) const;
  /// Contexts retained, modules, links, memory, streams, events and graphs, as they were made and
  /// instantiated, that were not given back.
  int live() const;
  /// So many bytes of memory, for all devices together and for what is pinned; at first 80 GB.
  void have_memory(size_t bytes);
  /// A block of it, as others in the process would take one.
  void* allocate(size_t bytes, int device = 0);
  void give_back(void* memory);
  /// Bytes that are taken of it.
  size_t taken() const;
  /// Whether kernels run: they do nothing in builds without the emulator.
  bool runs_kernels() const;
  /// What kernels did since the reset that may not be done, a line each. Calls fail after that.
  std::string faults() const;
  /// From now on what goes into a stream would be captured, or no more.
  void capture(void* stream, bool captured);
  /// The calling thread's current context; null: none.
  void* current_context() const;
  void set_current_context(void* context) const;

 private:
  template <typename Function>
  Function* found(const char* name) const;
  void* handle_;
};

}  // namespace adjit::tests
