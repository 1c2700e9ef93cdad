// runtime/trace/lowering_unit.cpp -- one unit of index notation as the parts of one stage.
#include "runtime/trace/lowering_unit.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

#include "runtime/expr/interval.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "runtime/trace/rows.hpp"

namespace adjit::trace {
namespace {

bool is_identity(ExprPool& pool, CombinerKind kind, ExprId expr) {
  const std::optional<double> value = pool.value(expr);
  const std::optional<double> identity = pool.value(identity_of(pool, kind, pool.dtype(expr)));
  return value && identity && *value == *identity;
}

// sum(select(c, a, 0)) is the sum of a where c: peels such selects off the body and returns their
// conditions.
std::vector<ExprId> peel_selects(ExprPool& pool, const Combiner& combiner,
                                 std::vector<ExprId>& bodies) {
  std::vector<ExprId> conditions;
  if (bodies.size() != 1 || combiner.kind == CombinerKind::None) return conditions;
  while (pool.is(bodies[0], Op::Select)) {
    const ExprId test = pool.operand(bodies[0], 0);
    const ExprId a = pool.operand(bodies[0], 1), b = pool.operand(bodies[0], 2);
    if (is_identity(pool, combiner.kind, b)) {
      conditions.push_back(test);
      bodies[0] = a;
    } else if (is_identity(pool, combiner.kind, a)) {
      conditions.push_back(pool.make(Op::Not, {test}));
      bodies[0] = b;
    } else {
      break;
    }
  }
  return conditions;
}

// Whether an expression can be written over these axes now: its reductions, if any, are lifted.
bool expressible(Lowering& whole, ExprId expr, const Axes& axes) {
  if (!subset(whole.free.of(expr), axes)) return false;
  for (ExprId id : reachable(whole.n.pool, std::span(&expr, 1))) {
    const std::optional<Placeholder> r = placeholder_of(whole.n, id);
    if (r && !whole.lifted.contains(r->reduction)) return false;
  }
  return true;
}

// Turns one unit into the parts of a stage: axes get positions, conditions become rows, then bodies
// are rebuilt in the trace's pool.
class UnitLowering {
 public:
  UnitLowering(Lowering& whole, LoweringUnit unit)
      : whole_(whole),
        notation_(whole.n),
        source_(whole.n.pool),
        target_(whole.n.trace.pool()),
        unit_(std::move(unit)),
        rebuild_(source_, target_,
                 [this](ExprId leaf, std::span<const ExprId> operands) {
                   return lower_leaf(leaf, operands, unit_.condition);
                 }),
        rebuild_guard_(source_, target_, [this](ExprId leaf, std::span<const ExprId> operands) {
          return lower_leaf(leaf, operands, {});
        }) {
    add_axes(unit_.outer);
    add_axes(unit_.inner);  // an axis that is reduced hides the output axis of the same name
    stage_.domain.output_rank = unit_.outer.size();
  }

  LoweredUnit operator()() {
    const std::vector<ExprId> selecting = add_rows();
    for (ExprId target : unit_.target) stage_.target.push_back(rebuild_(target));
    stage_.combiner.kind = unit_.combiner.kind;
    stage_.combiner.ties = unit_.combiner.ties;
    for (ExprId e : unit_.combiner.combine) stage_.combiner.combine.push_back(rebuild_(e));
    for (ExprId e : unit_.combiner.identity) stage_.combiner.identity.push_back(rebuild_(e));
    add_bodies(selecting);
    return std::move(stage_);
  }

 private:
  void add_axes(const Axes& axes) {
    for (uint32_t a : axes) {
      position_[a] = stage_.domain.extents.size();
      stage_.domain.extents.push_back(notation_.axes[a].hi - notation_.axes[a].lo);
      axes_.push_back(a);
    }
  }

  // Affine conditions become rows; returns the factors that can only select.
  std::vector<ExprId> add_rows() {
    std::vector<ExprId> excluding = peel_selects(source_, unit_.combiner, unit_.bodies);
    if (unit_.where.valid()) excluding.insert(excluding.begin(), unit_.where);
    std::vector<ExprId> selecting;
    for (ExprId condition : excluding)
      for (ExprId factor : normalized_conjuncts(source_, condition))
        if (!add_row_of(factor)) selecting.push_back(factor);
    for (ExprId factor : unit_.condition)
      add_row_of(factor);  // its axes are the unit's: see lift()
    return selecting;
  }

  // Only what may be affine is lowered here: reads wait until all rows are known.
  bool add_row_of(ExprId factor) {
    for (ExprId node : reachable(source_, std::span(&factor, 1)))
      if (source_.is(node, Op::Read) || placeholder_of(notation_, node)) return false;
    if (!add_row(target_, rebuild_(factor), stage_.domain)) return false;
    rows_.push_back(factor);
    return true;
  }

  void add_bodies(const std::vector<ExprId>& selecting) {
    const CombinerKind kind = unit_.combiner.kind;
    if (!selecting.empty() && !unit_.target.empty() && kind == CombinerKind::None)
      fail(notation_.trace, ErrorCode::Invalid,
           "where= of a scatter that sets must be affine in its axes; a write cannot "
           "be masked by data");
    ExprId selected = target_.constant_int(1, DType::Bool);
    for (ExprId factor : selecting) selected = target_.logical_and(selected, rebuild_(factor));
    for (size_t k = 0; k < unit_.bodies.size(); ++k) {
      const ExprId body = rebuild_(unit_.bodies[k]);
      const ExprId identity = kind == CombinerKind::Custom
                                  ? stage_.combiner.identity[k]
                                  : identity_of(target_, kind, target_.dtype(body));
      stage_.bodies.push_back(target_.select(selected, body, identity));
    }
  }

  // `condition` holds wherever the leaf is needed, beside its own path condition.
  ExprId lower_leaf(ExprId leaf, std::span<const ExprId> operands, const PathCondition& condition) {
    if (source_.is(leaf, Op::Axis)) return axis(static_cast<uint32_t>(source_.axis_number(leaf)));
    if (source_.is(leaf, Op::Read)) return lower_read(leaf, operands, condition);
    const std::optional<Placeholder> reduced = placeholder_of(notation_, leaf);
    if (!reduced) return {};
    const LiftedReduction& lifted = whole_.lifted.at(reduced->reduction);
    const TensorId tensor = lifted.results[reduced->component];
    std::vector<ExprId> index;
    for (uint32_t a : lifted.axes) index.push_back(axis(a));
    return target_.read(tensor, dtype_of(notation_.trace, tensor), index);
  }

  // A read that its index alone does not keep in bounds carries the conditions under which it is
  // needed, but for those that are rows of the domain already. What these read themselves is needed
  // where they are asked, which is more than where they hold; a condition that asks for the read
  // itself guards nothing: select(x[p[i]] > 0, sum(x[p[i]] * y[r]), 0).
  ExprId lower_read(ExprId read, std::span<const ExprId> operands, const PathCondition& condition) {
    const bool guarded = source_.read_predicate(read).valid();
    const std::vector<ExprId> index(operands.begin(), operands.end() - (guarded ? 1 : 0));
    ExprId predicate = guarded ? operands.back() : ExprId{};
    if (whole_.conditions.reached(read) && !stays_in_bounds(read, index)) {
      lowering_.push_back(read);
      for (ExprId factor : both(whole_.conditions.of(read), condition)) {
        if (std::ranges::find(rows_, factor) != rows_.end() ||
            !expressible(whole_, factor, axes_) || asks_for_what_is_lowered(factor))
          continue;
        const ExprId lowered = rebuild_guard_(factor);
        predicate = predicate.valid() ? target_.logical_and(predicate, lowered) : lowered;
      }
      lowering_.pop_back();
    }
    return target_.read(source_.read_tensor(read), source_.dtype(read), index, predicate);
  }

  bool asks_for_what_is_lowered(ExprId factor) const {
    return std::ranges::any_of(reachable(source_, std::span(&factor, 1)), [&](ExprId node) {
      return std::ranges::find(lowering_, node) != lowering_.end();
    });
  }

  bool stays_in_bounds(ExprId read, std::span<const ExprId> index) const {
    const std::vector<int64_t>& shape = shape_of(notation_.trace, source_.read_tensor(read));
    for (size_t d = 0; d < index.size(); ++d) {
      const std::optional<ValueRange> range = interval_of(target_, index[d], stage_.domain.extents);
      if (!range || range->lo < 0 || range->hi >= shape[d]) return false;
    }
    return true;
  }

  ExprId axis(uint32_t notation_axis) { return target_.axis(position_.at(notation_axis)); }

  Lowering& whole_;
  IndexNotation& notation_;
  ExprPool& source_;
  ExprPool& target_;
  LoweringUnit unit_;
  LoweredUnit stage_;
  Axes axes_;
  std::unordered_map<uint32_t, size_t> position_;
  std::vector<ExprId> rows_;      // factors of the source pool that the domain ensures
  std::vector<ExprId> lowering_;  // reads whose conditions are being lowered, outermost first
  Rebuilder rebuild_, rebuild_guard_;
};

}  // namespace

Lowering::Lowering(IndexNotation& notation, std::string results, Axes output_axes)
    : n(notation),
      name(std::move(results)),
      outputs(std::move(output_axes)),
      free(notation),
      conditions(notation.pool, [this](ExprId leaf) {
        std::vector<PathConditions::Inner> inner;
        const std::optional<Placeholder> r = placeholder_of(n, leaf);
        if (!r) return inner;
        const Reduction& reduction = n.reductions[r->reduction];
        // Conditions from outside that name the reduced axes mean other axes of the same name.
        const auto outside = [this, &reduction](const PathCondition& condition) {
          PathCondition kept;
          for (ExprId factor : condition)
            if (disjoint(free.of(factor), reduction.axes)) kept.push_back(factor);
          return kept;
        };
        const auto inside = [this, &reduction, outside](const PathCondition& condition) {
          PathCondition factors = reduction.where.valid()
                                      ? normalized_conjuncts(n.pool, reduction.where)
                                      : PathCondition{};
          std::ranges::sort(factors);
          return both(outside(condition), factors);
        };
        for (ExprId body : reduction.bodies) inner.push_back({body, inside});
        if (reduction.where.valid()) inner.push_back({reduction.where, outside});
        return inner;
      }) {}

LoweredUnit lower(Lowering& whole, LoweringUnit unit) {
  return UnitLowering(whole, std::move(unit))();
}

void verify_alone(const Lowering& whole, const LoweredUnit& stage) {
  const Trace& trace = whole.n.trace;
  const Graph& graph = trace.graph();
  Graph alone;
  alone.name = whole.name;
  std::unordered_map<uint32_t, TensorId> renamed;
  Rebuilder rebuild(graph.pool, alone.pool, [&](ExprId leaf, std::span<const ExprId> operands) {
    if (!graph.pool.is(leaf, Op::Read)) return ExprId{};
    const TensorId tensor = graph.pool.read_tensor(leaf);
    const TensorInfo& info = graph.info(tensor);
    if (!renamed.contains(tensor.value))
      renamed.emplace(tensor.value, add_input(alone, info.name, info.dtype, info.shape));
    const bool guarded = graph.pool.read_predicate(leaf).valid();
    return alone.pool.read(renamed.at(tensor.value), info.dtype,
                           operands.first(operands.size() - (guarded ? 1 : 0)),
                           guarded ? operands.back() : ExprId{});
  });
  Combiner combiner = stage.combiner;
  for (auto* list : {&combiner.combine, &combiner.identity})
    for (ExprId& id : *list) id = rebuild(id);
  std::vector<ExprId> bodies;
  for (ExprId id : stage.bodies) bodies.push_back(rebuild(id));
  std::vector<SourceLine> lines{trace.source()};
  try {
    alone.outputs = add_compute(alone, whole.name, stage.domain, std::move(combiner),
                                std::move(bodies), std::move(lines));
  } catch (const Error& e) {  // the graph knows no source lines
    fail(trace, e.code(), e.what());
  }
  verify(alone);
}

}  // namespace adjit::trace
