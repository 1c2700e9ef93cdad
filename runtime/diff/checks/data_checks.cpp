// runtime/diff/checks/data_checks.cpp -- stages that find indices out of range, and NaNs.
#include "runtime/diff/checks/data_checks.hpp"

#include <algorithm>
#include <set>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/split_domain.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify_bounds.hpp"

namespace adjit::diff {
namespace {

// The points at which one index is evaluated, as the domain of a stage of its own.
struct Points {
  Domain domain;             // all axes reduced
  std::vector<size_t> kept;  // axes of the stage
};

bool may_leave(const Graph& graph, const Stage& stage) {
  if (stage.kind == StageKind::Scatter && stage.out_of_range == OutOfRange::Error) return true;
  std::vector<ExprId> indices(stage.target);
  for (ExprId id : reachable(graph.pool, stage.bodies))
    if (graph.pool.is(id, Op::Read)) {
      const std::span<const ExprId> index = graph.pool.read_index(id);
      indices.insert(indices.end(), index.begin(), index.end());
    }
  return left_to_the_run(graph, indices);
}

int64_t count(std::span<const int64_t> extents) {
  int64_t product = 1;
  for (int64_t extent : extents) product = checked_mul(product, extent);
  return product;
}

// The point of a box with this row-major number.
std::vector<ExprId> coordinates(ExprPool& pool, ExprId number, std::span<const int64_t> extents) {
  std::vector<ExprId> point(extents.size());
  int64_t stride = 1;
  for (size_t k = extents.size(); k-- > 0;) {
    ExprId part = pool.make(Op::FloorDiv, {number, pool.constant_int(stride)});
    if (k > 0) part = pool.make(Op::Mod, {part, pool.constant_int(extents[k])});
    point[k] = part;
    stride = checked_mul(stride, extents[k]);
  }
  return point;
}

// The least value of the body over a domain, as one more output.
TensorId add_minimum(Graph& graph, const char* name, const Domain& domain, ExprId body,
                     const std::vector<SourceLine>& lines) {
  Combiner minimum;
  if (domain.rank() > 0) minimum.kind = CombinerKind::Min;
  const TensorId result = add_compute(graph, name, domain, minimum, {body}, lines)[0];
  graph.outputs.push_back(result);
  return result;
}

void add_scalar(Graph& graph, const char* name, ExprId body, const std::vector<SourceLine>& lines) {
  graph.outputs.push_back(add_compute(graph, name, {}, {}, {body}, lines)[0]);
}

// The condition that the index is evaluated.
ExprId evaluated(ExprPool& pool, const Stage& stage, const OpenIndex& open) {
  if (!open.where.exact) {
    const std::vector<ExprId> roots = expressions_of(stage);
    const ExprId where = evaluated_where(pool, roots, open.read);
    const ExprId predicate = pool.read_predicate(open.read);
    return predicate.valid() ? pool.logical_and(where, predicate) : where;
  }
  ExprId reached = pool.constant_int(0, DType::Bool);
  for (const Way& way : open.where.ways) {
    ExprId all = pool.constant_int(1, DType::Bool);
    for (const auto& [condition, holds] : way)
      all = pool.logical_and(all, holds ? condition : pool.make(Op::Not, {condition}));
    reached = pool.make(Op::Or, {reached, all});
  }
  return reached;
}

// The condition that the index is evaluated and out of range.
ExprId violation(ExprPool& pool, const Stage& stage, const OpenIndex& open) {
  const ExprId zero = pool.constant_int(0), extent = pool.constant_int(open.extent);
  const ExprId reached = evaluated(pool, stage, open);
  const ExprId below = pool.make(Op::Lt, {open.index, zero});
  const ExprId above = pool.make(Op::Le, {extent, open.index});
  return pool.logical_and(reached, pool.make(Op::Or, {below, above}));
}

// The axes that the expressions know, over what the stage's rows leave of them: an index at r is
// looked at once for each r, not for each i with r <= i. All axes where that cannot be told
// apart.
Points points_of(const ExprPool& pool, const Stage& stage, std::vector<ExprId> roots) {
  constexpr size_t kMostAxes = 62;  // of a set of axes
  std::vector<bool> used(stage.domain.rank(), false);
  for (ExprId id : reachable(pool, roots))
    if (pool.is(id, Op::Axis)) used[pool.axis_number(id)] = true;
  Points points;
  for (size_t a = 0; a < used.size(); ++a)
    if (used[a]) points.kept.push_back(a);
  if (stage.domain.rank() <= kMostAxes)
    if (std::optional<Domain> projection = projected_domain(stage.domain, points.kept, 0)) {
      points.domain = std::move(*projection);
      if (points.domain.is_box()) points.domain.divisions.clear();
      return points;
    }
  points.domain = stage.domain;
  points.domain.output_rank = 0;
  points.kept.clear();
  for (size_t a = 0; a < used.size(); ++a) points.kept.push_back(a);
  return points;
}

std::string subject_of(const Graph& graph, const Stage& stage, const OpenIndex& open,
                       std::span<const std::string> names) {
  return (open.read.valid() ? "the read " + print_expr(graph, open.read, names)
                            : "the write to " + graph.info(stage.results[0]).name + " at " +
                                  print_expr(graph, open.index, names)) +
         " in " + describe(graph, stage);
}

// A condition on the points of a box, and the index that is out of range where it holds.
struct Violation {
  ExprId condition, index;
};

void add_index_check(CheckedGraph& to, const Stage& stage, const OpenIndex& open,
                     const Points& points, const Violation& outside) {
  Graph& graph = to.graph;
  ExprPool& pool = graph.pool;
  const std::vector<int64_t>& extents = points.domain.extents;
  const ExprId number = linear_index(pool, points.domain, 0, points.domain.rank());
  const ExprId none = pool.constant_int(kNowhere);
  const TensorId first =
      add_minimum(graph, "out_of_range", points.domain,
                  pool.make(Op::Select, {outside.condition, number, none}), stage.lines);
  const ExprId last = pool.constant_int(std::max<int64_t>(count(extents) - 1, 0));
  const ExprId at = pool.make(Op::Min, {read(graph, first, {}), last});
  add_scalar(graph, "index", substitute_axes(pool, outside.index, coordinates(pool, at, extents)),
             stage.lines);

  DataCheck check;
  const std::vector<std::string> names = axis_names(stage);
  check.subject = subject_of(graph, stage, open, names);
  check.dimension = open.dimension;
  check.extent = open.extent;
  check.extents = extents;
  for (size_t axis : points.kept) check.axes.push_back(names[axis]);
  to.checks.push_back(std::move(check));
}

void add_nan_check(CheckedGraph& to, TensorId tensor, DataCheck::Kind kind, std::string subject,
                   const std::vector<SourceLine>& lines) {
  Graph& graph = to.graph;
  const TensorInfo info = graph.info(tensor);
  if (!is_float(info.dtype) || count(info.shape) == 0) return;
  ExprPool& pool = graph.pool;
  Domain domain;  // all axes reduced
  domain.extents = info.shape;
  ExprId element = read(graph, tensor, axes(pool, info.shape.size()));
  if (size_of(info.dtype) < size_of(DType::Float32)) element = pool.cast(element, DType::Float32);
  const ExprId number = linear_index(pool, domain, 0, domain.rank());
  add_minimum(
      graph, "nan", domain,
      pool.make(Op::Select, {pool.make(Op::IsNan, {element}), number, pool.constant_int(kNowhere)}),
      lines);
  add_scalar(graph, "none", pool.constant_int(0), lines);
  DataCheck check{std::move(subject), 0, 0, {}, info.shape, kind};
  for (size_t a = 0; a < info.shape.size(); ++a) check.axes.push_back("i" + std::to_string(a));
  to.checks.push_back(std::move(check));
}

// The first trip that failed, of a check of a scan's step whose two numbers are stacked.
void add_check_of_trips(CheckedGraph& to, const Stage& stage, DataCheck check, TensorId points,
                        TensorId indices) {
  Graph& graph = to.graph;
  ExprPool& pool = graph.pool;
  Domain trips;
  trips.extents = {stage.scan->trips};
  // The last slice comes first where the scan runs backwards.
  const auto slice = [&](ExprId step) {
    return stage.scan->reverse ? pool.sub(pool.constant_int(stage.scan->trips - 1), step) : step;
  };
  const ExprId trip = pool.axis(0), none = pool.constant_int(kNowhere);
  const ExprId size = pool.constant_int(std::max<int64_t>(count(check.extents), 1));
  const ExprId here = slice(trip);
  const ExprId point = read(graph, points, std::span(&here, 1));
  const ExprId number = pool.add(pool.mul(trip, size), point);
  const TensorId first = add_minimum(
      graph, "out_of_range", trips,
      pool.make(Op::Select, {pool.make(Op::Eq, {point, none}), none, number}), stage.lines);
  const ExprId at =
      slice(pool.make(Op::Min, {pool.make(Op::FloorDiv, {read(graph, first, {}), size}),
                                pool.constant_int(stage.scan->trips - 1)}));
  add_scalar(graph, "index", read(graph, indices, std::span(&at, 1)), stage.lines);
  check.axes.insert(check.axes.begin(), stage.scan->reverse ? "step from the end" : "step");
  check.extents.insert(check.extents.begin(), stage.scan->trips);
  to.checks.push_back(std::move(check));
}

// The checks of a step are stacked by the scan; the first trip that failed counts.
void add_scan(CheckedGraph& to, Stage stage, CheckedGraph step) {
  const size_t outputs = stage.scan->carries + stage.scan->stacked;
  const size_t numbers = 2 * step.checks.size();
  Scan scan = *stage.scan;
  scan.stacked += numbers;
  for (size_t k = 0; k < numbers; ++k)
    stage.results.push_back(add_tensor(to.graph, "step_check", DType::Int64, {scan.trips}));
  scan.body = std::make_shared<const Graph>(std::move(step.graph));
  stage.scan = std::make_shared<const Scan>(std::move(scan));
  to.graph.stages.push_back(stage);
  if (stage.scan->trips == 0) return;
  for (size_t k = 0; k < step.checks.size(); ++k)
    add_check_of_trips(to, stage, std::move(step.checks[k]), stage.results[outputs + 2 * k],
                       stage.results[outputs + 2 * k + 1]);
}

TensorId add_carry(Graph& step, std::ptrdiff_t at) {
  const TensorId carry = add_input(step, "check", DType::Int64, {});
  step.inputs.pop_back();
  step.inputs.insert(step.inputs.begin() + at, carry);
  return carry;
}

// The step of a conditional scan with the two numbers of each check carried, from the first one
// that failed on: then the loop stops, too, for what it waits for may never come. The bool that it
// runs by stays last of `carries`.
Graph step_that_stops(Graph step, size_t carries, size_t checks) {
  const auto scalar = [](Graph& graph, const char* name, ExprId body) {
    return add_compute(graph, name, {}, {}, {body})[0];
  };
  const size_t numbers = 2 * checks;
  const std::vector<TensorId> found(step.outputs.end() - static_cast<std::ptrdiff_t>(numbers),
                                    step.outputs.end());
  TensorId going = step.outputs[carries - 1];
  step.outputs.resize(carries - 1);
  for (size_t k = 0; k < numbers; k += 2) {
    const auto at = static_cast<std::ptrdiff_t>(carries - 1 + k);
    const ExprId point = read(step, add_carry(step, at), {});
    const ExprId index = read(step, add_carry(step, at + 1), {});
    const ExprId none = step.pool.constant_int(kNowhere);
    const ExprId failed = step.pool.make(Op::Ne, {point, none});
    const TensorId first =
        scalar(step, "first", step.pool.select(failed, point, read(step, found[k], {})));
    const TensorId there =
        scalar(step, "index", step.pool.select(failed, index, read(step, found[k + 1], {})));
    const ExprId fine = step.pool.make(Op::Eq, {read(step, first, {}), none});
    going = scalar(step, "going", step.pool.logical_and(read(step, going, {}), fine));
    step.outputs.insert(step.outputs.end(), {first, there});
  }
  step.outputs.push_back(going);
  return step;
}

void add_loop(CheckedGraph& to, Stage stage, CheckedGraph step) {
  Graph& graph = to.graph;
  Scan scan = *stage.scan;
  const size_t numbers = 2 * step.checks.size();
  for (size_t k = 0; k < numbers; ++k) {
    const ExprId start = graph.pool.constant_int(k % 2 == 0 ? kNowhere : 0);
    const auto at = static_cast<std::ptrdiff_t>(scan.carries - 1 + k);
    stage.operands.insert(stage.operands.begin() + at,
                          add_compute(graph, "in_range", {}, {}, {start}, stage.lines)[0]);
    stage.results.insert(stage.results.begin() + at,
                         add_tensor(graph, "loop_check", DType::Int64, {}));
    graph.outputs.push_back(stage.results[static_cast<size_t>(at)]);
  }
  scan.body = std::make_shared<const Graph>(
      step_that_stops(std::move(step.graph), scan.carries, step.checks.size()));
  scan.carries += numbers;
  stage.scan = std::make_shared<const Scan>(std::move(scan));
  graph.stages.push_back(std::move(stage));
  std::ranges::move(step.checks, std::back_inserter(to.checks));
}

class Checker {
 public:
  // `loops` counts the scans, so that each has a number of its own.
  Checker(Graph graph, bool nan, size_t& loops)
      : result_{std::move(graph), {}}, nan_(nan), loops_(loops) {}

  CheckedGraph operator()() {
    Graph& graph = result_.graph;
    std::vector<Stage> stages = std::move(graph.stages);
    graph.stages.clear();
    if (nan_ && loops_ == 0) check_inputs();  // those of a step are slices of what is checked
    for (Stage& stage : stages) {
      if (stage.kind == StageKind::Scan) {
        check_steps(std::move(stage));
        continue;
      }
      graph.stages.push_back(stage);
      if (stage.kind != StageKind::Call && may_leave(graph, stage)) check_indices(stage);
      if (nan_) check_results(stage);
    }
    return std::move(result_);
  }

 private:
  void check_inputs() {
    for (TensorId input : std::vector<TensorId>(result_.graph.inputs))
      add_nan_check(result_, input, DataCheck::Kind::NaNInput,
                    "the input '" + result_.graph.info(input).name + "'", {});
  }

  void check_results(const Stage& stage) {
    for (TensorId result : stage.results)
      add_nan_check(result_, result, DataCheck::Kind::NaN, describe(result_.graph, stage),
                    stage.lines);
  }

  // The same index in several reads is checked once.
  void check_indices(const Stage& stage) {
    ExprPool& pool = result_.graph.pool;
    for (const OpenIndex& open : open_indices(result_.graph, stage)) {
      const ExprId outside = violation(pool, stage, open);
      const Points points = points_of(pool, stage, {open.index, outside});
      std::vector<ExprId> renumbered(stage.domain.rank(), pool.constant_int(0));
      for (size_t k = 0; k < points.kept.size(); ++k) renumbered[points.kept[k]] = pool.axis(k);
      const ExprId condition = substitute_axes(pool, outside, renumbered);
      const ExprId index = substitute_axes(pool, open.index, renumbered);
      if (!points.domain.is_box() || known_.insert({condition.value, points.domain.extents}).second)
        add_index_check(result_, stage, open, points, {condition, index});
    }
  }

  void check_steps(Stage stage) {
    const size_t loop = ++loops_;
    CheckedGraph step = Checker(*stage.scan->body, nan_, loops_)();
    if (step.checks.empty()) {
      result_.graph.stages.push_back(std::move(stage));
    } else if (stage.scan->conditional) {
      add_loop(result_, std::move(stage), std::move(step));
    } else {
      for (DataCheck& check : step.checks) check.loops.insert(check.loops.begin(), loop);
      add_scan(result_, std::move(stage), std::move(step));
    }
  }

  CheckedGraph result_;
  bool nan_;
  size_t& loops_;
  std::set<std::pair<uint32_t, std::vector<int64_t>>> known_;
};

}  // namespace

CheckedGraph with_data_checks(Graph graph, bool nan) {
  size_t loops = 0;
  return Checker(std::move(graph), nan, loops)();
}

}  // namespace adjit::diff
