// autosched/moves/scatter/gather_reduce.cpp -- a sum over rows that data names, first of rows, then
// along them.
//
//   y[p] = sum over c, k of v[p, k] * w[p, c] * G[i[p] + c, k]
// becomes
//   r[p, k] = sum over c of w[p, c] * G[i[p] + c, k];   y[p] = sum over k of v[p, k] * r[p, k]
#include <algorithm>

#include "autosched/analysis/reads/indexed_vectors.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// The sums over the other axes of bodies that some axes of the sum do not move.
void without_axes(ExprPool& pool, Stage& stage, AxisSet axes, std::vector<ExprId> bodies) {
  std::vector<int64_t> extents;
  std::vector<ExprId> now;
  for (size_t a = 0; a < stage.domain.rank(); ++a) {
    now.push_back(pool.axis((axes & bit(a)) != 0 ? 0 : extents.size()));
    if ((axes & bit(a)) == 0) extents.push_back(stage.domain.extents[a]);
  }
  for (ExprId& body : bodies) body = body_at(pool, body, now, {});
  stage.bodies = std::move(bodies);
  const size_t output_rank = stage.domain.output_rank;
  stage.domain = shape_box(std::move(extents));
  stage.domain.output_rank = output_rank;
}

// The one read of the operand; else says why there is none.
const char* find_read(const Graph& graph, const Stage& stage, TensorId operand, RowSum& sum) {
  const ExprPool& pool = graph.pool;
  for (ExprId read : reads_of(graph, stage)) {
    if (pool.read_tensor(read) != operand) continue;
    if (sum.read.valid() || pool.read_predicate(read).valid())
      return "its operand is read twice, or under a condition";
    sum.read = read;
  }
  return sum.read.valid() ? nullptr : "it does not read the operand";
}

// The factors of the bodies, by whether they are the same along a row; else says why they are not.
const char* take_terms_apart(ExprPool& pool, const Stage& stage, AxisSet in_row, RowSum& sum) {
  std::vector<Product> products;
  for (ExprId body : stage.bodies) {
    Product& product = products.emplace_back(factors_with_signs(pool, body));
    const auto found = std::ranges::find(product.factors, sum.read, &Factor::expr);
    if (pool.dtype(body) != pool.dtype(sum.read) || found == product.factors.end() ||
        found->inverse)
      return "its operand is no factor of the terms by itself";
    product.factors.erase(found);
    for (const Factor& factor : product.factors) {
      if ((factor.axes & sum.corners) == 0) continue;
      if ((factor.axes & in_row) != 0) return "what weighs a row differs along it";
      sum.points |= factor.axes & ~sum.corners;
    }
  }
  // What is the same along a row is taken in before that is multiplied by others.
  for (Product& product : products) {
    RowSum::Term& term = sum.terms.emplace_back();
    term.values.negative = product.negative;
    for (const Factor& factor : product.factors) {
      const bool of_points = (factor.axes & ~(sum.corners | sum.points)) == 0 && !factor.inverse;
      const bool weighs = (factor.axes & sum.corners) != 0 || of_points;
      (weighs ? term.weights : term.values).factors.push_back(factor);
    }
  }
  return nullptr;
}

// The rows to sum.
struct RowStage {
  WeighedRows rows;            // over points and a row's elements, and over the corners
  std::vector<int64_t> shape;  // of their sums
  std::vector<ExprId> here;    // where a point of the whole stage finds these
};

RowStage row_stage(ExprPool& pool, const Domain& whole, const RowSum& sum) {
  const DType dtype = pool.dtype(sum.read);
  std::vector<ExprId> places(pool.read_index(sum.read).begin(), pool.read_index(sum.read).end());
  const ExprId in_row = places.back();
  places.pop_back();
  RowStage made;
  std::vector<ExprId> there(whole.rank(), pool.axis(0));
  std::vector<int64_t>& extents = made.rows.domain.extents;
  for (size_t a : axes_of(sum.points)) {
    if (a == sum.side) made.rows.along = extents.size();
    there[a] = pool.axis(extents.size());
    made.here.push_back(pool.axis(a));
    extents.push_back(whole.extents[a]);
  }
  made.here.push_back(in_row);
  extents.push_back(sum.elements);
  made.rows.domain.output_rank = extents.size();
  made.shape = extents;
  for (size_t a : axes_of(sum.corners)) {
    there[a] = pool.axis(extents.size());
    extents.push_back(whole.extents[a]);
  }
  for (const RowSum::Term& term : sum.terms)
    made.rows.weights.push_back(
        term.weights.factors.empty()
            ? ExprId{}
            : body_at(pool, product_of(pool, term.weights, dtype), there, {}));
  for (ExprId place : places) made.rows.places.push_back(body_at(pool, place, there, {}));
  return made;
}

}  // namespace

RowSum row_sum(LoweredGraph& graph, const Stage& stage, TensorId operand) {
  const auto refuse = [](const char* reason) {
    RowSum refused;
    refused.refusal = reason;
    return refused;
  };
  ExprPool& pool = graph.pool;
  const TensorInfo& info = graph.info(operand);
  if (stage.kind != StageKind::Compute || running_of(graph, stage) || !stage.domain.is_box() ||
      stage.combiner.kind != CombinerKind::Sum || stage.domain.rank() > kMostRowAxes)
    return refuse("only sums over a box have rows of products");
  if (box_is_empty(stage.domain)) return refuse("it has no points");
  if (info.shape.empty() || !is_float(info.dtype) || accumulator_of(info.dtype) != info.dtype)
    return refuse("its operand has no rows as wide as the sums");
  if (!has_short_places(info.shape)) return refuse("its operand has too many rows");
  RowSum sum;
  if (const char* reason = find_read(graph, stage, operand, sum)) return refuse(reason);
  const std::span<const ExprId> index = pool.read_index(sum.read);
  const AxisSet in_row = axes_used(pool, index.back());
  AxisSet named = 0;
  for (ExprId place : index.first(index.size() - 1)) named |= axes_used(pool, place);
  for (size_t a = stage.domain.output_rank; a < stage.domain.rank(); ++a)
    sum.corners |= named & bit(a);
  const std::optional<IndexForm> last = index_form(pool, index.back(), stage.domain);
  const auto range = last ? box_interval(last->domain, last->form) : std::nullopt;
  if (!range || range->lo != 0) return refuse("its rows are not read from their beginning on");
  sum.elements = range->hi + 1;
  if (in_row == 0 || (named & in_row) != 0 || sum.corners == 0)
    return refuse("its rows are not named by other axes of the sum than those along them");
  sum.points = named & ~sum.corners;
  if (const char* reason = take_terms_apart(pool, stage, in_row, sum)) return refuse(reason);
  bool beside = false;
  for (size_t a : axes_of(sum.points))
    if (a < stage.domain.output_rank) {
      sum.side = a;
      beside = true;
    }
  return beside ? sum : refuse("no axis of its results moves its rows");
}

Program gather_reduce(Program program, size_t stage, TensorId operand) {
  const Move move = begin_move("gather_reduce", program, stage);
  LoweredGraph& graph = program.graph;
  ExprPool& pool = graph.pool;
  const Stage whole = graph.stages[stage];  // what is inserted moves the graph's
  move.require(operand.value < graph.tensors.size(), "there is no such operand");
  const TensorInfo info = graph.info(operand);
  const RowSum sum = row_sum(graph, whole, operand);
  if (sum.refusal) move.refuse(sum.refusal);
  move.own_kernel("rows are summed before stages are attached");
  auto [rows, shape, here] = row_stage(pool, whole.domain, sum);
  const std::string name = stage_name(graph, whole);
  compute_ahead(program, stage, name, rows);

  Stage sums;
  sums.domain = rows.domain;
  sums.combiner = whole.combiner;
  sums.lines = whole.lines;
  sums.region = whole.region;
  rows.places.push_back(pool.axis(shape.size() - 1));
  const ExprId row = pool.read(operand, info.dtype, rows.places);
  std::vector<ExprId> bodies;
  for (size_t k = 0; k < sum.terms.size(); ++k) {
    const Product& values = sum.terms[k].values;
    sums.bodies.push_back(rows.weights[k].valid() ? pool.mul(rows.weights[k], row) : row);
    sums.results.push_back(add_tensor(graph, name + "_row", info.dtype, shape));
    const ExprId row_sums = pool.read(sums.results.back(), info.dtype, here);
    bodies.push_back(values.factors.empty() && !values.negative
                         ? row_sums
                         : pool.mul(product_of(pool, values, info.dtype), row_sums));
  }
  without_axes(pool, graph.stages[stage], sum.corners, std::move(bodies));
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(sums));
  Move{move.name, program, stage + 1}.record({{"operand", info.name}});
  return program;
}

}  // namespace adjit::sched
