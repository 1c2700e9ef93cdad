// jit/engine/run/chain.cpp -- ranges of tasks, the tables that they move, and their times.
#include "jit/engine/run/chain.hpp"

#include <x86intrin.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <numeric>

#include "jit/engine/run/place_step.hpp"

namespace adjit::engine {
namespace {

// Tasks of a kernel, in pieces between which a call may be cancelled. A piece is one task where
// that takes long; else it gets longer until it takes a few hundred microseconds.
void run_range(const LoadedKernel& kernel, const Frame& frame, int64_t begin, int64_t end) {
  void* const* table = frame.table.data() + kernel.table;
  if (!frame.call) return kernel.function(table, begin, end);
  constexpr uint64_t kShort = uint64_t{1} << 20;  // cycles of the processor's clock
  for (int64_t piece = 1; begin < end;) {
    frame.call->check();
    const uint64_t start = __rdtsc();
    const int64_t behind = begin + std::min(piece, end - begin);
    kernel.function(table, begin, behind);
    begin = behind;
    if (__rdtsc() - start < kShort) piece *= 2;
  }
}

}  // namespace

// The kernels' tables are copied, since tensors in the slot move from task to task, and those of a
// scan's steps from step to step.
void run_tasks(const Chain& chain, int64_t begin, int64_t end) {
  const LoadedPlan& loaded = *chain.loaded;
  void* const* table = chain.frame->table.data();
  const LoadedKernel& head = loaded.kernels[chain.kernels.front().number];
  if (chain.kernels.size() == 1 && head.slots.empty() && !chain.scan)
    return run_range(head, *chain.frame, begin, end);
  size_t offset = SIZE_MAX, behind = 0;
  for (const StepPlan& step : chain.kernels) {
    const LoadedKernel& kernel = loaded.kernels[step.number];
    offset = std::min(offset, kernel.table);
    behind = std::max(behind, kernel.table + kernel.tensors);
  }
  constexpr size_t kFew = 128;
  std::array<void*, kFew> few;
  std::vector<void*> many(behind - offset > kFew ? behind - offset : 0);
  void** own = many.empty() ? few.data() : many.data();
  std::copy(table + offset, table + behind, own);
  const auto worker = static_cast<size_t>(ThreadPool::worker());
  const auto slot = reinterpret_cast<uintptr_t>(chain.frame->slots.get()) +
                    worker * static_cast<uintptr_t>(loaded.plan.slot_bytes);
  const auto set = [&](size_t buffer, void* address) {
    for (size_t position : loaded.uses[buffer]) own[position - offset] = address;
  };
  const int64_t steps = chain.scan ? chain.scan->trips : 1;
  for (int64_t task = begin; task < end; ++task) {
    for (const StepPlan& step : chain.kernels) {
      const LoadedKernel& kernel = loaded.kernels[step.number];
      for (const auto& [position, buffer] : kernel.slots)
        // NOLINTBEGIN(performance-no-int-to-ptr): element 0 may lie before the block, where no
        // pointer arithmetic leads.
        own[kernel.table - offset + position] =
            reinterpret_cast<void*>(slot + static_cast<uintptr_t>(buffer.at - task * buffer.slice));
      // NOLINTEND(performance-no-int-to-ptr)
    }
    for (int64_t n = 0; n < steps; ++n) {
      if (chain.frame->call) chain.frame->call->check();
      if (chain.scan)
        place_step(chain.frame->addresses, chain.frame->workspace.get(), *chain.scan, n, set);
      for (size_t k = 0; k < chain.kernels.size(); ++k) {
        const LoadedKernel& kernel = loaded.kernels[chain.kernels[k].number];
        if (!chain.seconds) {
          kernel.function(own + (kernel.table - offset), task, task + 1);
          continue;
        }
        const auto start = std::chrono::steady_clock::now();
        kernel.function(own + (kernel.table - offset), task, task + 1);
        (*chain.seconds)[worker * chain.kernels.size() + k] +=
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      }
    }
  }
}

void run_chain(const LoadedPlan& loaded, Frame& frame, std::span<const StepPlan> kernels,
               const ScanPlan* scan) {
  const LoadedKernel& kernel = loaded.kernels[kernels.front().number];
  std::vector<double> seconds;
  if (frame.times) seconds.resize(kernels.size() * static_cast<size_t>(loaded.pool->workers()));
  const Chain chain{&loaded, &frame, kernels, scan, frame.times ? &seconds : nullptr};
  const auto began = std::chrono::steady_clock::now();
  if (kernel.parallel) {
    loaded.pool->run(
        kernel.tasks / tasks_in_turn(loaded, kernels),
        [](void* context, int64_t begin, int64_t end) {
          const Chain& c = *static_cast<const Chain*>(context);
          const int64_t in_turn = tasks_in_turn(*c.loaded, c.kernels);
          run_tasks(c, begin * in_turn, end * in_turn);
        },
        const_cast<Chain*>(&chain));
  } else {
    run_range(kernel, frame, 0, kernel.tasks);
  }
  if (!frame.times) return;
  // The time of the whole chain, shared out as its kernels' times in the workers are.
  const double whole =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  const double sum = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  for (size_t k = 0; k < kernels.size(); ++k) {
    double own = 0;
    for (size_t at = k; at < seconds.size(); at += kernels.size()) own += seconds[at];
    KernelTime& time = (*frame.times)[kernels[k].number];
    time.seconds += sum > 0 ? whole * own / sum : whole;
    time.calls += scan ? scan->trips : 1;
  }
}

}  // namespace adjit::engine
