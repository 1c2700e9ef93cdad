// autosched/gpu/columns/column_kernel.cpp -- a kernel that adds up columns and computes rows.
#include "autosched/gpu/columns/column_kernel.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "autosched/analysis/footprint.hpp"
#include "autosched/gpu/columns/column_loops.hpp"
#include "autosched/gpu/columns/column_results.hpp"
#include "autosched/gpu/columns/companions.hpp"
#include "autosched/gpu/cost/requests.hpp"
#include "autosched/gpu/loops/block_loops.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/coverage.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/shared_memory.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

class ColumnKernel {
 public:
  ColumnKernel(Program program, const ColumnStages& stages, const ColumnPlan& plan,
               const GpuMachine& machine)
      : program_(std::move(program)), stages_(stages), plan_(plan), machine_(machine) {}

  std::optional<Program> operator()() {
    make_loops();
    for (size_t k = stages_.companions.size(); k-- > 0;) attach_companion(stages_.companions[k]);
    if (attached_.empty()) return std::nullopt;
    attach_producers_of_all();
    if (plan_.group.tile > 0 && left_a_row_sum_) return std::nullopt;
    program_ = attached_loops(std::move(program_), host_);
    if (!fits()) return std::nullopt;
    if (plan_.parts == 1) return std::move(program_);
    const size_t parts = stage_of(stages_.sum);
    program_ = attach_to_reader(std::move(program_), parts);
    const size_t sum = stage_of(stages_.sum);
    if (plan_.at_once && is_alone(program_, sum) &&
        block_share(graph(), graph().stages[sum], machine_).kind != BlockShare::Kind::None)
      program_ = block_loops(std::move(program_), sum, machine_);
    return std::move(program_);
  }

 private:
  const LoweredGraph& graph() const { return program_.graph; }
  size_t stage_of(TensorId id) const { return defining_stages(program_.graph)[id.value]; }

  // Behind its companions, in parts, with all its loops.
  void make_loops() {
    const size_t last = stage_of(stages_.companions.back());
    const size_t sum = stage_of(stages_.sum);
    if (sum < last) program_ = postpone(std::move(program_), sum, last);
    host_ = stage_of(stages_.sum);
    ColumnGroup group = plan_.group;
    if (plan_.parts > 1) {
      program_ = rfactor(std::move(program_), host_, group.along, plan_.parts);
      ++group.along;  // behind the axis of parts; their stage stands where the whole one did
    }
    program_ = column_loops(std::move(program_), host_, group);
    depth_ = first_thread_loop(host_nest());
  }

  const Nest& host_nest() const { return nest_of(program_, host_); }

  void attach_companion(TensorId id) {
    const size_t stage = stage_of(id);
    if (Attachment where = attachment(program_, stage, host_, depth_); !where.refusal) {
      if (attach_read(stage, where)) attached_.push_back(stage);
      return;
    }
    const Stage& sum = graph().stages[host_];
    const auto indices =
        indices_like(graph(), graph().stages[stage], sum, box_points(graph().stages[stage].domain));
    if (!indices) return;
    if (attachment_with(program_, stage, host_, depth_, *indices).refusal) return;
    program_ = compute_with(std::move(program_), stage, host_, depth_, *indices);
    attached_.push_back(stage);
  }

  // What the host or something attached reads.
  bool attach_read(size_t stage, const Attachment& where) {
    if (!covers_exactly_once(program_, host_nest(), depth_, stage, where.region)) return false;
    const int64_t bytes = where.whole ? 0 : bytes_of(stage, where.region.spans);
    if (bytes > local_room() - local_bytes_) return false;
    local_bytes_ += bytes;
    program_ = compute_at(std::move(program_), stage, host_, depth_);
    return true;
  }

  // Nearest first, as attach_producers(); companions are readers, too.
  void attach_producers_of_all() {
    const std::vector<size_t> producers = defining_stages(program_.graph);
    std::set<size_t> open;
    const auto add = [&](size_t reader) {
      for (TensorId id : tensors_read(program_.graph, graph().stages[reader]))
        if (const size_t p = producers[id.value]; p != SIZE_MAX) open.insert(p);
    };
    add(host_);
    for (const size_t stage : attached_) add(stage);
    while (!open.empty()) {
      const size_t stage = *open.rbegin();
      open.erase(stage);
      if (!may_attach(stage)) continue;
      const bool reduces = graph().stages[stage].domain.reduction_rank() > 0;
      const Attachment where = attachment(program_, stage, host_, depth_);
      if (where.refusal || !attach_read(stage, where)) {
        left_a_row_sum_ |= reduces && contiguous_axis(graph(), graph().stages[stage]) >=
                                          graph().stages[stage].domain.output_rank;
        continue;
      }
      add(stage);
    }
  }

  bool may_attach(size_t stage) const {
    const TensorId id = graph().stages[stage].results.front();
    return id.value < stages_.may_attach.size() && stages_.may_attach[id.value];
  }

  int64_t bytes_of(size_t stage, std::span<const int64_t> spans) const {
    double bytes = 0;
    for (TensorId id : graph().stages[stage].results)
      bytes += static_cast<double>(size_of(graph().info(id).dtype));
    for (int64_t span : spans) bytes *= static_cast<double>(std::max<int64_t>(span, 1));
    return static_cast<int64_t>(std::min(bytes, 1e15));
  }

  int64_t local_room() const {
    return std::min(machine_.shared_bytes / plan_.strips, machine_.block_shared_bytes);
  }

  bool fits() const {
    const size_t kernel = find_nest(program_, host_)->kernel;
    if (shared_bytes(program_, program_.kernels[kernel]) > local_room()) return false;
    const int64_t threads = block_threads(program_.kernels[kernel]);
    return registers(kernel) <= registers_for(machine_, plan_.strips, threads);
  }

  // Of a thread. Its sums, and what it has loaded for them (the back end loads that ahead, since
  // nothing writes it), stay while it computes what is attached.
  double registers(size_t kernel) const {
    double most = 0, host = 0;
    for (const PlacedNest& nest : placed_nests(program_, program_.kernels[kernel])) {
      const double own = registers_of(program_, nest);
      if (nest.nest->stage == host_) host = own;
      most = std::max(most, own);
    }
    return most + host - kRestOfRegisters;
  }

  Program program_;
  const ColumnStages& stages_;
  const ColumnPlan& plan_;
  const GpuMachine& machine_;
  size_t host_ = 0;  // the reduction, or its parts
  size_t depth_ = 0;
  int64_t local_bytes_ = 0;
  bool left_a_row_sum_ = false;   // one that companions need is another kernel's
  std::vector<size_t> attached_;  // companions
};

}  // namespace

std::optional<Program> column_kernel(Program program, const ColumnStages& stages,
                                     const ColumnPlan& plan, const GpuMachine& machine) {
  try {
    return ColumnKernel(std::move(program), stages, plan, machine)();
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
    return std::nullopt;
  }
}

}  // namespace adjit::sched
