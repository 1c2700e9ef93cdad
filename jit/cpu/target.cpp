// jit/cpu/target.cpp -- host description by LLVM's own tables; a pool of target machines.
#include "jit/cpu/target.hpp"

#include <llvm/ADT/StringMap.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Target/TargetOptions.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <new>
#include <optional>

#include "jit/codegen/targets.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cpu {
namespace {

const llvm::Target& x86_64(const std::string& triple) {
  register_targets();
  std::string error;
  const llvm::Target* target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target) throw Error(ErrorCode::Compile, "no code generator for " + triple + ": " + error);
  return *target;
}

/// What was asked for, taken apart: "native,-avx512f" is the name "native" and the features
/// "-avx512f".
struct Wanted {
  std::string text, cpu, features;
  bool from_environment = false;

  std::string quoted() const {
    return (from_environment ? "ADJIT_CPU is '" : "target '") + text +
           (from_environment ? "', which" : "'");
  }
};

Wanted wanted_from(std::string_view name) {
  Wanted wanted;
  wanted.text = name;
  if (const char* usual = std::getenv("ADJIT_CPU"); name.empty() && usual && *usual) {
    wanted.text = usual;
    wanted.from_environment = true;
  }
  const size_t comma = std::min(wanted.text.find(','), wanted.text.size());
  wanted.cpu = wanted.text.substr(0, comma);
  if (comma < wanted.text.size()) wanted.features = wanted.text.substr(comma + 1);
  if (wanted.cpu.empty()) wanted.cpu = "native";
  return wanted;
}

/// The host's features in LLVM's notation: those that its processor (and a hypervisor) reports, on
/// or off.
std::string reported_features(const llvm::StringMap<bool>& host) {
  std::string text;
  for (const auto& feature : host) {
    if (!text.empty()) text += ',';
    text += feature.second ? '+' : '-';
    text += feature.first();
  }
  return text;
}

/// Features that a line of processors had first, newest line first.
struct Sign {
  const char* feature;
  bool amd;
  const char* cpu;
};
constexpr Sign kSigns[] = {
    {"amx-fp16", false, "graniterapids"},    {"amx-tile", false, "sapphirerapids"},
    {"avx512fp16", false, "sapphirerapids"}, {"avx512vp2intersect", true, "znver5"},
    {"avx512bf16", true, "znver4"},
};

/// LLVM would print a warning on the process' standard error and go on.
void require_known(const std::string& features, const llvm::MCSubtargetInfo& any,
                   const Wanted& wanted) {
  for (std::string_view rest = features; !rest.empty();) {
    const std::string_view item = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(item.size() + 1, rest.size()));
    const bool signed_item = item.size() > 1 && (item[0] == '+' || item[0] == '-');
    const auto known = [&](const llvm::SubtargetFeatureKV& feature) {
      return item.substr(1) == feature.Key;
    };
    if (!signed_item || std::ranges::none_of(any.getAllProcessorFeatures(), known))
      throw Error(ErrorCode::Invalid,
                  wanted.quoted() + " names the feature '" + std::string(item) +
                      "', which is unknown: write +name or -name, such as -avx512f");
  }
}

void require_host_has(const llvm::MCSubtargetInfo& subtarget, const llvm::StringMap<bool>& host,
                      const Wanted& wanted) {
  std::string lacking, without;
  for (const llvm::SubtargetFeatureKV& feature : subtarget.getAllProcessorFeatures()) {
    const auto found = host.find(feature.Key);
    if (!subtarget.getFeatureBits().test(feature.Value) || found == host.end() || found->second)
      continue;
    lacking += (lacking.empty() ? "" : ", ") + std::string(feature.Key);
    without += ",-" + std::string(feature.Key);
  }
  if (!lacking.empty())
    throw Error(ErrorCode::Invalid,
                wanted.quoted() + " needs " + lacking +
                    ", which this CPU lacks: the code could not run here; use native, a level "
                    "below, or '" +
                    wanted.text + without + "'");
}

/// Every feature that is on, and with "-" those that the CPU's name would switch on and that are
/// off.
std::string complete_features(const llvm::MCSubtargetInfo& subtarget,
                              const llvm::MCSubtargetInfo& bare) {
  std::vector<std::string> items;
  for (const llvm::SubtargetFeatureKV& feature : subtarget.getAllProcessorFeatures()) {
    if (subtarget.getFeatureBits().test(feature.Value)) {
      items.push_back(std::string("+") + feature.Key);
    } else if (bare.getFeatureBits().test(feature.Value)) {
      items.push_back(std::string("-") + feature.Key);
    }
  }
  std::ranges::sort(items, {}, [](const std::string& item) { return item.substr(1); });
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ",") + item;
  return text;
}

}  // namespace

std::string processor_of(std::string name, const std::function<bool(const char*)>& host_has) {
  const ForkDelay no_fork;
  std::string triple = llvm::sys::getProcessTriple();
  const llvm::Target& target = x86_64(triple);
  const std::unique_ptr<llvm::MCSubtargetInfo> bare(target.createMCSubtargetInfo(triple, name, ""));
  const bool amd = host_has("sse4a");
  for (const Sign& sign : kSigns) {
    if (sign.amd == amd && host_has(sign.feature))
      return bare->checkFeatures(std::string("+") + sign.feature) ? name : sign.cpu;
  }
  return name;
}

CpuTarget cpu_target(std::string_view name) {
  const ForkDelay no_fork;
  const Wanted wanted = wanted_from(name);
  CpuTarget result;
  result.triple = llvm::sys::getProcessTriple();
  const llvm::Target& target = x86_64(result.triple);
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  const bool native = wanted.cpu == "native";
  const auto has = [&](const char* feature) { return host.lookup(feature); };
  result.cpu = native ? processor_of(llvm::sys::getHostCPUName().str(), has) : wanted.cpu;

  const auto subtarget = [&](const std::string& cpu, const std::string& features) {
    return std::unique_ptr<llvm::MCSubtargetInfo>(
        target.createMCSubtargetInfo(result.triple, cpu, features));
  };
  const auto any = subtarget("", "");
  if (!any->isCPUStringValid(result.cpu))
    throw Error(ErrorCode::Invalid,
                wanted.quoted() + " names an unknown CPU, '" + result.cpu +
                    "': use native, x86-64-v2, x86-64-v3, x86-64-v4 or an LLVM CPU name");
  require_known(wanted.features, *any, wanted);
  std::string features = native ? reported_features(host) : "";
  if (!wanted.features.empty()) features += (features.empty() ? "" : ",") + wanted.features;
  const auto asked = subtarget(result.cpu, features);
  require_host_has(*asked, host, wanted);
  result.features = complete_features(*asked, *subtarget(result.cpu, ""));
  result.vector = from_feature_string(result.features);
  return result;
}

TargetMachines::TargetMachines(CpuTarget target) : target_(std::move(target)) {}
TargetMachines::~TargetMachines() = default;

TargetMachines::Lease::Lease(TargetMachines& owner, CodegenLevel level,
                             std::unique_ptr<llvm::TargetMachine> machine)
    : owner_(&owner), level_(level), machine_(std::move(machine)) {}

TargetMachines::Lease::Lease(Lease&& other) noexcept = default;

TargetMachines::Lease::~Lease() {
  if (!machine_) return;
  const BriefLock lock(owner_->mutex_);
  owner_->idle_.emplace_back(level_, std::move(machine_));  // lease() has made room
}

void TargetMachines::Lease::abandon() {
  [[maybe_unused]] const llvm::TargetMachine* lost = machine_.release();
}

TargetMachines::Lease TargetMachines::lease(CodegenLevel level) {
  const ForkDelay no_fork;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find(idle_, level, [](const auto& idle) { return idle.first; });
    if (found != idle_.end()) {
      std::unique_ptr<llvm::TargetMachine> machine = std::move(found->second);
      idle_.erase(found);
      return {*this, level, std::move(machine)};
    }
    idle_.reserve(++made_);
  }
  return {*this, level, make(level)};
}

CodegenLevel codegen_level(bool register_tile, const TargetFeatures& features) {
  return register_tile || !features.avx512f ? CodegenLevel::Less : CodegenLevel::Fast;
}

std::unique_ptr<llvm::TargetMachine> TargetMachines::make(CodegenLevel level) const {
  llvm::TargetOptions options;
  options.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // fma nodes are explicit
  options.NoTrappingFPMath = true;
  const bool fast = level == CodegenLevel::Fast;
  options.EnableFastISel = fast;
  std::unique_ptr<llvm::TargetMachine> machine(
      x86_64(target_.triple)
          .createTargetMachine(target_.triple, target_.cpu, target_.features, options,
                               llvm::Reloc::PIC_, llvm::CodeModel::Small,
                               fast ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Less,
                               /*JIT=*/true));
  if (!machine) throw Error(ErrorCode::Compile, "LLVM makes no target machine for " + target_.cpu);
  machine->setFastISel(fast);
  return machine;
}

}  // namespace adjit::cpu
