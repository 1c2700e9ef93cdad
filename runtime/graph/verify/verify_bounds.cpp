// runtime/graph/verify/verify_bounds.cpp -- proves that the reads of a stage stay in bounds.
#include "runtime/graph/verify/verify_bounds.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <unordered_map>
#include <utility>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/index_cases.hpp"

namespace adjit::graph {
namespace {

constexpr int64_t kMaxEvaluations =
    4'000'000;  // nodes times points of the search for a counterexample

// Expressions at points, as far as they do not depend on data.
class PartialEvaluator {
 public:
  PartialEvaluator(const ExprPool& pool, std::span<const ExprId> roots)
      : pool_(pool), nodes_(reachable(pool, roots)) {}

  size_t node_count() const { return nodes_.size(); }
  bool reads_data() const {
    return std::ranges::any_of(nodes_, [&](ExprId id) { return pool_.is(id, Op::Read); });
  }
  bool uses_floats() const {
    return std::ranges::any_of(nodes_, [&](ExprId id) { return is_float(pool_.dtype(id)); });
  }
  void add_axes(std::vector<bool>& mentioned) const {
    for (ExprId id : nodes_)
      if (pool_.is(id, Op::Axis)) mentioned[pool_[id].payload] = true;
  }
  void move_to(std::span<const int64_t> point) {
    for (ExprId id : nodes_) values_[id.value] = evaluate(id, point);
  }
  /// Nothing when the value depends on data.
  std::optional<Scalar> value(ExprId id) const { return values_.at(id.value); }

 private:
  std::optional<Scalar> evaluate(ExprId id, std::span<const int64_t> point) const {
    const Node& node = pool_[id];
    if (node.op == Op::Axis) return Scalar::of_int(point[node.payload]);
    if (node.op == Op::Constant)
      return is_float(node.dtype) ? Scalar::of_float(std::bit_cast<double>(node.payload))
                                  : Scalar::of_int(static_cast<int64_t>(node.payload));
    if (node.op == Op::Read || node.op == Op::Argument) return std::nullopt;
    std::array<Scalar, 3> v;
    bool known = true;
    const std::span<const ExprId> operands = pool_.operands(id);
    for (size_t k = 0; k < operands.size(); ++k) {
      const std::optional<Scalar> operand = value(operands[k]);
      // A known condition decides alone.
      if (operand && node.op == Op::And && !operand->i) return Scalar::of_int(0);
      if (operand && node.op == Op::Or && operand->i) return Scalar::of_int(1);
      if (operand && node.op == Op::Select && k == 0) return value(operands[operand->i ? 1 : 2]);
      known = known && operand.has_value();
      if (operand) v[k] = *operand;
    }
    if (!known) return std::nullopt;
    return apply(node.op, pool_.dtype(operands.back()), node.dtype,
                 std::span(v.data(), operands.size()));
  }

  const ExprPool& pool_;
  std::vector<ExprId> nodes_;
  std::unordered_map<uint32_t, std::optional<Scalar>> values_;
};

// What the bounds of one stage are proved with.
struct BoundsProof {
  BoundsProof(const Graph& whole, const Stage& proved)
      : graph(whole),
        pool(whole.pool),
        stage(proved),
        names(axis_names(proved)),
        index_cases(whole.pool, proved.domain) {}

  const Graph& graph;
  const ExprPool& pool;
  const Stage& stage;
  std::vector<std::string> names;  // of the axes, for messages
  IndexCases index_cases;
  std::optional<ExprPool> extended;                   // with where reads are evaluated
  std::map<std::pair<ExprId, int64_t>, bool> inside;  // by index and extent: under no condition
};

bool bounded(BoundsProof& p, const OpenIndex& access) {
  try {
    return std::ranges::all_of(p.index_cases.cases(access.index), [&](const auto& c) {
      const OpenInterval range = range_of(p.index_cases.variables(), c.value);
      return range.low && range.high && *range.low >= 0 && *range.high < access.extent;
    });
  } catch (const Overflow&) {
    return false;
  }
}

// Every index that the bounds of the box do not prove, in the order of the expressions.
std::vector<OpenIndex> accesses(BoundsProof& p) {
  std::vector<OpenIndex> found;
  const auto add = [&](OpenIndex access) {
    if (!bounded(p, access)) found.push_back(std::move(access));
  };
  const std::vector<ExprId> roots = expressions_of(p.stage);
  std::unordered_map<uint32_t, WaysToRead> all = ways_to_reads(p.pool, roots);
  for (ExprId read : reachable(p.pool, roots)) {
    if (!p.pool.is(read, Op::Read)) continue;
    WaysToRead& where = all.at(read.value);
    if (const ExprId predicate = p.pool.read_predicate(read); predicate.valid())
      for (Way& way : where.ways) way.emplace_back(predicate, true);
    const TensorInfo& tensor = p.graph.info(p.pool.read_tensor(read));
    const std::span<const ExprId> index = p.pool.read_index(read);
    for (size_t d = 0; d < index.size(); ++d) add({read, index[d], d, tensor.shape[d], where});
  }
  if (p.stage.kind != StageKind::Scatter || p.stage.out_of_range != OutOfRange::Error) return found;
  const TensorInfo& result = p.graph.info(p.stage.results[0]);
  for (size_t d = 0; d < p.stage.target.size(); ++d)
    add({{}, p.stage.target[d], d, result.shape[d], {{{}}, true}});
  return found;
}

bool proven(BoundsProof& p, const OpenIndex& access, const Way& way) {
  IndexCases::Conjunctions reached{{}};
  for (const auto& [condition, value] : way)
    reached = both_hold(reached, p.index_cases.conditions(condition, value));
  for (const IndexCases::Case& c : p.index_cases.cases(access.index))
    for (const LinearSystem& path : reached)
      for (const Affine& outside : {-c.value + Affine(-1), c.value - Affine(access.extent)}) {
        LinearSystem system = p.index_cases.variables().always;
        for (const LinearSystem* rows : {&c.rows, &path}) {
          system.inequalities.insert(system.inequalities.end(), rows->inequalities.begin(),
                                     rows->inequalities.end());
          system.equalities.insert(system.equalities.end(), rows->equalities.begin(),
                                   rows->equalities.end());
        }
        system.inequalities.push_back(outside);
        if (!is_certainly_empty(std::move(system))) return false;
      }
  return true;
}

bool surely(BoundsProof& p, const OpenIndex& access, const Way& way) {
  try {
    return proven(p, access, way);
  } catch (const Overflow&) {
    return false;
  }
}

// The axes that the index, its conditions or the rows of the domain mention: along all others
// nothing changes.
std::vector<size_t> axes_to_try(const BoundsProof& p, const PartialEvaluator& evaluator) {
  const Domain& domain = p.stage.domain;
  std::vector<bool> mentioned(domain.rank());
  evaluator.add_axes(mentioned);
  const auto add = [&](const Affine& row) {
    for (size_t k = 0; k < domain.rank(); ++k)
      if (row.coefficient(k) != 0) mentioned[k] = true;
  };
  std::ranges::for_each(domain.inequalities, add);
  std::ranges::for_each(domain.equalities, add);
  std::ranges::for_each(domain.divisions, add, &Division::numerator);
  std::vector<size_t> axes;
  for (size_t k = 0; k < domain.rank(); ++k)
    if (mentioned[k]) axes.push_back(k);
  return axes;
}

// Whether the index is evaluated at a point and leaves its dimension there.
bool is_outside(const OpenIndex& access, const Way& way, PartialEvaluator& evaluator,
                std::span<const int64_t> point) {
  evaluator.move_to(point);
  const int64_t at = evaluator.value(access.index)->i;
  if (at >= 0 && at < access.extent) return false;
  return std::ranges::all_of(way, [&](const auto& step) {
    const std::optional<Scalar> known = evaluator.value(step.first);
    return !known || (known->i != 0) == step.second;
  });
}

std::string range_text(BoundsProof& p, ExprId index) {
  try {
    const std::vector<IndexCases::Case>& cases = p.index_cases.cases(index);
    const OpenInterval r = range_of(p.index_cases.variables(), cases[0].value);
    if (cases.size() == 1 && r.low && r.high)
      return ", the index runs from " + std::to_string(*r.low) + " to " + std::to_string(*r.high);
  } catch (const Overflow&) {
    return "";
  }
  return "";
}

[[noreturn]] void fail(BoundsProof& p, const OpenIndex& access, const std::string& what) {
  const TensorInfo& tensor =
      p.graph.info(access.read.valid() ? p.pool.read_tensor(access.read) : p.stage.results[0]);
  const std::string subject =
      access.read.valid()
          ? "the read " + print_expr(p.graph, access.read, p.names)
          : "the write to " + tensor.name + " at " + print_expr(p.graph, access.index, p.names);
  throw Error(ErrorCode::Bounds,
              describe(p.graph, p.stage) + ": " + subject + " " + what + " (dimension " +
                  std::to_string(access.dimension) + " has extent " +
                  std::to_string(access.extent) + range_text(p, access.index) +
                  "); guard it with select or where=" +
                  (access.read.valid() ? ", or read it with at(..., mode=)" : ""));
}

void try_point(BoundsProof& p, const OpenIndex& access, const Way& way, PartialEvaluator& evaluator,
               std::span<const int64_t> point) {
  if (!p.stage.domain.contains(point) || !is_outside(access, way, evaluator, point)) return;
  const int64_t at = evaluator.value(access.index)->i;
  std::string where;
  for (size_t k = 0; k < point.size(); ++k)
    where += (k ? ", " : " at ") + p.names[k] + " = " + std::to_string(point[k]);
  fail(p, access, "goes out of range" + where + ": index " + std::to_string(at));
}

// Looks for a point out of bounds: corners of the box first, then all points while the budget
// lasts. Whether it lasted.
bool tried_all_points(BoundsProof& p, const OpenIndex& access, const Way& way,
                      PartialEvaluator evaluator) {
  const std::vector<int64_t>& extents = p.stage.domain.extents;
  const std::vector<size_t> axes = axes_to_try(p, evaluator);
  int64_t budget = kMaxEvaluations / static_cast<int64_t>(evaluator.node_count() + 8);
  const size_t corner_axes = std::min<size_t>(axes.size(), 12);
  std::vector<int64_t> point(extents.size(), 0);
  for (size_t corner = 0; corner < size_t{1} << corner_axes; ++corner) {
    for (size_t k = 0; k < corner_axes; ++k)
      point[axes[k]] = (corner >> k) & 1 ? extents[axes[k]] - 1 : 0;
    try_point(p, access, way, evaluator, point);
  }
  std::ranges::fill(point, 0);
  for (; budget > 0; --budget) {
    try_point(p, access, way, evaluator, point);
    size_t k = axes.size();
    while (k > 0 && ++point[axes[k - 1]] == extents[axes[k - 1]]) point[axes[--k]] = 0;
    if (k == 0) return true;
  }
  return false;
}

// The rows of the domain that are connected with some axes, which become all that they mention.
Domain connected(const BoundsProof& p, std::vector<bool>& axes) {
  Domain domain = p.stage.domain;
  domain.inequalities.clear();
  domain.equalities.clear();
  const auto take = [&](const std::vector<Affine>& from, std::vector<Affine>& to) {
    bool grown = false;
    for (const Affine& row : from) {
      std::vector<bool> mentioned(axes.size());
      p.stage.domain.mark_axes(row, mentioned);
      bool touches = false;
      for (size_t a = 0; a < axes.size(); ++a) touches |= mentioned[a] && axes[a];
      if (!touches || std::ranges::find(to, row) != to.end()) continue;
      to.push_back(row);
      grown = true;
      for (size_t a = 0; a < axes.size(); ++a)
        if (mentioned[a]) axes[a] = true;
    }
    return grown;
  };
  bool grown = true;
  while (grown) {
    grown = take(p.stage.domain.inequalities, domain.inequalities);
    grown |= take(p.stage.domain.equalities, domain.equalities);
  }
  return domain;
}

// Whether the index stays inside at all points of the axes that it depends on and that rows
// connect with these: what other rows ask of other axes can only leave out points.
bool none_outside(BoundsProof& p, const OpenIndex& access, const Way& way,
                  PartialEvaluator evaluator) {
  std::vector<bool> tried(p.stage.domain.rank());
  evaluator.add_axes(tried);
  const Domain domain = connected(p, tried);
  std::vector<size_t> axes;
  for (size_t a = 0; a < tried.size(); ++a)
    if (tried[a]) axes.push_back(a);
  std::vector<int64_t> point(domain.rank(), 0);
  int64_t budget = kMaxEvaluations / static_cast<int64_t>(evaluator.node_count() + 8);
  for (; budget > 0; --budget) {
    if (domain.contains(point) && is_outside(access, way, evaluator, point)) return false;
    size_t k = axes.size();
    while (k > 0 && ++point[axes[k - 1]] == domain.extents[axes[k - 1]]) point[axes[--k]] = 0;
    if (k == 0) return true;
  }
  return false;
}

bool all_tried_among(BoundsProof& p, const OpenIndex& access, const Way& way) {
  const ExprPool& pool = p.extended ? *p.extended : p.pool;
  std::vector<ExprId> roots{access.index};
  for (const auto& [condition, value] : way) roots.push_back(condition);
  return tried_all_points(p, access, way, PartialEvaluator(pool, roots)) ||
         none_outside(p, access, way, PartialEvaluator(pool, roots));
}

// Where the stage evaluates the read and its predicate holds, in a pool that has this, too.
ExprId evaluated(BoundsProof& p, ExprId read) {
  if (!p.extended) p.extended = p.pool;
  const ExprId where = evaluated_where(*p.extended, expressions_of(p.stage), read);
  const ExprId predicate = p.pool.read_predicate(read);
  return predicate.valid() ? p.extended->logical_and(where, predicate) : where;
}

// Whether the index stays inside under no condition. Reads of one window share most of theirs.
bool inside_everywhere(BoundsProof& p, const OpenIndex& access) {
  const auto [known, added] = p.inside.try_emplace({access.index, access.extent}, false);
  if (added)
    known->second =
        none_outside(p, access, {}, PartialEvaluator(p.pool, std::span(&access.index, 1)));
  return known->second;
}

// Whether no point is out of bounds, one by one. False when data decides or there are too many.
// Conditions that mention more axes than the index make more points: most indices need none.
bool all_tried(BoundsProof& p, const OpenIndex& access, const Way& way) {
  std::vector<ExprId> roots{access.index};
  if (PartialEvaluator(p.pool, roots).reads_data()) return false;
  if (inside_everywhere(p, access)) return true;
  // A point counts against the stage only where the read is evaluated.
  if (!access.where.exact) return all_tried_among(p, access, {{evaluated(p, access.read), true}});
  return all_tried_among(p, access, way);
}

void check(BoundsProof& p, const OpenIndex& access, const Way& way) {
  if (surely(p, access, way) || all_tried(p, access, way)) return;
  if (access.read.valid() && !left_to_the_run(p.graph, std::span(&access.index, 1)))
    fail(p, access, "could not be proved to stay in bounds (no counterexample was found, either)");
}

void check_stage_bounds(BoundsProof& p) {
  for (const OpenIndex& access : accesses(p))
    for (const Way& way : access.where.ways) check(p, access, way);
}

std::vector<OpenIndex> open_accesses(BoundsProof& p) {
  std::vector<OpenIndex> found;
  for (OpenIndex& access : accesses(p)) {
    // A read that neither data nor floats move has been proven; a write may have been too much to
    // prove.
    const bool checked_later = left_to_the_run(p.graph, std::span(&access.index, 1));
    if (access.read.valid() && !checked_later) continue;
    std::erase_if(access.where.ways, [&](const Way& way) {
      return surely(p, access, way) || (access.read.valid() && all_tried(p, access, way));
    });
    if (!access.where.ways.empty()) found.push_back(std::move(access));
  }
  return found;
}

}  // namespace

std::string describe(const Graph& graph, const Stage& stage) {
  std::string text = "stage";
  if (!stage.results.empty() && stage.results[0].value < graph.tensors.size())
    text += " '" + graph.info(stage.results[0]).name + "'";
  if (!stage.lines.empty())
    if (const std::string line = to_string(stage.lines[0]); !line.empty()) text += " from " + line;
  return text;
}

void verify_bounds(const Graph& graph, const Stage& stage) {
  if (std::ranges::any_of(stage.domain.extents, [](int64_t n) { return n == 0; })) return;
  BoundsProof proof(graph, stage);
  check_stage_bounds(proof);
}

bool left_to_the_run(const Graph& graph, std::span<const ExprId> indices) {
  const PartialEvaluator evaluator(graph.pool, indices);
  return evaluator.reads_data() || evaluator.uses_floats();
}

std::vector<OpenIndex> open_indices(const Graph& graph, const Stage& stage) {
  if (std::ranges::any_of(stage.domain.extents, [](int64_t n) { return n == 0; })) return {};
  BoundsProof proof(graph, stage);
  return open_accesses(proof);
}

}  // namespace adjit::graph
