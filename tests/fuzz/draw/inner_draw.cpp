// tests/fuzz/draw/inner_draw.cpp -- programs inside programs.
#include "tests/fuzz/draw/inner_draw.hpp"

#include <algorithm>

#include "runtime/diff/batch/batch.hpp"
#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/lowering.hpp"
#include "runtime/trace/ops/operator_table.hpp"
#include "runtime/trace/splice.hpp"
#include "tests/fuzz/draw/notation_draw.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

WideArray first_slice(const WideArray& array, size_t axis) {
  WideArray slice{array.dtype, array.shape, {}};
  slice.shape.erase(slice.shape.begin() + static_cast<std::ptrdiff_t>(axis));
  size_t inner = 1, outer = 1;
  for (size_t d = 0; d < array.shape.size(); ++d)
    (d < axis   ? outer
     : d > axis ? inner
                : outer) *= d == axis ? 1 : static_cast<size_t>(array.shape[d]);
  const size_t extent = static_cast<size_t>(array.shape[axis]);
  for (size_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < inner; ++i)
      slice.values.push_back(extent > 0 ? array.values[o * extent * inner + i] : Wide{});
  return slice;
}

std::vector<size_t> float_positions(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<size_t> positions;
  for (size_t k = 0; k < tensors.size(); ++k)
    if (is_float(graph.info(tensors[k]).dtype)) positions.push_back(k);
  return positions;
}

}  // namespace

std::vector<TensorId> InnerDraw::operands(size_t count) {
  std::vector<TensorId> chosen;
  for (size_t k = 0; k < count; ++k) {
    const TensorId id = scope_.pick([&](TensorId t) { return scope_.shape(t).size() <= 3; });
    if (id.valid() && std::ranges::find(chosen, id) == chosen.end()) chosen.push_back(id);
  }
  for (TensorId id : chosen) scope_.note_use(id);
  return chosen;
}

std::vector<WideArray> InnerDraw::values_of(const std::vector<TensorId>& tensors) const {
  std::vector<WideArray> values;
  for (TensorId id : tensors) values.push_back(scope_.value(id));
  return values;
}

InnerDraw::Body InnerDraw::body(const std::vector<WideArray>& inputs,
                                const std::vector<std::vector<int64_t>>& like, size_t others) {
  Scope inner(random_, std::min<int64_t>(scope_.points_left() / 4, scope_.kinds().room(3000)),
              scope_.kinds());
  for (const WideArray& value : inputs) inner.input(value);
  draw_operations(inner, static_cast<int>(random_.between(2, 6)), depth_ + 1, false);
  std::vector<TensorId> results;
  for (const std::vector<int64_t>& shape : like) {
    if (!NotationDraw(inner).adapted(scope_.real(), shape, -1.5, 1.5, true)) return {};
    results.push_back(inner.last()[0]);
  }
  for (size_t k = 0; k < others; ++k) {
    const TensorId id = inner.pick([](TensorId) { return true; });
    if (id.valid()) results.push_back(id);
    if (id.valid()) inner.note_use(id);
  }
  if (results.empty()) return {};
  return {inner.trace().finish(results), true};
}

bool InnerDraw::scan() {
  const auto trips =
      std::max<int64_t>(draw_extent(random_, scope_.kinds()) % 9, random_.chance(10) ? 0 : 1);
  const TensorId carried = scope_.pick(
      [&](TensorId t) { return scope_.dtype(t) == scope_.real() && scope_.shape(t).size() <= 2; });
  if (!carried.valid()) return false;
  Scan scan;
  scan.trips = trips;
  scan.reverse = random_.chance(30);
  if (trips > 3 && random_.chance(25)) scan.segment = random_.between(2, 3);
  std::vector<TensorId> operands{carried};
  std::vector<WideArray> inside{scope_.value(carried)};
  // A counter beside it, with which the step may index.
  const bool counts = random_.chance(60);
  if (counts) {
    const bool made = scope_.add([&] {
      IndexNotation n(scope_.trace());
      return std::vector<TensorId>{compute(n, "n", {}, literal(n, WeakScalar::of(int64_t{0})))};
    });
    if (!made) return false;
    operands.push_back(scope_.last()[0]);
    inside.push_back(scope_.value(operands.back()));
  }
  scan.carries = operands.size();
  std::vector<int64_t> shape = draw_shape(random_, random_.between(0, 2), scope_.kinds());
  shape.insert(shape.begin(), trips);
  if (random_.chance(70) && NotationDraw(scope_).adapted(scope_.real(), shape, -2, 2, false)) {
    operands.push_back(scope_.last()[0]);
    inside.push_back(first_slice(scope_.value(operands.back()), 0));
    scan.scanned = 1;
  }
  for (TensorId id : this->operands(static_cast<size_t>(random_.between(0, 2)))) {
    operands.push_back(id);
    inside.push_back(scope_.value(id));
    ++scan.fixed;
  }
  Scope step(random_,
             std::min<int64_t>(scope_.points_left() / (4 * (trips + 1)), scope_.kinds().room(1500)),
             scope_.kinds());
  std::vector<TensorId> ids;
  for (const WideArray& value : inside) ids.push_back(step.input(value));
  draw_operations(step, static_cast<int>(random_.between(2, 5)), depth_ + 1, false);
  if (!NotationDraw(step).adapted(scope_.real(), scope_.shape(carried), -1.5, 1.5,
                                  random_.chance(80)))
    return false;
  std::vector<TensorId> results{step.last()[0]};
  if (counts) {
    const bool made = step.add([&] {
      IndexNotation n(step.trace());
      return std::vector<TensorId>{compute(
          n, "n", {},
          apply(n, Op::Add, {read(n, ids[1], {}), literal(n, WeakScalar::of(int64_t{1}))}))};
    });
    if (!made) return false;
    results.push_back(step.last()[0]);
  }
  if (random_.chance(70)) {
    const TensorId stacked = step.pick([](TensorId) { return true; });
    results.push_back(stacked);
    scan.stacked = 1;
  }
  scan.body = std::make_shared<const Graph>(step.trace().finish(results));
  return scope_.add([&] { return add_scan(scope_.trace(), scan, operands); });
}

bool InnerDraw::while_loop() {
  const TensorId carried = scope_.pick(
      [&](TensorId t) { return scope_.dtype(t) == scope_.real() && scope_.shape(t).size() <= 2; });
  if (!carried.valid()) return false;
  const auto number = [](IndexNotation& n, int64_t v) { return literal(n, WeakScalar::of(v)); };
  std::vector<TensorId> operands{carried};
  const bool made = scope_.add([&] {
    IndexNotation n(scope_.trace());
    const TensorId zero = compute(n, "n", {}, number(n, 0));
    return std::vector<TensorId>{
        zero, compute(n, "on", {},
                      apply(n, Op::Lt, {read(n, zero, {}), number(n, random_.between(0, 6))}))};
  });
  if (!made) return false;
  operands.insert(operands.end(), scope_.last().begin(), scope_.last().end());
  for (TensorId id : this->operands(1)) operands.push_back(id);
  Scope step(random_, std::min<int64_t>(scope_.points_left() / 40, scope_.kinds().room(1500)),
             scope_.kinds());
  std::vector<TensorId> ids;
  for (TensorId id : operands) ids.push_back(step.input(scope_.value(id)));
  draw_operations(step, static_cast<int>(random_.between(1, 4)), depth_ + 1, false);
  if (!NotationDraw(step).adapted(scope_.real(), scope_.shape(carried), -1.5, 1.5, true))
    return false;
  const TensorId next = step.last()[0];
  const int64_t steps = random_.between(1, 6);
  if (!step.add([&] {
        IndexNotation n(step.trace());
        const TensorId count =
            compute(n, "n", {}, apply(n, Op::Add, {read(n, ids[1], {}), number(n, 1)}));
        return std::vector<TensorId>{
            count, compute(n, "on", {}, apply(n, Op::Lt, {read(n, count, {}), number(n, steps)}))};
      }))
    return false;
  const std::vector<TensorId> results{next, step.last()[0], step.last()[1]};
  Scan scan;
  scan.carries = 3;
  scan.fixed = operands.size() - 3;
  scan.conditional = true;
  scan.body = std::make_shared<const Graph>(step.trace().finish(results));
  return scope_.add([&] { return add_scan(scope_.trace(), scan, operands); });
}

bool InnerDraw::recomputed() {
  const std::vector<TensorId> operands = this->operands(static_cast<size_t>(random_.between(1, 3)));
  Body inner = body(values_of(operands), {}, static_cast<size_t>(random_.between(1, 2)));
  if (!inner.fine) return false;
  Call call;
  call.recompute = random_.chance(85);
  call.body = std::make_shared<const Graph>(std::move(inner.graph));
  return scope_.add([&] { return add_call(scope_.trace(), call, operands); });
}

// The gradient by hand is the derived one, on operands that forward hands over.
bool InnerDraw::custom() {
  const std::vector<TensorId> operands = this->operands(static_cast<size_t>(random_.between(1, 2)));
  Body inner = body(values_of(operands), {}, static_cast<size_t>(random_.between(1, 2)));
  if (!inner.fine) return false;
  const std::vector<size_t> wrt = float_positions(inner.graph, inner.graph.inputs);
  const std::vector<size_t> outputs = float_positions(inner.graph, inner.graph.outputs);
  if (wrt.empty() || outputs.empty()) return false;
  Call call;
  Graph forward = inner.graph;
  forward.outputs.insert(forward.outputs.end(), forward.inputs.begin(), forward.inputs.end());
  call.backward = std::make_shared<const Graph>(vjp(inner.graph, {.wrt = wrt, .outputs = outputs}));
  call.forward = std::make_shared<const Graph>(std::move(forward));
  call.body = std::make_shared<const Graph>(std::move(inner.graph));
  return scope_.add([&] { return add_call(scope_.trace(), call, operands); });
}

// Both branches are computed, each result is selected.
bool InnerDraw::branches() {
  const std::vector<TensorId> operands = this->operands(static_cast<size_t>(random_.between(1, 2)));
  const std::vector<std::vector<int64_t>> like{
      draw_shape(random_, random_.between(0, 2), scope_.kinds())};
  Body yes = body(values_of(operands), like, 0), no = body(values_of(operands), like, 0);
  const TensorId condition = scope_.pick(
      [&](TensorId t) { return scope_.dtype(t) == DType::Bool && scope_.shape(t).empty(); });
  TensorId chosen = condition;
  if (!chosen.valid() && NotationDraw(scope_).adapted(DType::Bool, {}, 0, 1, true))
    chosen = scope_.last()[0];
  if (!yes.fine || !no.fine || !chosen.valid()) return false;
  return scope_.add([&] {
    const TensorId a = splice(scope_.trace(), yes.graph, operands)[0];
    const TensorId b = splice(scope_.trace(), no.graph, operands)[0];
    const TensorId all[] = {chosen, a, b};
    return find_operator("where").trace(scope_.trace(), all, Json::object());
  });
}

bool InnerDraw::batched() {
  const int64_t size =
      std::max<int64_t>(draw_extent(random_, scope_.kinds()) % 9, random_.chance(10) ? 0 : 1);
  std::vector<TensorId> operands;
  std::vector<WideArray> inside;
  std::vector<BatchAxis> axes;
  const auto count = random_.between(1, 2);
  for (int64_t k = 0; k < count; ++k) {
    std::vector<int64_t> shape = draw_shape(random_, random_.between(0, 2), scope_.kinds());
    const auto axis = static_cast<size_t>(random_.between(0, static_cast<int64_t>(shape.size())));
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), size);
    const DType dtype = random_.chance(85) ? scope_.real() : DType::Int64;
    if (!NotationDraw(scope_).adapted(dtype, shape, -2, 2, dtype == DType::Int64)) return false;
    operands.push_back(scope_.last()[0]);
    inside.push_back(first_slice(scope_.value(operands.back()), axis));
    axes.push_back(axis);
  }
  for (TensorId id : this->operands(static_cast<size_t>(random_.between(0, 1)))) {
    operands.push_back(id);
    inside.push_back(scope_.value(id));
    axes.push_back(std::nullopt);
  }
  Body inner = body(inside, {}, static_cast<size_t>(random_.between(1, 2)));
  if (!inner.fine) return false;
  std::vector<BatchAxis> out;
  for (TensorId id : inner.graph.outputs)
    out.push_back(static_cast<size_t>(
        random_.between(0, static_cast<int64_t>(inner.graph.info(id).shape.size()))));
  return scope_.add(
      [&] { return splice(scope_.trace(), vmap(inner.graph, axes, size, out), operands); });
}

// A derivative among other operations.
bool InnerDraw::derived() {
  std::vector<TensorId> operands = this->operands(static_cast<size_t>(random_.between(1, 2)));
  Body inner = body(values_of(operands), {}, 1);
  if (!inner.fine) return false;
  const std::vector<size_t> wrt = float_positions(inner.graph, inner.graph.inputs);
  const std::vector<size_t> outputs = float_positions(inner.graph, inner.graph.outputs);
  if (wrt.empty() || outputs.empty()) return false;
  const bool reverse = random_.chance(60);
  for (size_t k : reverse ? outputs : wrt) {
    const TensorInfo info =
        inner.graph.info(reverse ? inner.graph.outputs[k] : inner.graph.inputs[k]);
    if (!NotationDraw(scope_).adapted(info.dtype, info.shape, -2, 2, false)) return false;
    operands.push_back(scope_.last()[0]);
  }
  return scope_.add([&] {
    const Graph graph = reverse ? vjp(inner.graph, {.wrt = wrt, .outputs = outputs})
                                : jvp(inner.graph, {.wrt = wrt});
    return splice(scope_.trace(), graph, operands);
  });
}

bool InnerDraw::through_text() {
  const std::vector<TensorId> operands = this->operands(static_cast<size_t>(random_.between(1, 2)));
  Body inner = body(values_of(operands), {}, static_cast<size_t>(random_.between(1, 2)));
  if (!inner.fine) return false;
  const Graph parsed = parse_graph(print(inner.graph));
  return scope_.add([&] { return splice(scope_.trace(), parsed, operands); });
}

bool InnerDraw::draw() {
  if (while_loops_ && random_.chance(30)) return while_loop();
  switch (random_.between(0, 9)) {
    case 0:
    case 1:
    case 2: return scan();
    case 3: return recomputed();
    case 4: return custom();
    case 5: return branches();
    case 6: return batched();
    case 7: return derived();
    default: return through_text();
  }
}

}  // namespace adjit::testing
