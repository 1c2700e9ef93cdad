// jit/cpu/target.hpp -- which CPU code is generated for, and the LLVM target machines that do it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jit/emit/ir/target.hpp"

namespace llvm {
class TargetMachine;
}

namespace adjit::cpu {

/// A CPU as LLVM names it. All strings are components of the cache key.
struct CpuTarget {
  std::string triple;    // "x86_64-pc-linux-gnu"
  std::string cpu;       // "znver4", or the level's name: "x86-64-v3"
  std::string features;  // every feature that LLVM can name, with + or -, sorted by name
  TargetFeatures vector;

  bool operator==(const CpuTarget& other) const {
    return triple == other.triple && cpu == other.cpu && features == other.features;
  }
};

/// "native" is the CPU that runs this process; otherwise a name that LLVM knows: "x86-64-v2",
/// "x86-64-v3", "x86-64-v4", "skylake-avx512", ... Either may be followed by features:
/// "native,-avx512f". "": what the environment variable ADJIT_CPU says at the time of the call,
/// else native. Throws ErrorCode::Invalid for an unknown name and for one with features that this
/// CPU lacks (the code could not run here). Any thread.
CpuTarget cpu_target(std::string_view name = "");

/// The processor's name, from the one that LLVM derives from family and model and from the features
/// that the host reports. They differ where a hypervisor gives its guests the model of an older
/// processor (a Granite Rapids with AMX says that it is a Rocket Lake): then the name follows the
/// features, since the name is what costs and schedules are for (machine.hpp). Any thread.
std::string processor_of(std::string name, const std::function<bool(const char*)>& host_has);

/// How much effort goes into machine code.
enum class CodegenLevel {
  Fast,  // no register allocation across blocks, a third of the time
  Less,  // values stay in registers over the blocks of a function
};

/// What a kernel deserves by its kind (compile_kernels.hpp knows its points, too): Less where it
/// holds accumulators (`register_tile`), and wherever there are only 16 vector registers, too few
/// for the constants and intermediate values of a body with functions. Measured on Zen 3, Less
/// against Fast: gradients of a mixture of Gaussians 1.6, of chains of functions 1.3 times as fast,
/// the median of 17 rows 1.0; compiled in 1.1 times the time.
CodegenLevel codegen_level(bool register_tile, const TargetFeatures& features);

/// Target machines for one CpuTarget, made when first needed and then reused: as many as threads
/// compile at once, since a target machine serves one thread at a time. Thread-safe. Must outlive
/// its leases.
class TargetMachines {
 public:
  explicit TargetMachines(CpuTarget target);
  ~TargetMachines();
  TargetMachines(const TargetMachines&) = delete;
  TargetMachines& operator=(const TargetMachines&) = delete;

  const CpuTarget& target() const { return target_; }

  /// The use of one target machine by one thread; returns it at its end.
  class Lease {
   public:
    ~Lease();
    Lease(Lease&& other) noexcept;
    Lease& operator=(Lease&&) = delete;
    llvm::TargetMachine& operator*() const { return *machine_; }
    llvm::TargetMachine* operator->() const { return machine_.get(); }
    /// Keeps the machine from further use, after a failure inside LLVM. It is not destroyed: its
    /// state is unknown.
    void abandon();

   private:
    friend class TargetMachines;
    Lease(TargetMachines& owner, CodegenLevel level, std::unique_ptr<llvm::TargetMachine> machine);
    TargetMachines* owner_;
    CodegenLevel level_;
    std::unique_ptr<llvm::TargetMachine> machine_;
  };
  Lease lease(CodegenLevel level);

 private:
  std::unique_ptr<llvm::TargetMachine> make(CodegenLevel level) const;

  CpuTarget target_;
  std::mutex mutex_;
  std::vector<std::pair<CodegenLevel, std::unique_ptr<llvm::TargetMachine>>> idle_;
  size_t made_ = 0;  // at most, since some may have been abandoned
};

}  // namespace adjit::cpu
