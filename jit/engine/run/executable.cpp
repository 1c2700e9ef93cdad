// jit/engine/run/executable.cpp -- frames and the steps of a call.
#include "jit/engine/run/executable.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <new>
#include <numeric>
#include <set>

#include "jit/cpu/stack.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/plan/workspace.hpp"

namespace adjit::engine {

struct Executable::Frame {
  std::vector<void*> addresses;  // per buffer
  std::vector<void*> table;
  WorkspaceBlock workspace;
  WorkspaceBlock slots;  // slot_bytes for each worker of the pool
  std::vector<int64_t> checks;
  std::vector<std::unique_ptr<TaskGraph::Run, TaskGraph::Delete>> runs;  // per task graph
  std::vector<KernelTime>* times = nullptr;  // of this run, while it is profiled
  Cancellable* call = nullptr;               // of this run, where it has a hook
};

Executable::Executable(ExecutionPlan plan, std::vector<std::shared_ptr<LoadedCode>> code,
                       std::shared_ptr<ThreadPool> pool, CompileReport report, FloatMode mode)
    : plan_(std::move(plan)),
      code_(std::move(code)),
      pool_(std::move(pool)),
      report_(std::move(report)),
      mode_(mode),
      uses_(plan_.buffers.size()) {
  const std::set objects(code_.begin(), code_.end());
  object_count_ = objects.size();
  for (const auto& code : objects) report_.code_bytes += code->bytes();
  for (size_t k = 0; k < plan_.kernels.size(); ++k) {
    const KernelPlan& kernel = plan_.kernels[k];
    kernels_.push_back({reinterpret_cast<KernelFunction>(code_[k]->lookup(kernel.symbol)),
                        table_size_,
                        kernel.tensors.size(),
                        kernel.tasks,
                        kernel.in_turn,
                        kernel.parallel,
                        kernel.chained,
                        {}});
    for (size_t t = 0; t < kernel.tensors.size(); ++t) {
      const size_t buffer = kernel.tensors[t];
      uses_[buffer].push_back(table_size_++);
      if (plan_.buffers[buffer].kind == Buffer::Kind::Slot)
        kernels_.back().slots.emplace_back(t, plan_.buffers[buffer]);
    }
  }
  for (size_t b = 0; b < plan_.buffers.size(); ++b)
    if (plan_.buffers[b].kind == Buffer::Kind::Input ||
        plan_.buffers[b].kind == Buffer::Kind::Output)
      arguments_.push_back(b);
  sections_ = sections_of(plan_.steps);
  for (const ScanPlan& scan : plan_.scans)
    scan_sections_.push_back({sections_of(scan.before), sections_of(scan.steps)});
  short_ =
      plan_.steps.size() == 1 && !plan_.steps[0].scan && kernels_[plan_.steps[0].number].tasks <= 1;
}

Executable::Sections Executable::sections_of(const std::vector<StepPlan>& steps) {
  Sections sections;
  for (size_t s = 0; s < steps.size();) {
    Section section{s, s + 1, SIZE_MAX, {}};
    if (!steps[s].scan)
      while (section.end < steps.size() && !steps[section.end].scan) ++section.end;
    s = section.end;
    sections.push_back(std::move(section));
  }
  if (pool_->workers() < 2) return sections;
  for (Section& section : sections) {
    if (steps[section.begin].scan) continue;
    std::vector<TaskGraph::Group> groups;
    std::vector<size_t> group_of(section.end);  // per step
    bool parallel = false;
    for (size_t s = section.begin; s < section.end; ++s) {
      const LoadedKernel& kernel = kernels_[steps[s].number];
      if (kernel.chained) {
        section.chains.back().second = s + 1;
        continue;
      }
      const int64_t in_turn = tasks_in_turn(chain_at(steps, s, section.end));
      group_of[s] = groups.size();
      section.chains.emplace_back(s, s + 1);
      parallel = parallel || kernel.parallel;
      TaskGraph::Group& group = groups.emplace_back();
      group.tasks = std::max<int64_t>(1, kernel.tasks / in_turn);
      for (size_t before : steps[s].waits) group.waits.push_back(group_of[before]);
    }
    if (!parallel || groups.size() < 2) continue;
    section.graph = graphs_.size();
    graphs_.emplace_back(groups, pool_->workers());
  }
  return sections;
}

Executable::~Executable() { delete spare_.load(); }

std::unique_ptr<Executable::Frame> Executable::make_frame() const {
  auto frame = std::make_unique<Frame>();
  frame->addresses.resize(plan_.buffers.size());
  frame->table.resize(table_size_);
  frame->workspace = allocate_block(plan_.workspace_bytes);
  frame->slots = allocate_block(checked_mul(plan_.slot_bytes, pool_->workers()));
  frame->checks.resize(2 * plan_.checks.size());
  for (const TaskGraph& graph : graphs_) frame->runs.push_back(graph.make_run());
  for (size_t b = 0; b < plan_.buffers.size(); ++b) {
    const Buffer& buffer = plan_.buffers[b];
    if (buffer.kind == Buffer::Kind::Workspace) set(*frame, b, frame->workspace.get() + buffer.at);
    if (buffer.kind == Buffer::Kind::Check)
      set(*frame, b, frame->checks.data() + static_cast<size_t>(buffer.at));
    if (buffer.kind == Buffer::Kind::Constant)  // kernels only read it
      set(*frame, b, const_cast<char*>(plan_.constants.data()) + buffer.at);
  }
  return frame;
}

int64_t Executable::workspace_bytes() const {
  return plan_.workspace_bytes + plan_.slot_bytes * pool_->workers();
}

void Executable::set(Frame& frame, size_t buffer, void* address) const {
  frame.addresses[buffer] = address;
  for (size_t position : uses_[buffer]) frame.table[position] = address;
}

void Executable::run(const void* const* inputs, void* const* outputs, const CancelHook& hook) {
  std::unique_ptr<Frame> frame(spare_.exchange(nullptr, std::memory_order_acquire));
  if (!frame) frame = make_frame();
  run_in(*frame, inputs, outputs, hook);
  Frame* mine = frame.release();
  Frame* nobody = nullptr;
  if (!spare_.compare_exchange_strong(nobody, mine, std::memory_order_release)) delete mine;
}

std::vector<Executable::KernelTime> Executable::profile(const void* const* inputs,
                                                        void* const* outputs, int repeats,
                                                        const CancelHook& hook) {
  const std::unique_ptr<Frame> frame = make_frame();
  std::vector<KernelTime> best(kernels_.size()), times;
  for (int n = 0; n < repeats; ++n) {
    times.assign(kernels_.size(), {});
    frame->times = &times;
    run_in(*frame, inputs, outputs, hook);
    for (size_t k = 0; k < best.size(); ++k)
      if (n == 0 || times[k].seconds < best[k].seconds) best[k] = times[k];
  }
  return best;
}

void Executable::run_in(Frame& frame, const void* const* inputs, void* const* outputs,
                        const CancelHook& hook) const {
  struct Call {
    const Executable* executable;
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
        if (!c.hook->cancelled || c.executable->short_)
          return c.executable->run_here(*c.frame, c.inputs, c.outputs);
        Cancellable cancellable(*c.hook);
        c.frame->call = &cancellable;
        c.executable->run_here(*c.frame, c.inputs, c.outputs);
        c.frame->call = nullptr;
      },
      &call);
}

void Executable::run_here(Frame& frame, const void* const* inputs, void* const* outputs) const {
  const FloatModeScope mode(mode_);
  for (size_t b : arguments_) {
    const Buffer& buffer = plan_.buffers[b];
    const auto at = static_cast<size_t>(buffer.at);
    set(frame, b,
        buffer.kind == Buffer::Kind::Output ? outputs[at] : const_cast<void*>(inputs[at]));
  }
  run_steps(frame, plan_.steps, sections_);
  raise_failed_checks(plan_.checks, frame.checks);
}

// Recursive over scans within scans.
void Executable::run_steps(Frame& frame, const std::vector<StepPlan>& steps,
                           const Sections& sections) const {
  for (const Section& section : sections) {
    if (steps[section.begin].scan) {
      run_scan(frame, steps[section.begin].number);
      continue;
    }
    if (section.graph != SIZE_MAX && !frame.times) {
      run_graph(frame, steps, section);
      continue;
    }
    for (size_t s = section.begin; s < section.end;) {
      const std::span<const StepPlan> chain = chain_at(steps, s, section.end);
      run_chain(frame, chain, nullptr);
      s += chain.size();
    }
  }
}

// The kernel that a step runs, and those behind it, before `end`, that continue its chain.
std::span<const StepPlan> Executable::chain_at(std::span<const StepPlan> steps, size_t step,
                                               size_t end) const {
  size_t behind = step + 1;
  while (behind < end && kernels_[steps[behind].number].chained) ++behind;
  return steps.subspan(step, behind - step);
}

// How many tasks of a chain one thread runs one after the other: those of any of its kernels.
int64_t Executable::tasks_in_turn(std::span<const StepPlan> kernels) const {
  int64_t tasks = 1;
  for (const StepPlan& step : kernels) tasks = std::max(tasks, kernels_[step.number].in_turn);
  return tasks;
}

// Kernels that run together, the scan whose steps they are if every task goes through all of these,
// and where the seconds go that each takes in each worker (null: they are not asked for).
struct Executable::Chain {
  const Executable* executable;
  const Frame* frame;
  std::span<const StepPlan> kernels;
  const ScanPlan* scan;
  std::vector<double>* seconds;
};

void Executable::run_graph(Frame& frame, const std::vector<StepPlan>& steps,
                           const Section& section) const {
  struct Call {
    const Executable* executable;
    const Frame* frame;
    std::span<const StepPlan> steps;
    const Section* section;
  } call{this, &frame, steps, &section};
  graphs_[section.graph].run(
      *frame.runs[section.graph], *pool_,
      [](void* context, size_t group, int64_t begin, int64_t end) {
        const Call& c = *static_cast<const Call*>(context);
        const auto [first, last] = c.section->chains[group];
        const Chain chain{c.executable, c.frame, c.steps.subspan(first, last - first), nullptr,
                          nullptr};
        // An empty kernel has no task, the group one.
        const LoadedKernel& kernel = c.executable->kernels_[chain.kernels.front().number];
        const int64_t in_turn = c.executable->tasks_in_turn(chain.kernels);
        c.executable->run_tasks(chain, begin * in_turn, std::min(end * in_turn, kernel.tasks));
      },
      &call);
}

// A kernel, or a chain of them: each task runs through all.
void Executable::run_chain(Frame& frame, std::span<const StepPlan> kernels,
                           const ScanPlan* scan) const {
  const LoadedKernel& kernel = kernels_[kernels.front().number];
  std::vector<double> seconds;
  if (frame.times) seconds.resize(kernels.size() * static_cast<size_t>(pool_->workers()));
  const Chain chain{this, &frame, kernels, scan, frame.times ? &seconds : nullptr};
  const auto began = std::chrono::steady_clock::now();
  if (kernel.parallel) {
    pool_->run(
        kernel.tasks / tasks_in_turn(kernels),
        [](void* context, int64_t begin, int64_t end) {
          const Chain& c = *static_cast<const Chain*>(context);
          const int64_t in_turn = c.executable->tasks_in_turn(c.kernels);
          c.executable->run_tasks(c, begin * in_turn, end * in_turn);
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

// Tasks of a kernel, in pieces between which a call may be cancelled. A piece is one task where
// that takes long; else it gets longer until it takes a few hundred microseconds.
void Executable::run_range(const LoadedKernel& kernel, const Frame& frame, int64_t begin,
                           int64_t end) const {
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

// The kernels' tables are copied, since tensors in the slot move from task to task, and those of a
// scan's steps from step to step.
void Executable::run_tasks(const Chain& chain, int64_t begin, int64_t end) const {
  void* const* table = chain.frame->table.data();
  const LoadedKernel& head = kernels_[chain.kernels.front().number];
  if (chain.kernels.size() == 1 && head.slots.empty() && !chain.scan)
    return run_range(head, *chain.frame, begin, end);
  size_t offset = SIZE_MAX, behind = 0;
  for (const StepPlan& step : chain.kernels) {
    const LoadedKernel& kernel = kernels_[step.number];
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
                    worker * static_cast<uintptr_t>(plan_.slot_bytes);
  const auto set = [&](size_t buffer, void* address) {
    for (size_t position : uses_[buffer]) own[position - offset] = address;
  };
  const int64_t steps = chain.scan ? chain.scan->trips : 1;
  for (int64_t task = begin; task < end; ++task) {
    for (const StepPlan& step : chain.kernels) {
      const LoadedKernel& kernel = kernels_[step.number];
      for (const auto& [position, buffer] : kernel.slots)
        // NOLINTBEGIN(performance-no-int-to-ptr): element 0 may lie before the block, where no
        // pointer arithmetic leads.
        own[kernel.table - offset + position] =
            reinterpret_cast<void*>(slot + static_cast<uintptr_t>(buffer.at - task * buffer.slice));
      // NOLINTEND(performance-no-int-to-ptr)
    }
    for (int64_t n = 0; n < steps; ++n) {
      if (chain.frame->call) chain.frame->call->check();
      if (chain.scan) place_step(*chain.frame, *chain.scan, n, set);
      for (size_t k = 0; k < chain.kernels.size(); ++k) {
        const LoadedKernel& kernel = kernels_[chain.kernels[k].number];
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

// The carries end where a step would have read them.
void Executable::run_conditional(Frame& frame, size_t number) const {
  const ScanPlan& scan = plan_.scans[number];
  std::byte* workspace = frame.workspace.get();
  for (int64_t n = 0;; ++n) {
    for (const ScanPlan::Carry& c : scan.carries)
      set(frame, c.in, n == 0 ? frame.addresses[c.start] : workspace + c.spares[(n - 1) % 2]);
    if (!*static_cast<const bool*>(frame.addresses[scan.carries.back().in])) break;
    for (const ScanPlan::Carry& c : scan.carries) set(frame, c.out, workspace + c.spares[n % 2]);
    run_steps(frame, scan.steps, scan_sections_[number].steps);
    if (frame.call) frame.call->check();
  }
  for (const ScanPlan::Carry& c : scan.carries)
    std::copy_n(static_cast<const std::byte*>(frame.addresses[c.in]), c.bytes,
                static_cast<std::byte*>(frame.addresses[c.final]));
}

// Where step number n of a scan finds its slices and carries, by set(buffer, address).
template <typename Set>
void Executable::place_step(const Frame& frame, const ScanPlan& scan, int64_t n, Set&& set) const {
  const int64_t t = scan.reverse ? scan.trips - 1 - n : n;
  for (const ScanPlan::Slice& s : scan.slices)
    set(s.buffer, static_cast<std::byte*>(frame.addresses[s.of]) + t * s.bytes);
  std::byte* workspace = frame.workspace.get();
  for (const ScanPlan::Carry& c : scan.carries) {
    set(c.in, n == 0 ? frame.addresses[c.start] : workspace + c.spares[(n - 1) % 2]);
    set(c.out, n + 1 == scan.trips ? frame.addresses[c.final] : workspace + c.spares[n % 2]);
  }
}

void Executable::run_scan(Frame& frame, size_t number) const {
  const ScanPlan& scan = plan_.scans[number];
  const ScanSections& sections = scan_sections_[number];
  run_steps(frame, scan.before, sections.before);
  if (scan.conditional) return run_conditional(frame, number);
  if (scan.tasks > 0) return run_chain(frame, scan.steps, &scan);
  for (int64_t n = 0; n < scan.trips; ++n) {
    place_step(frame, scan, n, [&](size_t buffer, void* address) { set(frame, buffer, address); });
    run_steps(frame, scan.steps, sections.steps);
    if (frame.call) frame.call->check();
  }
}

}  // namespace adjit::engine
