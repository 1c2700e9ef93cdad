// autosched/cpu/passes/fuse_producers.cpp -- producers computed row by row where their readers run.
#include "autosched/cpu/passes/fuse_producers.hpp"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/reads/join_chain.hpp"
#include "autosched/analysis/reads/select_axis.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/passes/attach_producers.hpp"
#include "autosched/program/coverage.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {
namespace {

bool is_row(const Region& region) {
  return std::ranges::count_if(region.spans, [](int64_t span) { return span > 1; }) <= 1;
}

int64_t points(const std::vector<int64_t>& spans) {
  int64_t count = 1;
  for (int64_t span : spans) count *= std::max<int64_t>(span, 1);
  return count;
}

int64_t local_bytes(const Program& program, size_t stage, const Region& region) {
  const int64_t count = points(region.spans);
  int64_t bytes = 0;
  for (TensorId id : program.graph.stages[stage].results)
    bytes += count * static_cast<int64_t>(size_of(program.graph.info(id).dtype));
  return bytes;
}

int64_t local_bytes(const Program& program, const Nest& host) {
  int64_t bytes = 0;
  for (const Nest::Attached& attached : host.attached)
    if (program.scopes[program.graph.stages[attached.nest.stage].results.front().value] ==
        Scope::Local)
      bytes += local_bytes(program, attached.nest.stage, placed_region(program, attached.nest));
  return bytes;
}

// Whether an axis of the results does not move the access.
bool is_shared(const Stage& stage, const MemoryAccess& access) {
  for (size_t a = 0; a < stage.domain.output_rank; ++a)
    if (stage.domain.extents[a] > 1 && !access.depends_on(a)) return true;
  return false;
}

class RowGrouper {
 public:
  RowGrouper(Program program, const ReductionPlans& plans, const TaskLoops& tasks,
             bool side_by_side, Choices& choices)
      : program_(std::move(program)),
        plans_(plans),
        tasks_(tasks),
        side_by_side_(side_by_side),
        choices_(choices),
        producers_(defining_stages(program_.graph)) {}

  Program operator()() {
    for (size_t s = program_.graph.stages.size(); s-- > 0;) {
      const std::optional<NestPath> path = find_nest(program_, s);
      if (path && path->steps.empty() && !apart(program_.graph.stages[s])) {
        gather(s);
        if (side_by_side_) put_side_by_side(s);
      }
    }
    return std::move(program_);
  }

 private:
  void gather(size_t host) {
    // What an axis decides has no rows along it: the lanes are along another.
    if (deciding_axis(program_.graph, program_.graph.stages[host])) return;
    joined_.clear();
    join(host);
    attach_producers(program_, producers_, host, [&](size_t stage) {
      if (!attach(stage, host)) return false;
      join(stage);
      return true;
    });
  }

  void join(size_t stage) {
    for (TensorId id : joined_tensors(program_.graph, program_.graph.stages[stage]))
      joined_.insert(id.value);
  }

  bool attach(size_t stage, size_t host) {
    const Stage& producer = program_.graph.stages[stage];
    if (apart(producer)) return false;
    if (std::ranges::any_of(producer.results,
                            [&](TensorId id) { return joined_.contains(id.value); }))
      return false;
    // What shares the tasks of a chain leaves its operands there.
    if (tasks_of(stage) != tasks_.end() && tasks_of(host) == tasks_.end()) return false;
    const Nest& nest = nest_at(program_, *find_nest(program_, host));
    const size_t output_rank = program_.graph.stages[host].domain.output_rank;
    size_t depth = 0;
    while (depth < nest.loops.size() && nest.loops[depth].axis < output_rank) ++depth;
    // The last output loop stays free for the lanes, unless rows are what the host reduces.
    if (depth == nest.loops.size() && depth > 0) --depth;
    // Inside the tasks, where these are settled.
    const auto settled = tasks_of(host);
    const size_t least = settled == tasks_.end() ? 1 : std::max<size_t>(1, settled->second);
    for (size_t d = depth; d >= least; --d) {
      const std::optional<bool> done = attach_at(stage, host, d);
      if (done && *done) return true;
      if (done) break;
    }
    if (settled != tasks_.end()) return false;
    const auto [order, followed] = followed_first(stage, host, depth);
    if (followed == 0) return false;
    Program before = program_;
    program_ = reorder(std::move(program_), host, order);
    if (attach_at(stage, host, followed).value_or(false)) return true;
    program_ = std::move(before);
    return false;
  }

  TaskLoops::const_iterator tasks_of(size_t stage) const {
    return tasks_.find(stage_key(program_.graph.stages[stage]));
  }

  // Whether that was done; nullopt when a smaller depth may do.
  std::optional<bool> attach_at(size_t stage, size_t host, size_t depth) {
    const Nest& nest = nest_at(program_, *find_nest(program_, host));
    const Attachment where = attachment(program_, stage, host, depth);
    if (where.refusal) return std::nullopt;
    if (!covers_exactly_once(program_, nest, depth, stage, where.region) ||
        !follows_axes(nest, depth, where.region, program_.graph.stages[stage].domain))
      return std::nullopt;
    const int64_t bytes = local_bytes(program_, stage, where.region) + local_bytes(program_, nest);
    if (!where.whole && bytes > ((is_row(where.region) ? 2 : 1) * thresholds().local_bytes))
      return false;
    if (!enough_rows(nest, depth, program_.graph.stages[stage])) return false;
    const bool wanted = fills_lanes(stage, nest, depth, where.region);
    const size_t answer =
        choices_.pick(Decision::ComputeAt, program_.graph, program_.graph.stages[stage], [&] {
          return wanted ? std::vector<std::string>{"yes", "no"}
                        : std::vector<std::string>{"no", "yes"};
        });
    if ((answer == 0) != wanted) return false;
    program_ = compute_at(std::move(program_), stage, host, depth);
    return true;
  }

  // Whether each dimension is whole, or one axis of the host from end to end. Where several axes
  // count a dimension, deeper loops would do, which no threshold was set for.
  static bool follows_axes(const Nest& host, size_t depth, const Region& region,
                           const Domain& stage) {
    for (size_t d = 0; d < region.base.size(); ++d) {
      const int64_t extent = stage.extents[d];
      bool found = region.base[d] == Affine() && region.spans[d] == extent;
      for (size_t axis = 0; axis < host.axis_base.size() && !found; ++axis)
        found = host.spans[axis] == extent && region.spans[d] == width_below(host, axis, depth) &&
                region.base[d] == origin_above(host, axis, depth);
      if (!found) return false;
    }
    return true;
  }

  // Whether one row is enough for the lanes. Short rows leave most of them empty, and rows across
  // memory (the columns of a matrix) gather them: whole stages, one after the other, take a third
  // of the time, though they store and load everything between them.
  bool fills_lanes(size_t stage, const Nest& host, size_t depth, const Region& region) const {
    const Stage& producer = program_.graph.stages[stage];
    std::vector<int64_t> row(producer.domain.extents);
    std::copy(region.spans.begin(), region.spans.end(), row.begin());
    int64_t longest = 1, inside = 1;
    for (size_t a = 0; a < row.size(); ++a)
      longest = a < region.spans.size() ? longest * std::max<int64_t>(row[a], 1)
                                        : std::max(longest, row[a]);
    for (size_t l = depth; l < host.loops.size(); ++l)
      inside = std::max(inside, host.spans[host.loops[l].axis]);
    if (std::max(longest, inside) < thresholds().filled_row) return false;
    return !across_memory(producer, row) && !cuts_lines(producer, region);
  }

  // Whether a row has one point of the axis along which the stage's results are contiguous, and
  // many along another: it would write one element of each line.
  bool cuts_lines(const Stage& stage, const Region& region) const {
    const Accesses accesses = accesses_of(program_.graph, stage);
    for (size_t a = 0; a < region.spans.size(); ++a)
      if (accesses.result.contiguous(a) && region.spans[a] <= 1 && stage.domain.extents[a] > 1)
        return points(region.spans) >= thresholds().filled_row;
    return false;
  }

  // Whether what is contiguous in a stage is so along axes of which a row has one point or few.
  bool across_memory(const Stage& stage, const std::vector<int64_t>& row) const {
    const Accesses accesses = accesses_of(program_.graph, stage);
    int64_t in_row = 1, in_all = 1;
    const auto look = [&](const MemoryAccess& access) {
      for (size_t a = 0; a < row.size(); ++a) {
        if (!access.contiguous(a)) continue;
        in_row = std::max(in_row, row[a]);
        in_all = std::max(in_all, stage.domain.extents[a]);
      }
    };
    for (const MemoryAccess& access : accesses.reads) look(access);
    look(accesses.result);
    return in_row < thresholds().filled_row && in_all >= thresholds().long_axis &&
           points(row) >= thresholds().filled_row;
  }

  // Reductions of short rows wait for each other: several rows at once do not.
  void put_side_by_side(size_t host) {
    const Nest& nest = nest_at(program_, *find_nest(program_, host));
    if (nest.attached.empty()) return;
    const size_t depth = nest.attached.front().depth;
    int64_t row = 1;  // the most points of a nest in an iteration
    for (size_t l = depth; l < nest.loops.size(); ++l) row *= nest.loops[l].trips;
    bool reduces = false;
    for (const Nest::Attached& attached : nest.attached) {
      if (attached.depth != depth || !attached.nest.attached.empty()) return;
      reduces |= program_.graph.stages[attached.nest.stage].domain.reduction_rank() > 0;
      row = std::max(row, points(attached.nest.spans));
    }
    const int64_t trips = nest.loops[depth - 1].trips;
    int64_t rows = std::min({thresholds().instances_at_once, thresholds().points_side_by_side / row,
                             trips / thresholds().work_parts});
    while (rows > 1 && trips % rows != 0) --rows;
    if (!reduces || rows < thresholds().chains || !interleaves_once(program_, host, depth, rows))
      return;
    if (choices_.pick(Decision::Interleave, program_.graph, program_.graph.stages[host],
                      [&] { return std::vector<std::string>{std::to_string(rows), "1"}; }) == 0)
      program_ = interleave(std::move(program_), host, depth, rows);
  }

  // The order of the host's loops in which those of [0, depth) that the stage's region follows are
  // outermost, and how many these are; nothing when that is the order already.
  std::pair<std::vector<size_t>, size_t> followed_first(size_t stage, size_t host,
                                                        size_t depth) const {
    const NestPath path = *find_nest(program_, host);
    const Nest& nest = nest_at(program_, path);
    if (depth < 2 || attachment(program_, stage, host, depth).refusal) return {};
    if (std::ranges::any_of(nest.attached, [&](const auto& a) { return a.depth < depth; }))
      return {};
    const Region region = read_region(program_, path, depth, stage);
    // Windows of neighbouring iterations overlap: no loop to compute a region in.
    const auto follows = [&](size_t l) {
      for (size_t d = 0; d < region.base.size(); ++d) {
        const int64_t moves = region.base[d].coefficient(nest.loops[l].variable);
        if (moves != 0) return std::abs(moves) * nest.loops[l].step >= region.spans[d];
      }
      return false;
    };
    std::vector<size_t> order(nest.loops.size());
    std::iota(order.begin(), order.end(), size_t{0});
    const auto inside = std::stable_partition(
        order.begin(), order.begin() + static_cast<std::ptrdiff_t>(depth), follows);
    if (std::ranges::is_sorted(order)) return {};
    const auto followed = static_cast<size_t>(inside - order.begin());
    return {std::move(order), followed};
  }

  // Contractions want tiles of several rows: they stay kernels of their own.
  bool apart(const Stage& stage) const {
    if (stage.domain.reduction_rank() == 0) return false;
    if (plans_.contains(stage_key(stage))) return true;
    if (!is_product_sum(program_.graph, stage)) return false;
    // Every operand is read many times: what limits it is arithmetic, not memory. That takes fewer
    // times where rows share operands, and a tile of several rows loads them once.
    const Accesses accesses = accesses_of(program_.graph, stage);
    return !accesses.reads.empty() &&
           std::ranges::all_of(accesses.reads, [&](const MemoryAccess& access) {
             const double reuse = box_points(stage.domain) / elements_touched(access, stage.domain);
             return reuse >= thresholds().contraction_reuse ||
                    (reuse >= thresholds().shared_contraction_reuse && is_shared(stage, access));
           });
  }

  // A row must not take so long that the cores wait for the last one.
  bool enough_rows(const Nest& host, size_t depth, const Stage& producer) const {
    double rows = 1;
    for (size_t l = 0; l < depth; ++l) rows *= static_cast<double>(host.loops[l].trips);
    return rows >= static_cast<double>(thresholds().work_parts) ||
           box_points(producer.domain) < thresholds().large_loop;
  }

  Program program_;
  const ReductionPlans& plans_;
  const TaskLoops& tasks_;
  bool side_by_side_;
  Choices& choices_;
  std::vector<size_t> producers_;        // per tensor
  std::unordered_set<uint32_t> joined_;  // by what is gathered: these tensors stay in memory
};

}  // namespace

Program attach_rows(Program program, const ReductionPlans& plans, const TaskLoops& tasks,
                    bool side_by_side, Choices& choices) {
  return RowGrouper(std::move(program), plans, tasks, side_by_side, choices)();
}

}  // namespace adjit::sched
