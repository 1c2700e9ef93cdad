// autosched/cpu/cost/features.cpp -- what a kernel's loops do, counted.
#include "autosched/cpu/cost/features.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <unordered_map>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "runtime/domain/count.hpp"

namespace adjit::sched {
namespace {

constexpr int64_t kCountedIterations = 4000;  // iterations spent on counting a domain's points

// Rows that mention the lanes' axis do not shorten a loop when they are equalities: they mask.
double share_of_box(const Stage& stage, std::optional<size_t> vector_axis) {
  Domain domain = stage.domain;
  if (domain.is_box()) return 1;
  const auto mentions_lanes = [&](const Affine& row) {
    return vector_axis && domain.mentions(row, *vector_axis);
  };
  std::erase_if(domain.equalities, mentions_lanes);
  const std::optional<int64_t> points = count_points(domain, kCountedIterations);
  return points ? static_cast<double>(*points) / box_points(domain) : 1;
}

bool reduces(const Stage& stage, size_t axis) {
  return stage.kind != StageKind::Scatter && axis >= stage.domain.output_rank;
}

// Whether partial results go through memory: a serial reduction loop above an output loop.
bool accumulates_in_memory(const Stage& stage, const Nest& nest) {
  bool reduced = false;
  for (const Loop& loop : std::span(nest.loops).first(tile_begin(nest))) {
    if (!reduces(stage, loop.axis) && reduced) return true;
    reduced = reduced || reduces(stage, loop.axis);
  }
  return false;
}

class NestCounter {
 public:
  NestCounter(const Program& program, const PlacedNest& placed)
      : program_(program),
        placed_(placed),
        nest_(*placed.nest),
        stage_(program.graph.stages[nest_.stage]),
        accesses_(accesses_of(program.graph, stage_)),
        tile_(tile_begin(nest_)) {
    for (size_t l = 0; l < nest_.loops.size(); ++l)
      if (nest_.loops[l].kind == LoopKind::Vector) vector_ = l;
    count_.stage = nest_.stage;
    count_.runs = placed.runs;
    count_.bytes_per_vector = 4;
    scale_ = placed.runs * share_of_box(stage_, lanes_axis());
  }

  NestFeatures operator()() {
    count_.steps = executions(all_axes(), tile_);
    count_.points = scale_;
    for (int64_t span : nest_.spans)
      count_.points *= static_cast<double>(std::max<int64_t>(span, 1));
    count_.in_memory = accumulates_in_memory(stage_, nest_);
    count_operations();
    count_accesses();
    count_reduction();
    count_masks();
    for (size_t d = 1; d <= tile_; ++d) count_.loop_steps += scale_ * iterations(nest_, d);
    count_.accumulates =
        stage_.kind == StageKind::Scatter || nest_.spans.size() > stage_.domain.output_rank;
    count_.attached = placed_.host != SIZE_MAX;
    count_.tile = tile_features_of(program_, placed_, accesses_);
    count_.spills = count_.tile.spilled * count_.steps;
    return count_;
  }

 private:
  std::optional<size_t> lanes_axis() const {
    return vector_ ? std::optional(nest_.loops[*vector_].axis) : std::nullopt;
  }
  std::vector<bool> all_axes() const { return std::vector<bool>(nest_.spans.size(), true); }

  // How often something that depends on these axes is evaluated: once for every step of the loops
  // down to the innermost that it depends on, times its instances in the tile (loops [tile_, end)).
  double executions(const std::vector<bool>& axes, size_t end) const {
    size_t depth = 0;
    for (size_t l = 0; l < tile_; ++l)
      if (axes[nest_.loops[l].axis]) depth = l + 1;
    double count = scale_;
    for (size_t a = 0; a < nest_.spans.size(); ++a) {
      int64_t step = 0;
      for (size_t l = 0; l < end; ++l)
        if (nest_.loops[l].axis == a && (l < depth || (l >= tile_ && axes[a])))
          step =
              nest_.loops[l].kind == LoopKind::Vector ? nest_.loops[l].trips : nest_.loops[l].step;
      if (step > 0) count *= static_cast<double>(ceil_div(nest_.spans[a], step));
    }
    return count;
  }
  double executions(const std::vector<bool>& axes) const {
    return executions(axes, nest_.loops.size());
  }

  void count_operations() {
    const ExprPool& pool = program_.graph.pool;
    std::vector<ExprId> roots = stage_.bodies;
    roots.insert(roots.end(), stage_.target.begin(), stage_.target.end());
    std::unordered_map<uint32_t, std::vector<bool>> axes;
    std::map<std::vector<bool>, double> costs;
    for (ExprId id : reachable(pool, roots)) {
      std::vector<bool> depends(nest_.spans.size(), false);
      if (pool.is(id, Op::Axis)) depends[pool.axis_number(id)] = true;
      bool data = pool.is(id, Op::Read);
      for (ExprId operand : pool.operands(id)) {
        const std::vector<bool>& other = axes.at(operand.value);
        for (size_t a = 0; a < other.size(); ++a) depends[a] = depends[a] || other[a];
        data = data || data_.contains(operand.value);
      }
      if (data) data_.insert(id.value);
      // Index arithmetic is folded into addresses, unless data comes into it.
      if (pool.dtype(id) != DType::Int64 || data) costs[depends] += operation_cost(pool, id);
      axes.emplace(id.value, std::move(depends));
    }
    for (ExprId body : stage_.bodies) {
      // Combined at every point; a product goes into a sum by fma.
      if (stage_.combiner.kind == CombinerKind::None) break;
      const double cost = operation_cost(Op::Mul, pool.dtype(body));
      if (stage_.combiner.kind == CombinerKind::Sum && pool.is(body, Op::Mul))
        costs[axes.at(body.value)] -= cost;
      costs[all_axes()] += cost;
    }
    for (const auto& [depends, cost] : costs) count_.operations += cost * executions(depends);
  }

  void count_accesses() {
    for (size_t r = 0; r < accesses_.reads.size(); ++r) {
      const MemoryAccess& access = accesses_.reads[r];
      std::vector<bool> axes(nest_.spans.size());
      for (size_t a = 0; a < axes.size(); ++a) axes[a] = access.depends_on(a);
      const double count = executions(axes) * distinct_share(access);
      count_.loads += count;
      count_.apart += count * lanes_apart(placed_.walks[r]);
      if (access.guarded) count_.masks += cpu_of(program_.target).core.guard_cost * count;
      widen(access.tensor);
      const DType dtype = program_.graph.info(access.tensor).dtype;
      if (accumulator_of(dtype) != dtype) count_.operations += 2 * count;  // widened to float32
    }
    std::vector<bool> outputs = all_axes();
    for (size_t a = stage_.domain.output_rank; a < outputs.size(); ++a)
      outputs[a] = stage_.kind == StageKind::Scatter;
    const double count = static_cast<double>(stage_.results.size()) * executions(outputs);
    count_.stores += count;
    if (count_.in_memory || stage_.kind == StageKind::Scatter) count_.loads += count;
    const double apart =
        stage_.kind == StageKind::Scatter ? scatter_apart() : lanes_apart(placed_.walks.back());
    count_.apart += 2 * count * apart;
    for (TensorId id : stage_.results) widen(id);
  }

  // Of what the instances of the tile read.
  double distinct_share(const MemoryAccess& access) const {
    std::vector<int64_t> instances(nest_.spans.size(), 1);
    for (size_t l = tile_; l < nest_.loops.size(); ++l)
      if (nest_.loops[l].kind != LoopKind::Vector)
        instances[nest_.loops[l].axis] *= nest_.loops[l].trips;
    double all = 1;
    for (size_t a = 0; a < instances.size(); ++a)
      if (access.depends_on(a)) all *= static_cast<double>(instances[a]);
    return distinct_reads(access, instances, stage_.domain.output_rank, lanes_axis()) / all;
  }

  void widen(TensorId id) {
    const double lanes = vector_ ? static_cast<double>(nest_.loops[*vector_].trips) : 1;
    const auto size = static_cast<double>(size_of(program_.graph.info(id).dtype));
    count_.bytes_per_vector = std::max(count_.bytes_per_vector, lanes * size);
  }

  // Vectors that one access takes beyond the first: whole vectors and shuffles for small distances
  // (jit/emit/shape/lane_windows.hpp), else an element at a time.
  double lanes_apart(const Walk& walk) const {
    if (!vector_) return 0;
    const Stride& stride = walk.strides[placed_.first + *vector_];
    const auto lanes = static_cast<double>(nest_.loops[*vector_].trips);
    if (stride.data) return cpu_of(program_.target).core.apart_lane_cost * lanes;
    const double elements = std::abs(stride.bytes) / walk.element_bytes;
    if (stride.even && elements <= 1) return stride.bytes < 0 ? 1 : 0;
    return elements <= std::max(2.0, lanes / 4)
               ? 2 * std::max(1.0, elements)
               : cpu_of(program_.target).core.apart_lane_cost * lanes;
  }

  double scatter_apart() const {
    if (!vector_) return 0;
    return writes_apart(program_.graph, stage_, *lanes_axis())
               ? 0
               : 2 * static_cast<double>(nest_.loops[*vector_].trips);
  }

  void count_reduction() {
    const Running* running = running_of(program_.graph, stage_);
    if (stage_.combiner.kind == CombinerKind::None && !running) return;
    bool reduction_lanes = lanes_axis() && reduces(stage_, *lanes_axis());
    double instances = 1;  // through one accumulator
    double accumulators = 1;
    for (size_t l = tile_; l < nest_.loops.size(); ++l) {
      const Loop& loop = nest_.loops[l];
      if (loop.kind == LoopKind::Vector) continue;
      const bool chained =
          running ? loop.axis == running->axis : reduces(stage_, loop.axis) && !reduction_lanes;
      (chained ? instances : accumulators) *= static_cast<double>(loop.trips);
    }
    count_.waits = instances * count_.steps;
    if (!reduction_lanes) return;
    std::vector<bool> outputs(nest_.spans.size(), false);
    for (size_t a = 0; a < stage_.domain.output_rank; ++a) outputs[a] = true;
    count_.folds = executions(outputs) * static_cast<double>(stage_.bodies.size());
  }

  // Rows that mention the tile mask it. One that no reduction takes part in is asked when results
  // are stored, others once a step.
  void count_masks() {
    std::vector<bool> in_tile(nest_.spans.size(), false);
    std::vector<int64_t> instances(nest_.spans.size(), 1);
    for (size_t l = tile_; l < nest_.loops.size(); ++l) {
      const Loop& loop = nest_.loops[l];
      in_tile[loop.axis] = true;
      if (loop.kind != LoopKind::Vector) instances[loop.axis] *= loop.trips;
    }
    double asking = 1;
    if (vector_ && !stage_.domain.inequalities.empty()) {
      const TileProblem problem{program_.graph,          stage_, accesses_, nest_.spans,
                                cpu_of(program_.target), 0,      false};
      const TileModel model(problem, *lanes_axis());
      if (model.predicates().visited(instances) < 1)
        asking = model.predicates().asking(instances);  // behind a diagonal
    }
    for (const auto* rows : {&stage_.domain.inequalities, &stage_.domain.equalities})
      for (const Affine& row : *rows) {
        std::vector<bool> axes(nest_.spans.size(), false);
        stage_.domain.mark_axes(row, axes);
        bool masked = false, reduced = false;
        for (size_t a = 0; a < axes.size(); ++a) {
          masked = masked || (axes[a] && in_tile[a]);
          reduced = reduced || (axes[a] && reduces(stage_, a));
        }
        if (masked) count_.masks += (reduced ? 3 * asking : 1) * executions(axes);
      }
    // A ragged vector loop masks its loads and stores.
    if (vector_ && nest_.spans[*lanes_axis()] % nest_.loops[*vector_].trips != 0)
      count_.masks += cpu_of(program_.target).core.tail_cost * count_.steps;
  }

  const Program& program_;
  const PlacedNest& placed_;
  const Nest& nest_;
  const Stage& stage_;
  Accesses accesses_;
  size_t tile_;
  std::optional<size_t> vector_;  // position of the vector loop
  double scale_ = 1;              // runs, times the share of the box that the rows leave
  NestFeatures count_;
  std::set<uint32_t> data_;  // expressions that data comes into
};

// 0: it is local to a kernel.
double bytes_in_memory(const Program& program, TensorId id) {
  const Scope scope = program.scopes[id.value];
  return scope == Scope::Argument || scope == Scope::Workspace
             ? static_cast<double>(tensor_bytes(program.graph, id))
             : 0;
}

}  // namespace

KernelFeatures features_of(const Program& program, const Kernel& kernel, const CpuMachine& machine,
                           const Residence& residence) {
  KernelFeatures features;
  std::vector<PlacedNest> nests = placed_nests(program, kernel);
  if (!residence.in_task.empty())
    for (PlacedNest& nest : nests)
      for (Walk& walk : nest.walks) walk.in_task = residence.in_task[walk.tensor.value];
  const std::vector<Traffic> moved = traffic(nests, machine, residence.bytes);
  for (size_t n = 0; n < nests.size(); ++n) {
    features.nests.push_back(NestCounter(program, nests[n])());
    features.nests.back().traffic = moved[n];
  }
  features.parallel = parallel_depth(kernel.root) > 0;
  const int64_t runs = task_count(kernel.root) / tasks_in_turn(program, kernel.root);
  features.tasks = static_cast<double>(runs);
  for (TensorId id : tensors_in_memory(program, kernel))
    features.array_bytes += bytes_in_memory(program, id);
  return features;
}

Residence residence_of(const Program& program, const Scan* scan) {
  Residence residence{program_bytes(program), {}};
  const bool tasks = std::ranges::any_of(
      program.kernels, [](const Kernel& kernel) { return parallel_depth(kernel.root) > 0; });
  if (!tasks) return residence;
  const TaskChains chains = task_chains(program, scan);
  residence.in_task.assign(chains.slices.size(), 0);
  std::vector<uint32_t> open;  // of the chain at hand
  double held = 0;             // of them, by a task
  const auto close = [&] {
    for (uint32_t id : open) residence.in_task[id] = held;
    residence.bytes += held * cpu_of(program.target).cores;
    open.clear();
    held = 0;
  };
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    if (!chains.continues[k] && !chains.before[k]) close();
    for_each_nest(program.kernels[k].root, [&](const Nest& nest) {
      for (TensorId id : program.graph.stages[nest.stage].results) {
        const int64_t slice = chains.slices[id.value];
        if (slice == 0) continue;
        const auto size = static_cast<double>(size_of(program.graph.info(id).dtype));
        open.push_back(id.value);
        held += static_cast<double>(slice) * size;
        residence.bytes -= static_cast<double>(tensor_bytes(program.graph, id));
      }
    });
  }
  close();
  return residence;
}

double program_bytes(const Program& program, double most) {
  std::vector<bool> counted(program.graph.tensors.size(), false);
  double bytes = 0;
  const auto count = [&](TensorId id) {
    if (counted[id.value]) return;
    counted[id.value] = true;
    bytes += bytes_in_memory(program, id);
  };
  for (const Kernel& kernel : program.kernels) {
    for_each_nest(kernel.root, [&](const Nest& nest) {
      const Stage& stage = program.graph.stages[nest.stage];
      std::ranges::for_each(tensors_read(program.graph, stage), count);
      std::ranges::for_each(stage.results, count);
    });
    if (bytes > most) break;
  }
  return bytes;
}

}  // namespace adjit::sched
