// tests/fake_cuda/kernels.hpp -- kernels that the fake CUDA driver runs: bitcode for NVPTX.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace adjit::tests {

class Kernels {
 public:
  virtual ~Kernels() = default;
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  virtual std::set<std::string> names() const = 0;
  /// What the kernel did that may not be done, a line each; "": nothing. `memory`: bytes by
  /// address, all that there is.
  virtual std::string run(const std::string& kernel, void** parameters, int blocks, int threads,
                          int shared_bytes, unsigned long long seed,
                          const std::map<unsigned long long, size_t>& memory) = 0;

 protected:
  Kernels() = default;
};

/// Null: the image is no bitcode in its wrapper, or this build has no emulator. Throws
/// std::runtime_error for what is not emulated.
std::unique_ptr<Kernels> kernels_of(const void* image);

}  // namespace adjit::tests
