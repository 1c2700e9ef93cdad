// jit/engine/variants.cpp -- which executable serves a call, by the addresses of its arrays.
#include "jit/engine/variants.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/process/fork.hpp"

namespace adjit::engine {

Executable& Variants::fitting(const void* const* inputs, void* const* outputs,
                              std::span<const bool> on_device, const CancelHook& cancel) {
  if (on_device.empty()) return *usual_;
  const ExecutionPlan& plan = usual_->plan();
  std::vector<size_t> unaligned;  // allocates where there are some
  const size_t count = plan.inputs.size();
  for (size_t k = 0; k < on_device.size(); ++k) {
    if (!on_device[k]) continue;
    if (!(k < count ? is_aligned(inputs[k], plan.inputs[k])
                    : is_aligned(outputs[k - count], plan.outputs[k - count])))
      unaligned.push_back(k);
  }
  if (unaligned.empty()) return *usual_;
  {
    const BriefLock lock(mutex_);
    if (Executable* known = find(unaligned)) return *known;
    if (made_.size() >= kMostExact) {
      unaligned.resize(on_device.size());
      std::iota(unaligned.begin(), unaligned.end(), size_t{0});
      if (Executable* known = find(unaligned)) return *known;
    }
  }
  return made_for(std::move(unaligned), cancel);
}

Executable* Variants::find(const std::vector<size_t>& unaligned) const {
  const auto found = std::ranges::find(made_, unaligned, &Made::unaligned);
  return found == made_.end() ? nullptr : found->executable.get();
}

// Threads that want the same at once share a compilation: the engine sees to it.
Executable& Variants::made_for(std::vector<size_t> unaligned, const CancelHook& cancel) {
  Request request = request_;
  std::vector<size_t> all;
  std::ranges::set_union(request_.unaligned, unaligned, std::back_inserter(all));
  request.unaligned = std::move(all);
  std::shared_ptr<Executable> executable = compile_(request, cancel);
  const BriefLock lock(mutex_);
  if (Executable* known = find(unaligned)) return *known;
  made_.push_back({std::move(unaligned), std::move(executable)});
  return *made_.back().executable;
}

void Variants::synchronize() {
  std::vector<std::shared_ptr<Executable>> all{usual_};
  {
    const BriefLock lock(mutex_);
    for (const Made& one : made_) all.push_back(one.executable);
  }
  for (const std::shared_ptr<Executable>& one : all) one->synchronize();
}

}  // namespace adjit::engine
