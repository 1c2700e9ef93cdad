// tests/gpu_emulator/emulator.hpp -- kernels for NVPTX, run on the CPU as a GPU might run them.
//
// The very LLVM IR that is made for a GPU is compiled for the host, with a call before each access
// to memory and in place of each NVVM intrinsic. The threads of a block are fibres, which run in an
// order drawn from a seed and give way at barriers and where a warp works together. Shadow memory
// knows who wrote and read each byte: what depends on the order of threads is found even where the
// values come out right.
#pragma once

#include <llvm/IR/Module.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace adjit::tests {

/// A grid of blocks of threads, along x.
struct Launch {
  int blocks = 1;
  int threads = 32;
  int64_t shared_bytes = 0;  // dynamic ones, behind the kernel's own
  uint64_t seed = 1;         // of the order of blocks and threads
};

/// An array that the kernel may use.
struct DeviceArray {
  const void* data = nullptr;
  size_t bytes = 0;
};

/// Bytes of global memory by their addresses, end exclusive.
struct Span {
  uintptr_t begin = 0, end = 0;
  bool operator==(const Span&) const = default;
};

struct Report {
  /// What a GPU must not be given, in words, each kind at each place once: races, reads of shared
  /// memory that nobody wrote, accesses outside all arrays or at odd addresses, barriers that not
  /// all threads reach. Where one of them leaves nothing to go on with, the launch ends there.
  std::vector<std::string> faults;
  int64_t barriers = 0;         // of blocks
  int64_t requests = 0;         // of warps to global memory, one for each time an instruction runs
  int64_t sectors = 0;          // of 32 bytes, that these touch
  int64_t shared_requests = 0;  // of warps to shared memory
  int64_t conflicts = 0;        // passes that these take beside the first, for banks
  std::vector<Span> read, written;  // of global memory, ascending and apart from each other
};

class GpuEmulator {
 public:
  /// Throws std::runtime_error for what is not emulated, by its name.
  explicit GpuEmulator(std::unique_ptr<llvm::Module> module,
                       std::unique_ptr<llvm::LLVMContext> context);
  ~GpuEmulator();
  GpuEmulator(const GpuEmulator&) = delete;
  GpuEmulator& operator=(const GpuEmulator&) = delete;

  /// Runs a kernel. `parameters[k]` is the address of the value of parameter k, as cuLaunchKernel
  /// takes them; `arrays` is all of global memory. One launch at a time.
  Report run(const std::string& kernel, std::span<void* const> parameters,
             std::span<const DeviceArray> arrays, const Launch& launch);

 private:
  struct Code;
  std::unique_ptr<Code> code_;
};

}  // namespace adjit::tests
