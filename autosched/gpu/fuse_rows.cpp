// autosched/gpu/fuse_rows.cpp -- which stages a block computes together, row by row.
#include "autosched/gpu/fuse_rows.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/reads/aligned_axes.hpp"
#include "autosched/analysis/reads/join_chain.hpp"
#include "autosched/analysis/reads/select_axis.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/loops/block_loops.hpp"
#include "autosched/gpu/loops/register_tile.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/part_cost.hpp"
#include "autosched/gpu/products/product_tile.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/attach_producers.hpp"
#include "autosched/program/coverage.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::sched {
namespace {

// A guess. Points that a block may have where there are fewer blocks than multiprocessors: of 4
// bytes each, a multiprocessor moves them in about the time of two launches.
constexpr double kPointsOfFewBlocks = 64 << 10;
constexpr int64_t kGroupsOfRows = 8;  // at least, where the last one has fewer rows: a guess, too
constexpr int64_t kCommonBytes = 4;   // of an element: sectors hold eight of them
// Stages that windows connect. Those of fewer results than an eighth of the last one's are left
// where they are: numbers of channels, say, which would leave no axis to be aligned. More stages
// than twelve are not tried, since an attempt prices all of them. One kernel must take this share
// of the time at most. All are guesses.
constexpr double kLeastShare = 1.0 / 8, kClearlyFaster = 0.95;
constexpr size_t kMostOfWindows = 12;

// Two blocks of a multiprocessor.
int64_t bytes_of_block(const GpuMachine& machine) {
  return std::min(machine.shared_bytes / 2, machine.block_shared_bytes);
}

double points_of(std::span<const int64_t> spans) {
  double points = 1;
  for (int64_t span : spans) points *= static_cast<double>(std::max<int64_t>(span, 1));
  return points;
}

bool is_reduction(const LoweredGraph& graph, size_t stage) {
  return graph.stages[stage].domain.reduction_rank() > 0;
}

// Whether a stage copies a tensor with its dimensions in another order.
bool only_permutes(const LoweredGraph& graph, const Stage& stage) {
  const ExprPool& pool = graph.pool;
  const ExprId body = stage.bodies.size() == 1 ? stage.bodies.front() : ExprId{};
  if (stage.combiner.kind != CombinerKind::None || !body.valid() || !pool.is(body, Op::Read) ||
      pool.read_predicate(body).valid())
    return false;
  const std::span<const ExprId> index = pool.read_index(body);
  return std::ranges::all_of(index, [&](ExprId at) { return pool.is(at, Op::Axis); }) &&
         !std::ranges::is_sorted(index, {}, [&](ExprId at) { return pool.axis_number(at); });
}

// Whether a reduction goes over windows of an operand: neighbours have terms in common, which a
// thread that computes several of them reads once.
bool sums_windows(const LoweredGraph& graph, const Stage& stage) {
  if (stage.domain.reduction_rank() == 0 || !has_few_terms(stage)) return false;
  const size_t outputs = stage.domain.output_rank;
  return std::ranges::any_of(reads_of(graph, stage), [&](ExprId read) {
    const IndexMap map = index_map(graph.pool, graph.pool.read_index(read), stage.domain);
    return std::ranges::any_of(map.forms, [&](const std::optional<Affine>& form) {
      bool of_results = false, of_terms = false;
      for (size_t a = 0; form && a < std::min(form->size(), stage.domain.rank()); ++a)
        (a < outputs ? of_results : of_terms) |= form->coefficient(a) != 0;
      return of_results && of_terms;
    });
  });
}

// Whether it reads a copy that lies as its threads, not its reader's, read it (pack_gathers.hpp).
// `producers`: of each tensor.
bool reads_packed_gathers(const LoweredGraph& graph, const std::vector<size_t>& producers,
                          const Stage& stage) {
  return reads_by_data(graph, stage) &&
         std::ranges::any_of(tensors_read(graph, stage), [&](TensorId id) {
           const size_t producer = producers[id.value];
           return producer != SIZE_MAX && only_permutes(graph, graph.stages[producer]);
         });
}

// Whether a nest, or one attached to it, reduces.
bool has_reduction(const LoweredGraph& graph, const Nest& host) {
  return is_reduction(graph, host.stage) ||
         std::ranges::any_of(host.attached, [&](const Nest::Attached& attached) {
           return is_reduction(graph, attached.nest.stage);
         });
}

int64_t bytes_of(const Program& program, size_t stage, std::span<const int64_t> spans) {
  const size_t rank = program.graph.stages[stage].domain.output_rank;
  const double points = points_of(spans.first(rank));
  double bytes = 0;
  for (TensorId id : program.graph.stages[stage].results)
    bytes += points * static_cast<double>(size_of(program.graph.info(id).dtype));
  return static_cast<int64_t>(std::min(bytes, 1e15));
}

// What goes through shared memory, at most, where threads reduce together: an element a thread,
// of each of the lanes of neighbouring results. Nests do so one after the other.
int64_t exchanged_bytes(const Program& program, size_t s) {
  const Stage& stage = program.graph.stages[s];
  if (!is_reduction(program.graph, s)) return 0;
  const std::optional<size_t> along = contiguous_axis(program.graph, stage);
  const bool lanes = along && *along < stage.domain.output_rank;
  int64_t bytes = 0;
  for (ExprId body : stage.bodies) {
    const DType dtype = program.graph.pool.dtype(body);
    const auto wide = static_cast<int64_t>(size_of(accumulator_of(dtype)));
    bytes += wide * (lanes ? kAccessBits / 8 / static_cast<int64_t>(size_of(dtype)) : 1);
  }
  return kMostThreads * bytes;
}
int64_t exchanged_bytes(const Program& program, const Nest& host) {
  int64_t bytes = exchanged_bytes(program, host.stage);
  for (const Nest::Attached& attached : host.attached)
    bytes = std::max(bytes, exchanged_bytes(program, attached.nest.stage));
  return bytes;
}

int64_t result_bytes(const Program& program, const Nest& host) {
  int64_t bytes = 0;
  for (const Nest::Attached& attached : host.attached) {
    const TensorId result = program.graph.stages[attached.nest.stage].results.front();
    if (program.scopes[result.value] == Scope::Local)
      bytes += bytes_of(program, attached.nest.stage, attached.nest.spans);
  }
  return bytes;
}

class RowFuser {
 public:
  RowFuser(Program program, const GpuMachine& machine, Choices& choices)
      : program_(std::move(program)),
        machine_(machine),
        choices_(choices),
        producers_(defining_stages(program_.graph)) {}

  Program operator()() {
    for (size_t s = program_.graph.stages.size(); s-- > 0;) {
      const std::optional<NestPath> path = find_nest(program_, s);
      if (!path || !path->steps.empty() || !may_take_part(s)) continue;
      if (!nest_at(program_, *path).attached.empty()) continue;  // it has its rows (fuse_columns)
      if (deciding_axis(program_.graph, program_.graph.stages[s])) continue;
      if (attach_aligned(s)) continue;
      const Program before = program_;
      // One producer decides about the order of loops for all: where that does not pay, without.
      for (const bool reorders : {true, false}) {
        reorders_ = reorders;
        attach_producers(program_, producers_, s, [&](size_t stage) { return attach(stage, s); });
        if (take_several_rows(s)) break;
        program_ = before;
      }
    }
    return std::move(program_);
  }

 private:
  bool may_take_part(size_t s) const {
    return may_be_computed_by_rows(program_, program_.graph.stages[s], machine_);
  }

  const Nest& nest_of_root(size_t host) const {
    return program_.kernels[find_nest(program_, host)->kernel].root;
  }

  // Where windows move along some axes, all stages that a host is made of are computed for each
  // point of the others at once, if that is predicted to be clearly faster.
  bool attach_aligned(size_t host) {
    if (!aligns_) return false;
    const LoweredGraph& graph = program_.graph;
    const auto results = [&](size_t s) {
      return static_cast<double>(graph.info(graph.stages[s].results.front()).element_count());
    };
    const AlignedAxes aligned = aligned_axes(graph, producers_, host, [&](size_t s) {
      return may_take_part(s) && results(s) >= kLeastShare * results(host);
    });
    const auto is_window = [&](size_t s) { return sums_windows(graph, graph.stages[s]); };
    const auto alone = [&](size_t s) { return is_alone(program_, s); };
    if (aligned.stages.size() < 2 || aligned.stages.size() > kMostOfWindows ||
        aligned.axes.empty() || aligned.axes.size() == graph.stages[host].domain.output_rank ||
        !std::ranges::any_of(aligned.stages, is_window) ||
        !std::ranges::all_of(aligned.stages, alone))
      return false;
    check_cancelled();
    const Program apart = part_of(program_, aligned.stages);
    const bool from_memory = leaves_l2(program_, machine_);
    Choices unasked;
    RowFuser usual(apart, machine_, unasked), by_rows(apart, machine_, unasked);
    usual.aligns_ = false;
    std::vector<size_t> all(aligned.stages.size());
    std::iota(all.begin(), all.end(), size_t{0});
    return by_rows.attach_all(all, aligned.axes) &&
           microseconds_of_kernels(by_rows.program_, machine_, from_memory) <
               kClearlyFaster * microseconds_of_part(usual(), machine_, from_memory) &&
           attach_all(aligned.stages, aligned.axes);
  }

  // Attaches all but the last one of these stages to that, whose loops over these axes come first;
  // false, and nothing is attached, where one cannot be.
  bool attach_all(const std::vector<size_t>& stages, const std::vector<size_t>& axes) {
    const size_t host = stages.back();
    const std::vector<Loop>& loops = nest_of_root(host).loops;
    std::vector<size_t> order(loops.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto inside = std::ranges::stable_partition(
        order, [&](size_t l) { return std::ranges::binary_search(axes, loops[l].axis); });
    const auto depth = static_cast<size_t>(inside.begin() - order.begin());
    if (depth == 0 || depth == loops.size()) return false;
    Program before = program_;
    if (!std::ranges::is_sorted(order)) program_ = reorder(std::move(program_), host, order);
    size_t attached = 0;
    attach_producers(program_, producers_, host, [&](size_t stage) {
      const bool taken = std::ranges::binary_search(stages, stage) && attach_at(stage, host, depth);
      attached += taken ? 1 : 0;
      return taken;
    });
    if (attached + 1 == stages.size() && take_several_rows(host)) return true;
    program_ = std::move(before);
    return false;
  }

  // Whether a kernel of its own is predicted to be faster; false where the host has others already.
  bool is_faster_alone(size_t stage, size_t host) const {
    const Stage& s = program_.graph.stages[stage];
    if ((!sums_windows(program_.graph, s) &&
         !reads_packed_gathers(program_.graph, producers_, s)) ||
        !is_alone(program_, stage) || !is_alone(program_, host))
      return false;
    const Program apart = part_of(program_, std::array{stage, host});
    Choices unasked;
    RowFuser fuser(apart, machine_, unasked);
    fuser.asks_cost_ = false;
    fuser.aligns_ = false;
    const bool from_memory = leaves_l2(program_, machine_);
    return microseconds_of_part(fuser(), machine_, from_memory) >
           microseconds_of_part(apart, machine_, from_memory);
  }

  bool attach(size_t stage, size_t host) {
    if (!may_take_part(stage) || (asks_cost_ && is_faster_alone(stage, host))) return false;
    const Nest& nest = nest_of_root(host);
    if (!nest.attached.empty()) return attach_at(stage, host, nest.attached.front().depth);
    const Domain& domain = program_.graph.stages[host].domain;
    size_t depth = 0;
    while (depth < nest.loops.size() && nest.loops[depth].axis < domain.output_rank) ++depth;
    // Threads need a loop of their own.
    if (depth == nest.loops.size() && depth > 0) --depth;
    for (size_t d = depth; d >= 1; --d)
      if (attach_at(stage, host, d)) return true;
    return reorders_ && attach_in_another_order(stage, host, nest.loops.size());
  }

  // The loops that what is read of the stage moves with come first.
  bool attach_in_another_order(size_t stage, size_t host, size_t loops) {
    const NestPath path = *find_nest(program_, host);
    const Nest& nest = nest_at(program_, path);
    if (loops < 2 || attachment(program_, stage, host, loops).refusal) return false;
    const Region region = read_region(program_, path, loops, stage);
    const auto moves = [&](size_t l) {
      return std::ranges::any_of(region.base, [&](const Affine& base) {
        return base.coefficient(nest.loops[l].variable) != 0;
      });
    };
    std::vector<size_t> order(loops);
    std::iota(order.begin(), order.end(), size_t{0});
    const auto inside = std::ranges::stable_partition(order, moves).begin();
    const auto depth = static_cast<size_t>(inside - order.begin());
    if (std::ranges::is_sorted(order) || depth == 0 || depth == loops) return false;
    for (size_t l = 0; l < depth; ++l)
      if (nest.loops[order[l]].axis >= program_.graph.stages[host].domain.output_rank) return false;
    Program before = program_;
    program_ = reorder(std::move(program_), host, order);
    if (attach_at(stage, host, depth)) return true;
    program_ = std::move(before);
    return false;
  }

  bool attach_at(size_t stage, size_t host, size_t depth) {
    const Nest& nest = nest_of_root(host);
    const Attachment where = attachment(program_, stage, host, depth);
    if (where.refusal || !covers_exactly_once(program_, nest, depth, stage, where.region))
      return false;
    if (!may_reduce(stage, nest) || !pays(stage, nest, depth)) return false;
    const int64_t bytes =
        result_bytes(program_, nest) +
        (where.whole ? 0 : bytes_of(program_, stage, where.region.spans)) +
        std::max(exchanged_bytes(program_, nest), exchanged_bytes(program_, stage));
    if (bytes > bytes_of_block(machine_)) return false;
    if (!choices_.keeps(Decision::ComputeAt, program_.graph, program_.graph.stages[stage]))
      return false;
    program_ = compute_at(std::move(program_), stage, host, depth);
    return true;
  }

  // Whether a reduction is among them, whose results the block's threads all wait for, or may be
  // behind it: a number for each row is made of one. What goes from point to point is another
  // pass's.
  bool may_reduce(size_t stage, const Nest& host) const {
    const auto points = [&](size_t s) { return box_points(program_.graph.stages[s].domain); };
    return is_reduction(program_.graph, stage) || has_reduction(program_.graph, host) ||
           points(stage) * kWarpThreads <= points(host.stage);
  }

  // There are blocks enough, or a block is done soon.
  bool pays(size_t stage, const Nest& host, size_t depth) const {
    double blocks = 1;
    for (size_t l = 0; l < depth; ++l) blocks *= static_cast<double>(host.loops[l].trips);
    if (blocks >= machine_.multiprocessors) return true;
    const auto points = [&](size_t s) { return box_points(program_.graph.stages[s].domain); };
    return (points(stage) + points(host.stage)) / blocks <= kPointsOfFewBlocks;
  }

  // Short rows leave threads idle: a block takes several, if all multiprocessors have some. Where
  // memory is contiguous across rows, it takes as many as threads read at once; false where it
  // cannot.
  bool take_several_rows(size_t host) {
    const Nest& nest = nest_of_root(host);
    if (nest.attached.empty()) return true;
    // Numbers of rows that no reduction has made save a launch, and cost the flat mapping.
    if (!has_reduction(program_.graph, nest)) return false;
    const size_t depth = nest.attached.front().depth;
    double row = 1, blocks = 1;
    for (size_t l = 0; l < depth; ++l) blocks *= static_cast<double>(nest.loops[l].trips);
    for (size_t l = depth; l < nest.loops.size(); ++l)
      row *= static_cast<double>(nest.loops[l].trips);
    for (const Nest::Attached& a : nest.attached) row = std::max(row, points_of(a.nest.spans));
    const auto fits =
        static_cast<double>(bytes_of_block(machine_) - exchanged_bytes(program_, nest)) /
        static_cast<double>(std::max<int64_t>(result_bytes(program_, nest), 1));
    double most = std::min(static_cast<double>(kBlockPoints) / row,
                           blocks / static_cast<double>(machine_.multiprocessors));
    const std::optional<size_t> along =
        contiguous_axis(program_.graph, program_.graph.stages[host]);
    const auto outside =
        std::find_if(nest.loops.begin(), nest.loops.begin() + static_cast<long>(depth),
                     [&](const Loop& loop) { return loop.axis == along; });
    const bool across = outside != nest.loops.begin() + static_cast<long>(depth);
    if (across) most = kWarpThreads;
    const int64_t trips = nest.loops[depth - 1].trips;
    int64_t rows = power_below(std::min(most, fits));
    while (rows > 1 && trips % rows != 0 && trips < kGroupsOfRows * rows) rows /= 2;
    while (rows > 1 && !interleaves_once(program_, host, depth, rows)) rows /= 2;
    const double points = row * static_cast<double>(rows);
    blocks /= static_cast<double>(rows);
    if (blocks < machine_.multiprocessors && points > kPointsOfFewBlocks) return false;
    if (leaves_threads_idle(points, blocks, machine_)) return false;
    if (across && (nest.loops[depth - 1].axis != along || rows < kSectorBytes / kCommonBytes))
      return false;
    if (rows > 1) program_ = interleave(std::move(program_), host, depth, rows);
    return true;
  }

  Program program_;
  const GpuMachine& machine_;
  Choices& choices_;
  std::vector<size_t> producers_;  // per tensor
  bool reorders_ = true;           // whether a host's loops may get another order
  bool asks_cost_ = true;          // of what may be faster alone
  bool aligns_ = true;             // whether it tries aligned axes
};

}  // namespace

bool may_be_computed_by_rows(const Program& program, const Stage& stage,
                             const GpuMachine& machine) {
  const LoweredGraph& graph = program.graph;
  if (stage.kind != StageKind::Compute || running_of(graph, stage)) return false;
  if (!joined_tensors(graph, stage).empty()) return false;
  // A reduction that threads cannot share is one thread's, while the others wait.
  return stage.domain.reduction_rank() == 0 ||
         (may_cooperate(graph, stage) && !is_contraction(graph, stage) &&
          !product_tile(program, stage, machine));
}

Program fuse_rows(Program program, const GpuMachine& machine, Choices& choices) {
  return RowFuser(std::move(program), machine, choices)();
}

}  // namespace adjit::sched
