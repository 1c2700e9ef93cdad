// runtime/diff/rules/reducers.cpp -- seeds of stage bodies, one function per combiner.
#include "runtime/diff/rules/reducers.hpp"

#include <algorithm>

#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/product_of_others.hpp"

namespace adjit::diff {

void not_differentiable(const Stage& stage, const std::string& what, const std::string& remedy) {
  std::string where = stage.lines.empty() ? "" : to_string(stage.lines[0]);
  if (!where.empty()) where += ": ";
  throw Error(ErrorCode::NotDifferentiable, where + what + "; " + remedy);
}

namespace {

Domain output_box(const Domain& domain) {
  Domain box;
  box.extents.assign(domain.extents.begin(),
                     domain.extents.begin() + static_cast<long>(domain.output_rank));
  box.output_rank = domain.output_rank;
  return box;
}

Combiner combiner_of(CombinerKind kind) {
  Combiner combiner;
  combiner.kind = kind;
  return combiner;
}

/// Whether an unselected zero cotangent could turn into NaN in this body: it divides, or takes
/// logarithms, roots, powers.
bool may_blow_up(const ExprPool& pool, ExprId root) {
  const ExprId roots[] = {root};
  return std::ranges::any_of(reachable(pool, roots), [&](ExprId id) {
    switch (pool[id].op) {
      case Op::Div: return !pool.value(pool.operand(id, 1)).has_value();
      case Op::Exp:
      case Op::Exp2:
      case Op::Expm1:
      case Op::Log:
      case Op::Log2:
      case Op::Log10:
      case Op::Log1p:
      case Op::Sqrt:
      case Op::Rsqrt:
      case Op::Tan:
      case Op::Asin:
      case Op::Acos:
      case Op::Sinh:
      case Op::Cosh:
      case Op::Acosh:
      case Op::Atanh:
      case Op::Erfinv:
      case Op::Lgamma:
      case Op::Digamma:
      case Op::Pow:
      case Op::Polygamma:
      case Op::Atan2:
      case Op::Hypot: return true;
      default: return false;
    }
  });
}

bool multiplies(const ExprPool& pool, ExprId root) {
  const ExprId roots[] = {root};
  return std::ranges::any_of(reachable(pool, roots), [&](ExprId id) {
    return (pool.is(id, Op::Mul) || pool.is(id, Op::Fma)) && is_float(pool.dtype(id));
  });
}

// The number of a reduction point, row-major over the reduction axes.
ExprId point_number(ExprPool& pool, const Domain& domain, DType dtype) {
  return pool.cast(linear_index(pool, domain, domain.output_rank, domain.reduction_rank()), dtype);
}

// Of the numbers of all points: as wide as a float32 where they fit.
DType number_dtype(const Domain& domain) {
  int64_t points = 1;
  for (size_t a = domain.output_rank; a < domain.rank(); ++a)
    points = checked_mul(points, std::max<int64_t>(domain.extents[a], 1));
  return points <= INT32_MAX ? DType::Int32 : DType::Int64;
}

class Seeder {
 public:
  Seeder(Graph& graph, size_t stage, std::span<const Cotangent> cotangents)
      : graph_(graph),
        pool_(graph.pool),
        index_(stage),
        stage_(graph.stages[stage]),
        cotangents_(cotangents),
        out_axes_(axes(graph.pool, stage_.domain.output_rank)) {
    result_.domain = stage_.domain;
  }

  StageSeeds operator()() {
    if (stage_.kind == StageKind::Scatter) {
      scatter();
      return std::move(result_);
    }
    switch (stage_.combiner.kind) {
      case CombinerKind::None:
      case CombinerKind::Sum: sum(); break;
      case CombinerKind::Product: product(); break;
      case CombinerKind::Max:
      case CombinerKind::Min:
        if (stage_.combiner.ties == Ties::First) {
          first_winner();
        } else {
          even_winners();
        }
        break;
      case CombinerKind::ArgMax:
      case CombinerKind::ArgMin: first_winner(); break;
      case CombinerKind::Any:
      case CombinerKind::All: break;
      case CombinerKind::Custom:
        invariant(false, "a custom reduction is a tree of stages before it is differentiated");
        break;
    }
    return std::move(result_);
  }

 private:
  ExprId cotangent_at(size_t k, std::span<const ExprId> index) {
    return read_cotangent(graph_, cotangents_[k], index);
  }

  ExprId result_at(size_t k) { return read(graph_, stage_.results[k], out_axes_); }

  // The part of a result's support that its seed must carry: affine parts restrict the domain of a
  // stage with one live result; the rest is kept only where zero times a partial may be NaN, or
  // costs nothing (no reduction).
  ExprId carried_support(size_t k) {
    ExprId support = cotangents_[k].support;
    if (!support.valid()) return support;
    const auto live =
        std::ranges::count_if(cotangents_, [](const Cotangent& c) { return !c.zero(); });
    if (live == 1) {
      const Restriction r = restrict_by(pool_, support, result_.domain);
      if (r.empty) return pool_.constant_int(0, DType::Bool);
      support = r.rest;
    }
    const ExprId body = stage_.bodies[k];
    const bool elementwise = stage_.domain.reduction_rank() == 0;
    return may_blow_up(pool_, body) || (elementwise && multiplies(pool_, body)) ? support
                                                                                : ExprId{};
  }

  void seed(size_t k, ExprId cotangent, ExprId condition, ExprId value = {}) {
    result_.seeds.push_back({stage_.bodies[k], cotangent, condition, value});
  }

  void sum() {
    const bool none = stage_.combiner.kind == CombinerKind::None;
    for (size_t k = 0; k < stage_.bodies.size(); ++k)
      if (!cotangents_[k].zero())
        seed(k, cotangent_at(k, out_axes_), carried_support(k), none ? result_at(k) : ExprId{});
  }

  void first_winner() {
    if (cotangents_[0].zero()) return;
    take_winner(0, winning_point(graph_, index_));
  }

  void take_winner(size_t k, TensorId winner) {
    const ExprId number = point_number(pool_, stage_.domain, graph_.info(winner).dtype);
    const ExprId won = pool_.make(Op::Eq, {read(graph_, winner, out_axes_), number});
    seed(k, cotangent_at(k, out_axes_), both(pool_, carried_support(k), won));
  }

  void even_winners() {
    for (size_t k = 0; k < stage_.bodies.size(); ++k) {
      if (cotangents_[k].zero()) continue;
      const std::string name = graph_.info(stage_.results[k]).name;
      const ExprId won = pool_.make(Op::Eq, {stage_.bodies[k], result_at(k)});
      const DType wide = accumulator_of(pool_.dtype(stage_.bodies[k]));
      const TensorId winners =
          add_compute(graph_, name + "_winners", stage_.domain, combiner_of(CombinerKind::Sum),
                      {pool_.cast(won, wide)}, stage_.lines)[0];
      const ExprId share = pool_.div(cotangent_at(k, out_axes_), read(graph_, winners, out_axes_));
      const TensorId shares =
          add_compute(graph_, name + "_share", output_box(stage_.domain),
                      combiner_of(CombinerKind::None), {share}, stage_.lines)[0];
      seed(k, read(graph_, shares, out_axes_), both(pool_, carried_support(k), won));
    }
  }

  void product() {
    for (size_t k = 0; k < stage_.bodies.size(); ++k) {
      if (cotangents_[k].zero()) continue;
      const DType wide = accumulator_of(pool_.dtype(stage_.bodies[k]));
      const ExprId factor = pool_.cast(stage_.bodies[k], wide);
      const FactorParts parts = parts_of(pool_, factor);
      const FactorParts all{reduced(k, "_nonzero", CombinerKind::Product, parts.nonzero),
                            reduced(k, "_zeros", CombinerKind::Sum, parts.zeros),
                            reduced(k, "_infinities", CombinerKind::Sum, parts.infinities)};
      const ExprId others = product_of_others(pool_, parts, all);
      seed(k, pool_.mul(cotangent_at(k, out_axes_), others), carried_support(k));
    }
  }

  ExprId reduced(size_t k, std::string_view suffix, CombinerKind kind, ExprId body) {
    const std::string name = graph_.info(stage_.results[k]).name + std::string(suffix);
    const TensorId tensor =
        add_compute(graph_, name, stage_.domain, combiner_of(kind), {body}, stage_.lines)[0];
    return read(graph_, tensor, out_axes_);
  }

  void scatter() {
    if (cotangents_[0].zero()) return;
    if (stage_.combiner.kind != CombinerKind::Sum && stage_.combiner.kind != CombinerKind::None)
      not_differentiable(stage_,
                         "a scatter that combines by " +
                             std::string(name_of(stage_.combiner.kind)) + " has no derivative",
                         "scatter by sum or by assignment, or reduce with a guard over all points");
    const auto [index, inside] = reached_element(graph_, stage_);
    ExprId taken = inside;
    if (stage_.combiner.kind == CombinerKind::None) {
      const ExprId last =
          graph_.pool.read(last_writer(graph_, stage_), DType::Int64, index, inside);
      const ExprId number = linear_index(pool_, stage_.domain, 0, stage_.domain.rank());
      taken = both(pool_, taken, pool_.make(Op::Eq, {last, number}));
    }
    seed(0, read_cotangent(graph_, cotangents_[0], index, inside), taken);
  }

  Graph& graph_;
  ExprPool& pool_;
  size_t index_;
  Stage stage_;  // a copy: stages are added while it is read
  std::span<const Cotangent> cotangents_;
  std::vector<ExprId> out_axes_;
  StageSeeds result_;
};

}  // namespace

TensorId winning_point(Graph& graph, size_t index) {
  const Stage stage = graph.stages[index];  // a copy: stages are added
  const Domain& domain = stage.domain;
  const std::string name = graph.info(stage.results[0]).name + "_winner";
  const bool numbered =
      stage.combiner.kind == CombinerKind::ArgMax || stage.combiner.kind == CombinerKind::ArgMin;
  if (numbered) {
    if (stage.bodies[1] == point_number(graph.pool, domain, graph.pool.dtype(stage.bodies[1])))
      return stage.results[1];
    // The payload does not name the point: find the winner's number apart.
    const ExprId number = point_number(graph.pool, domain, number_dtype(domain));
    return add_compute(graph, name, domain, stage.combiner, {stage.bodies[0], number},
                       stage.lines)[1];
  }
  if (stage.bodies.size() != 1)
    not_differentiable(stage, "a max or min of tuples has no derivative",
                       "reduce one value at a time");
  const bool max = stage.combiner.kind == CombinerKind::Max;
  const DType dtype = number_dtype(domain);
  const TensorId winner = add_tensor(graph, name, dtype, graph.info(stage.results[0]).shape);
  Stage& forward = graph.stages[index];
  forward.combiner.kind = max ? CombinerKind::ArgMax : CombinerKind::ArgMin;
  forward.bodies.push_back(point_number(graph.pool, domain, dtype));
  forward.results.push_back(winner);
  return winner;
}

TensorId last_writer(Graph& graph, const Stage& stage) {
  const TensorInfo info = graph.info(stage.results[0]);
  Domain box;
  box.extents = info.shape;
  box.output_rank = info.shape.size();
  Stage scatter = stage;  // `stage` may be one of the graph's, which move when one is added
  scatter.initial = add_compute(graph, info.name + "_unwritten", box, Combiner{},
                                {graph.pool.constant_int(-1)}, scatter.lines)[0];
  scatter.bodies = {linear_index(graph.pool, scatter.domain, 0, scatter.domain.rank())};
  scatter.results = {add_tensor(graph, info.name + "_writer", DType::Int64, info.shape)};
  graph.stages.push_back(scatter);
  return scatter.results[0];
}

Reached reached_element(Graph& graph, const Stage& scatter) {
  ExprPool& pool = graph.pool;
  const std::vector<int64_t>& shape = graph.info(scatter.results[0]).shape;
  Reached reached;
  for (size_t d = 0; d < shape.size(); ++d) {
    const ExprId zero = pool.constant_int(0), extent = pool.constant_int(shape[d]);
    const ExprId last = pool.constant_int(shape[d] - 1);
    ExprId at = scatter.target[d];
    // Nothing is written where there is no element, whatever would bring an index into range.
    if (shape[d] == 0) reached.inside = pool.constant_int(0, DType::Bool);
    switch (scatter.out_of_range) {
      case OutOfRange::Error: break;
      case OutOfRange::Drop:
        reached.inside = both(pool, reached.inside, pool.make(Op::Le, {zero, at}));
        reached.inside = both(pool, reached.inside, pool.make(Op::Lt, {at, extent}));
        break;
      case OutOfRange::Clip: at = pool.make(Op::Max, {pool.make(Op::Min, {at, last}), zero}); break;
      case OutOfRange::Wrap: at = pool.make(Op::Mod, {at, extent}); break;
    }
    reached.index.push_back(at);
  }
  return reached;
}

StageSeeds seed_bodies(Graph& graph, size_t stage, std::span<const Cotangent> cotangents) {
  return Seeder(graph, stage, cotangents)();
}

}  // namespace adjit::diff
