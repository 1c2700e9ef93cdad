// tests/fake_cuda/emulated_kernels.cpp -- kernels of the fake CUDA driver, run by the emulator.
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "tests/fake_cuda/kernels.hpp"
#include "tests/gpu_emulator/emulator.hpp"

namespace adjit::tests {
namespace {

class EmulatedKernels final : public Kernels {
 public:
  explicit EmulatedKernels(llvm::StringRef bitcode) {
    auto context = std::make_unique<llvm::LLVMContext>();
    llvm::Expected<std::unique_ptr<llvm::Module>> module =
        llvm::parseBitcodeFile(llvm::MemoryBufferRef(bitcode, "kernels"), *context);
    if (!module) throw std::runtime_error(llvm::toString(module.takeError()));
    for (const llvm::Function& function : **module)
      if (function.getCallingConv() == llvm::CallingConv::PTX_Kernel)
        parameters_[function.getName().str()] = function.arg_size();
    emulator_ = std::make_unique<GpuEmulator>(std::move(*module), std::move(context));
  }

  std::set<std::string> names() const override {
    std::set<std::string> found;
    for (const auto& [name, count] : parameters_) found.insert(name);
    return found;
  }

  size_t parameters(const std::string& kernel) const override { return parameters_.at(kernel); }

  Ran run(const std::string& kernel, void** parameters, int blocks, int threads, int shared_bytes,
          unsigned long long seed, const std::map<unsigned long long, size_t>& memory) override {
    std::vector<DeviceArray> arrays;
    for (const auto& [address, bytes] : memory)
      // NOLINTNEXTLINE(performance-no-int-to-ptr): of what the driver gave out
      arrays.push_back({reinterpret_cast<const void*>(static_cast<uintptr_t>(address)), bytes});
    Ran ran;
    try {
      const Report report = emulator_->run(kernel, std::span(parameters, parameters_.at(kernel)),
                                           arrays, {blocks, threads, shared_bytes, seed});
      for (const std::string& fault : report.faults) ran.faults += kernel + ": " + fault + "\n";
      for (const Span& span : report.read) ran.read.emplace_back(span.begin, span.end);
      for (const Span& span : report.written) ran.written.emplace_back(span.begin, span.end);
    } catch (const std::exception& error) {
      ran.faults = kernel + ": " + error.what() + "\n";
    }
    return ran;
  }

 private:
  std::map<std::string, size_t> parameters_;  // their number, by kernel
  std::unique_ptr<GpuEmulator> emulator_;
};

}  // namespace

// LLVM's wrapper, all numbers of 32 bits: magic, version, offset, size, CPU.
std::unique_ptr<Kernels> kernels_of(const void* image) {
  constexpr uint32_t kWrapper = 0x0B17C0DE;
  uint32_t header[5];
  std::memcpy(header, image, sizeof header[0]);
  if (header[0] != kWrapper) return nullptr;
  std::memcpy(header, image, sizeof header);
  return std::make_unique<EmulatedKernels>(
      llvm::StringRef(static_cast<const char*>(image) + header[2], header[3]));
}

}  // namespace adjit::tests

/// How adjit knows that modules may be bitcode (jit/cuda/driver.hpp).
extern "C" const int adjit_driver_takes_bitcode;
extern "C" const int adjit_driver_takes_bitcode = 1;
