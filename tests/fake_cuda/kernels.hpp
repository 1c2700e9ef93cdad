// tests/fake_cuda/kernels.hpp -- kernels that the fake CUDA driver runs: bitcode for NVPTX.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace adjit::tests {

/// What a kernel did.
struct Ran {
  std::string faults;  // that may not be, a line each; "": nothing
  /// Begin and end of bytes by their addresses, ascending.
  std::vector<std::pair<unsigned long long, unsigned long long>> read, written;
};

class Kernels {
 public:
  virtual ~Kernels() = default;
  Kernels(const Kernels&) = delete;
  Kernels& operator=(const Kernels&) = delete;

  virtual std::set<std::string> names() const = 0;
  /// Of a kernel; each takes 8 bytes.
  virtual size_t parameters(const std::string& kernel) const = 0;
  /// `memory`: bytes by address, all that there is.
  virtual Ran run(const std::string& kernel, void** parameters, int blocks, int threads,
                  int shared_bytes, unsigned long long seed,
                  const std::map<unsigned long long, size_t>& memory) = 0;

 protected:
  Kernels() = default;
};

/// Null: the image is no bitcode in its wrapper, or this build has no emulator. Throws
/// std::runtime_error for what is not emulated.
std::unique_ptr<Kernels> kernels_of(const void* image);

}  // namespace adjit::tests
