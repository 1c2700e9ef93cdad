// runtime/diff/forward/scatter.cpp -- one function per combiner of a scatter.
#include "runtime/diff/forward/scatter.hpp"

#include <limits>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/product_of_others.hpp"
#include "runtime/diff/rules/reducers.hpp"
#include "runtime/diff/rules/tangents.hpp"

namespace adjit::diff {
namespace {

// A scatter as it stands before its tangent's stages are added, which share its points and the
// elements of its result.
struct PrimalScatter {
  Graph& graph;
  ExprPool& pool;
  const Stage stage;
  const TensorInfo info;  // of the result
  const DType wide;       // the result's accumulator
  const std::vector<ExprId> element;

  PrimalScatter(Graph& of, size_t number)
      : graph(of),
        pool(of.pool),
        stage(of.stages[number]),
        info(of.info(stage.results[0])),
        wide(accumulator_of(info.dtype)),
        element(axes(pool, info.shape.size())) {}
};

// Invalid: zero.
struct ScatterTangents {
  ExprId body;  // of the accumulator dtype
  TensorId initial;
};

ExprId number(const PrimalScatter& scatter, double value) {
  return scatter.pool.constant(value, scatter.wide);
}

ExprId widened(const PrimalScatter& scatter, ExprId value) {
  return scatter.pool.cast(value, scatter.wide);
}

ExprId at_element(const PrimalScatter& scatter, TensorId tensor) {
  return read(scatter.graph, tensor, scatter.element);
}

// The value of a tensor at the element that a point reaches.
ExprId at_target(const PrimalScatter& scatter, TensorId tensor) {
  const Reached reached = reached_element(scatter.graph, scatter.stage);
  return read(scatter.graph, tensor, reached.index, reached.inside);
}

ExprId body_tangent(const PrimalScatter& scatter, const ScatterTangents& tangents) {
  return tangents.body.valid() ? tangents.body : number(scatter, 0);
}

ExprId initial_tangent(const PrimalScatter& scatter, const ScatterTangents& tangents) {
  return tangents.initial.valid() ? widened(scatter, at_element(scatter, tangents.initial))
                                  : number(scatter, 0);
}

// A tensor of the result's shape, one value per element.
TensorId mapped(const PrimalScatter& scatter, std::string_view prefix, ExprId body) {
  Domain box;
  box.extents = scatter.info.shape;
  box.output_rank = scatter.info.shape.size();
  return add_compute(scatter.graph, std::string(prefix) + scatter.info.name, box, Combiner{},
                     {body}, scatter.stage.lines)[0];
}

// A scatter of this dtype to the same elements, from a tensor or from the combiner's identity.
TensorId scattered(const PrimalScatter& scatter, std::string_view prefix, CombinerKind kind,
                   DType dtype, ExprId body, TensorId initial) {
  Stage stage = scatter.stage;
  stage.combiner = Combiner{};
  stage.combiner.kind = kind;
  stage.bodies = {scatter.pool.cast(body, dtype)};
  stage.initial = initial;
  stage.results = {add_tensor(scatter.graph, std::string(prefix) + scatter.info.name, dtype,
                              scatter.info.shape)};
  scatter.graph.stages.push_back(stage);
  return stage.results[0];
}

// The same of a quantity that every point has, and the initial value where there is one.
TensorId scattered_with_initial(const PrimalScatter& scatter, std::string_view prefix,
                                CombinerKind kind, DType dtype, ExprId body, ExprId initial_body) {
  const TensorId initial = scatter.stage.initial.valid()
                               ? mapped(scatter, "initial_", scatter.pool.cast(initial_body, dtype))
                               : TensorId{};
  return scattered(scatter, prefix, kind, dtype, body, initial);
}

// The condition that a point holds the result of the element that it reaches.
ExprId point_wins(const PrimalScatter& scatter) {
  ExprPool& pool = scatter.pool;
  const ExprId inside = reached_element(scatter.graph, scatter.stage).inside;
  return both(
      pool, inside,
      pool.make(Op::Eq, {scatter.stage.bodies[0], at_target(scatter, scatter.stage.results[0])}));
}

// The condition that the initial value of an element is its result.
ExprId initial_wins(const PrimalScatter& scatter) {
  return scatter.pool.make(Op::Eq, {at_element(scatter, scatter.stage.initial),
                                    at_element(scatter, scatter.stage.results[0])});
}

TensorId tangent_of_even_ties(const PrimalScatter& scatter, const ScatterTangents& tangents) {
  ExprPool& pool = scatter.pool;
  const bool starts = scatter.stage.initial.valid();
  const DType dtype = scatter.info.dtype;
  const ExprId won = point_wins(scatter);
  const ExprId kept = starts ? initial_wins(scatter) : ExprId{};
  const auto initial = [&](ExprId value) { return starts ? guard(pool, kept, value) : ExprId{}; };
  const TensorId winners =
      scattered_with_initial(scatter, "winners_", CombinerKind::Sum, dtype,
                             guard(pool, won, number(scatter, 1)), initial(number(scatter, 1)));
  const TensorId total = scattered_with_initial(scatter, "t_sum_", CombinerKind::Sum, dtype,
                                                guard(pool, won, body_tangent(scatter, tangents)),
                                                initial(initial_tangent(scatter, tangents)));
  const ExprId count = widened(scatter, at_element(scatter, winners));
  const ExprId share = pool.div(widened(scatter, at_element(scatter, total)), count);
  const ExprId written = pool.make(Op::Lt, {number(scatter, 0), count});  // else nothing reached it
  return mapped(scatter, "t_", pool.cast(guard(pool, written, share), dtype));
}

TensorId tangent_of_first_ties(const PrimalScatter& scatter, const ScatterTangents& tangents) {
  ExprPool& pool = scatter.pool;
  const Domain& domain = scatter.stage.domain;
  const ExprId won = point_wins(scatter);
  const ExprId point = linear_index(pool, domain, 0, domain.rank());
  const ExprId never = pool.constant_int(std::numeric_limits<int64_t>::max());
  const ExprId from = scatter.stage.initial.valid()
                          ? pool.select(initial_wins(scatter), pool.constant_int(-1), never)
                          : never;
  const TensorId start = mapped(scatter, "initial_", from);
  const TensorId winner = scattered(scatter, "winner_", CombinerKind::Min, DType::Int64,
                                    pool.select(won, point, never), start);
  const ExprId taken = both(pool, won, pool.make(Op::Eq, {at_target(scatter, winner), point}));
  const ExprId kept = pool.make(Op::Eq, {at_element(scatter, winner), pool.constant_int(-1)});
  return scattered_with_initial(scatter, "t_", CombinerKind::Sum, scatter.info.dtype,
                                guard(pool, taken, body_tangent(scatter, tangents)),
                                guard(pool, kept, initial_tangent(scatter, tangents)));
}

TensorId tangent_of_product(const PrimalScatter& scatter, const ScatterTangents& tangents) {
  ExprPool& pool = scatter.pool;
  const DType dtype = scatter.info.dtype;
  const auto wide = [&](ExprId value) { return widened(scatter, value); };
  const FactorParts point = parts_of(pool, wide(scatter.stage.bodies[0]));
  const FactorParts initial = parts_of(pool, scatter.stage.initial.valid()
                                                 ? wide(at_element(scatter, scatter.stage.initial))
                                                 : number(scatter, 1));
  const TensorId p = scattered_with_initial(scatter, "nonzero_", CombinerKind::Product,
                                            DType::Float64, point.nonzero, initial.nonzero);
  const TensorId z = scattered_with_initial(scatter, "zeros_", CombinerKind::Sum, dtype,
                                            point.zeros, initial.zeros);
  const TensorId n = scattered_with_initial(scatter, "infinities_", CombinerKind::Sum, dtype,
                                            point.infinities, initial.infinities);
  const auto there = [&](TensorId tensor) { return at_target(scatter, tensor); };
  const auto here = [&](TensorId tensor) { return at_element(scatter, tensor); };
  const ExprId others = product_of_others(pool, point, {there(p), wide(there(z)), wide(there(n))});
  const ExprId initial_others =
      product_of_others(pool, initial, {here(p), wide(here(z)), wide(here(n))});
  return scattered_with_initial(scatter, "t_", CombinerKind::Sum, dtype,
                                pool.mul(others, body_tangent(scatter, tangents)),
                                pool.mul(initial_others, initial_tangent(scatter, tangents)));
}

// The tensor of the tangent; an invalid id: zero.
TensorId tangent_of_scatter(const PrimalScatter& scatter, const ScatterTangents& tangents) {
  const Combiner& combiner = scatter.stage.combiner;
  switch (combiner.kind) {
    case CombinerKind::Sum:
      if (!tangents.body.valid()) return tangents.initial;
      return scattered(scatter, "t_", combiner.kind, scatter.info.dtype, tangents.body,
                       tangents.initial);
    case CombinerKind::None:
      return scattered(scatter, "t_", combiner.kind, scatter.info.dtype,
                       body_tangent(scatter, tangents), tangents.initial);
    case CombinerKind::Product: return tangent_of_product(scatter, tangents);
    case CombinerKind::Max:
    case CombinerKind::Min:
      return combiner.ties == Ties::Even ? tangent_of_even_ties(scatter, tangents)
                                         : tangent_of_first_ties(scatter, tangents);
    default: return {};  // any, all: bool
  }
}

}  // namespace

void push_scatter(Graph& graph, TangentMap& map, size_t stage) {
  const PrimalScatter scatter(graph, stage);
  const ExprId roots[] = {scatter.stage.bodies[0]};
  const auto leaf = [&](ExprId read) { return tangent_of_read(graph, map, read); };
  ScatterTangents tangents;
  tangents.body = diff::tangents(graph.pool, roots, leaf)[0];
  if (scatter.stage.initial.valid()) tangents.initial = map.of(scatter.stage.initial);
  if (!tangents.body.valid() && !tangents.initial.valid()) return;
  if (const TensorId tangent = tangent_of_scatter(scatter, tangents); tangent.valid())
    map.set(scatter.stage.results[0], tangent);
}

}  // namespace adjit::diff
