// jit/engine/run/cpu_executable.cpp -- a call: its frame, its stack, its arguments, its checks.
#include "jit/engine/run/cpu_executable.hpp"

#include <set>

#include "jit/cpu/stack.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/run/steps.hpp"

namespace adjit::engine {
namespace {

// One kernel of one task: there is no moment to cancel it.
bool is_brief(const LoadedPlan& loaded) {
  const std::vector<StepPlan>& steps = loaded.plan.steps;
  return steps.size() == 1 && !steps[0].scan && loaded.kernels[steps[0].number].tasks <= 1;
}

void run_here(const LoadedPlan& loaded, FloatMode mode, Frame& frame, const void* const* inputs,
              void* const* outputs) {
  const FloatModeScope scope(mode);
  for (size_t b : loaded.arguments) {
    const Buffer& buffer = loaded.plan.buffers[b];
    const auto at = static_cast<size_t>(buffer.at);
    set_address(frame, loaded, b,
                buffer.kind == Buffer::Kind::Output ? outputs[at] : const_cast<void*>(inputs[at]));
  }
  run_steps(loaded, frame, loaded.plan.steps, loaded.sections);
  raise_failed_checks(loaded.plan.checks, frame.checks);
}

}  // namespace

CpuExecutable::CpuExecutable(ExecutionPlan plan, std::vector<std::shared_ptr<LoadedCode>> code,
                             std::shared_ptr<ThreadPool> pool, CompileReport report, FloatMode mode)
    : Executable(std::move(report)),
      loaded_(load_plan(std::move(plan), std::move(code), std::move(pool))),
      mode_(mode),
      brief_(is_brief(loaded_)) {
  const std::set objects(loaded_.code.begin(), loaded_.code.end());
  object_count_ = objects.size();
  for (const auto& object : objects) report_.code_bytes += object->bytes();
}

CpuExecutable::~CpuExecutable() { delete spare_.load(); }

int64_t CpuExecutable::workspace_bytes() const {
  return plan().workspace_bytes + plan().slot_bytes * loaded_.pool->workers();
}

void CpuExecutable::run_call(const void* const* inputs, void* const* outputs,
                             const RunOptions& options) {
  std::unique_ptr<Frame> frame(spare_.exchange(nullptr, std::memory_order_acquire));
  if (!frame) frame = make_frame(loaded_);
  run_in(*frame, inputs, outputs, options.cancel);
  Frame* mine = frame.release();
  Frame* nobody = nullptr;
  if (!spare_.compare_exchange_strong(nobody, mine, std::memory_order_release)) delete mine;
}

std::vector<KernelTime> CpuExecutable::profile_calls(const void* const* inputs,
                                                     void* const* outputs, int repeats,
                                                     const RunOptions& options) {
  const std::unique_ptr<Frame> frame = make_frame(loaded_);
  std::vector<KernelTime> best(loaded_.kernels.size()), times;
  for (int n = 0; n < repeats; ++n) {
    times.assign(best.size(), {});
    frame->times = &times;
    run_in(*frame, inputs, outputs, options.cancel);
    for (size_t k = 0; k < best.size(); ++k)
      if (n == 0 || times[k].seconds < best[k].seconds) best[k] = times[k];
  }
  return best;
}

void CpuExecutable::run_in(Frame& frame, const void* const* inputs, void* const* outputs,
                           const CancelHook& hook) const {
  struct Call {
    const CpuExecutable* executable;
    Frame* frame;
    const void* const* inputs;
    void* const* outputs;
    const CancelHook* hook;
  } call{this, &frame, inputs, outputs, &hook};
  constexpr size_t kFrames = 128 << 10;  // besides the kernels' buffers
  with_stack(
      static_cast<size_t>(kMaxLocalBytes) + kFrames,
      [](void* context) {
        const Call& c = *static_cast<const Call*>(context);
        const CpuExecutable& e = *c.executable;
        if (!c.hook->cancelled || e.brief_)
          return run_here(e.loaded_, e.mode_, *c.frame, c.inputs, c.outputs);
        Cancellable cancellable(*c.hook);
        c.frame->call = &cancellable;
        run_here(e.loaded_, e.mode_, *c.frame, c.inputs, c.outputs);
        c.frame->call = nullptr;
      },
      &call);
}

}  // namespace adjit::engine
