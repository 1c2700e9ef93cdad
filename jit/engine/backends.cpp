// jit/engine/backends.cpp -- the machines of an engine, by name.
#include "jit/engine/backends.hpp"

#include <optional>
#include <utility>

#include "jit/cuda/assembler.hpp"
#include "jit/cuda/device.hpp"
#include "jit/cuda/driver.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {

Backend& Backends::named(const std::string& target) {
  if (target == "cpu") return cpu_;
  if (!target.starts_with("cuda"))
    throw Error(ErrorCode::Device,
                "there is no target '" + target + "'; use \"cpu\", \"cuda\" or \"cuda:1\"");
  const cuda::Driver& driver = cuda::driver();  // refuses children before the lock
  const std::lock_guard lock(mutex_);
  if (const auto known = gpus_.find(target); known != gpus_.end()) return *known->second;
  cuda::DeviceFacts facts = cuda::device_named(driver, target);
  std::shared_ptr<CudaBackend>& made = by_ordinal_[facts.ordinal];
  if (!made) {
    std::optional<cuda::Assembler> assembler;
    if (!driver.takes_bitcode) assembler = cuda::find_assembler();
    made = std::make_shared<CudaBackend>(std::make_shared<cuda::Gpu>(driver, std::move(facts)),
                                         std::move(assembler), mode_);
  }
  return *(gpus_[target] = made);
}

std::vector<int> Backends::devices() {
  const std::lock_guard lock(mutex_);
  std::vector<int> ordinals;
  for (const auto& [ordinal, backend] : by_ordinal_) ordinals.push_back(ordinal);
  return ordinals;
}

}  // namespace adjit::engine
