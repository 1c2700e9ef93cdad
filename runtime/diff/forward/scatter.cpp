// runtime/diff/forward/scatter.cpp -- one function per combiner of a scatter.
#include "runtime/diff/forward/scatter.hpp"

#include <limits>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/rules/product_of_others.hpp"
#include "runtime/diff/rules/reducers.hpp"
#include "runtime/diff/rules/tangents.hpp"

namespace adjit::diff {
namespace {

class ScatterTangent {
 public:
  ScatterTangent(Graph& graph, TangentMap& map, size_t stage)
      : graph_(graph),
        pool_(graph.pool),
        map_(map),
        stage_(graph.stages[stage]),
        info_(graph.info(stage_.results[0])),
        wide_(accumulator_of(info_.dtype)),
        out_axes_(axes(pool_, info_.shape.size())) {}

  void operator()() {
    const ExprId roots[] = {stage_.bodies[0]};
    body_ = tangents(pool_, roots, [&](ExprId r) { return tangent_of_read(graph_, map_, r); })[0];
    initial_ = stage_.initial.valid() ? map_.of(stage_.initial) : TensorId{};
    if (!body_.valid() && !initial_.valid()) return;
    switch (stage_.combiner.kind) {
      case CombinerKind::Sum: return sum();
      case CombinerKind::None:
        return finish(scattered("t_", CombinerKind::None, tangent(), initial_));
      case CombinerKind::Product: return product();
      case CombinerKind::Max:
      case CombinerKind::Min: return stage_.combiner.ties == Ties::Even ? even() : first();
      default: return;  // any, all: bool
    }
  }

 private:
  ExprId number(double value) { return pool_.constant(value, wide_); }
  ExprId wide(ExprId value) { return pool_.cast(value, wide_); }
  ExprId tangent() { return body_.valid() ? body_ : number(0); }
  ExprId initial_tangent() {
    return initial_.valid() ? wide(read(graph_, initial_, out_axes_)) : number(0);
  }
  ExprId initial_value() { return wide(read(graph_, stage_.initial, out_axes_)); }
  ExprId result() { return read(graph_, stage_.results[0], out_axes_); }

  void finish(TensorId tangent) { map_.set(stage_.results[0], tangent); }

  // A tensor of the result's shape, one element per point of out_axes_.
  TensorId mapped(std::string_view prefix, ExprId body) {
    Domain box;
    box.extents = info_.shape;
    box.output_rank = info_.shape.size();
    return add_compute(graph_, std::string(prefix) + info_.name, box, Combiner{}, {body},
                       stage_.lines)[0];
  }

  // A scatter to the same elements.
  TensorId scattered(std::string_view prefix, CombinerKind kind, ExprId body, TensorId initial) {
    return scattered(prefix, kind, body, initial,
                     initial.valid() ? graph_.info(initial).dtype : info_.dtype);
  }
  TensorId scattered(std::string_view prefix, CombinerKind kind, ExprId body, TensorId initial,
                     DType dtype) {
    Stage stage = stage_;
    stage.combiner = Combiner{};
    stage.combiner.kind = kind;
    stage.bodies = {pool_.cast(body, dtype)};
    stage.initial = initial;
    stage.results = {add_tensor(graph_, std::string(prefix) + info_.name, dtype, info_.shape)};
    graph_.stages.push_back(stage);
    return stage.results[0];
  }

  // Both parts of a quantity that every point and the initial value have.
  TensorId scattered_from(std::string_view prefix, CombinerKind kind, ExprId body,
                          ExprId initial_body) {
    return scattered_from(prefix, kind, body, initial_body, info_.dtype);
  }
  TensorId scattered_from(std::string_view prefix, CombinerKind kind, ExprId body,
                          ExprId initial_body, DType dtype) {
    const TensorId initial =
        stage_.initial.valid() ? mapped("initial_", pool_.cast(initial_body, dtype)) : TensorId{};
    return scattered(prefix, kind, body, initial, dtype);
  }

  void sum() {
    finish(body_.valid() ? scattered("t_", CombinerKind::Sum, body_, initial_) : initial_);
  }

  // The value of a tensor at the element that a point reaches.
  ExprId at_target(TensorId tensor) {
    const Reached reached = reached_element(graph_, stage_);
    return read(graph_, tensor, reached.index, reached.inside);
  }

  // The condition that a point, or the initial value, holds the result.
  ExprId point_wins() {
    const ExprId inside = reached_element(graph_, stage_).inside;
    return both(pool_, inside,
                pool_.make(Op::Eq, {stage_.bodies[0], at_target(stage_.results[0])}));
  }
  ExprId initial_wins() {
    return pool_.make(Op::Eq, {read(graph_, stage_.initial, out_axes_), result()});
  }

  void even() {
    const ExprId won = point_wins();
    const ExprId kept = stage_.initial.valid() ? initial_wins() : ExprId{};
    const auto initial = [&](ExprId value) {
      return stage_.initial.valid() ? guard(pool_, kept, value) : ExprId{};
    };
    const TensorId winners = scattered_from("winners_", CombinerKind::Sum,
                                            guard(pool_, won, number(1)), initial(number(1)));
    const TensorId total = scattered_from("t_sum_", CombinerKind::Sum, guard(pool_, won, tangent()),
                                          initial(initial_tangent()));
    const ExprId count = wide(read(graph_, winners, out_axes_));
    const ExprId share = pool_.div(wide(read(graph_, total, out_axes_)), count);
    const ExprId written = pool_.make(Op::Lt, {number(0), count});  // else nothing reached it
    finish(mapped("t_", pool_.cast(guard(pool_, written, share), info_.dtype)));
  }

  void first() {
    const ExprId won = point_wins();
    const ExprId point = linear_index(pool_, stage_.domain, 0, stage_.domain.rank());
    const ExprId never = pool_.constant_int(std::numeric_limits<int64_t>::max());
    const ExprId from = stage_.initial.valid()
                            ? pool_.select(initial_wins(), pool_.constant_int(-1), never)
                            : never;
    const TensorId winner = scattered("winner_", CombinerKind::Min, pool_.select(won, point, never),
                                      mapped("initial_", from));
    const ExprId taken = both(pool_, won, pool_.make(Op::Eq, {at_target(winner), point}));
    const ExprId kept =
        pool_.make(Op::Eq, {read(graph_, winner, out_axes_), pool_.constant_int(-1)});
    finish(scattered_from("t_", CombinerKind::Sum, guard(pool_, taken, tangent()),
                          guard(pool_, kept, initial_tangent())));
  }

  void product() {
    const FactorParts point = parts_of(pool_, wide(stage_.bodies[0]));
    const FactorParts initial =
        parts_of(pool_, stage_.initial.valid() ? initial_value() : number(1));
    const TensorId p = scattered_from("nonzero_", CombinerKind::Product, point.nonzero,
                                      initial.nonzero, DType::Float64);
    const TensorId z = scattered_from("zeros_", CombinerKind::Sum, point.zeros, initial.zeros);
    const TensorId n =
        scattered_from("infinities_", CombinerKind::Sum, point.infinities, initial.infinities);
    const ExprId others =
        product_of_others(pool_, point, {at_target(p), wide(at_target(z)), wide(at_target(n))});
    const auto here = [&](TensorId tensor) { return read(graph_, tensor, out_axes_); };
    const ExprId initial_others =
        product_of_others(pool_, initial, {here(p), wide(here(z)), wide(here(n))});
    finish(scattered_from("t_", CombinerKind::Sum, pool_.mul(others, tangent()),
                          pool_.mul(initial_others, initial_tangent())));
  }

  Graph& graph_;
  ExprPool& pool_;
  TangentMap& map_;
  const Stage stage_;  // copies: stages and tensors are added
  const TensorInfo info_;
  const DType wide_;
  const std::vector<ExprId> out_axes_;
  ExprId body_;  // the tangent of the body; invalid: zero
  TensorId initial_;
};

}  // namespace

void push_scatter(Graph& graph, TangentMap& map, size_t stage) {
  ScatterTangent(graph, map, stage)();
}

}  // namespace adjit::diff
