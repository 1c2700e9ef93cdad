// tests/runtime/diff/forwards.cpp -- see forwards.hpp.
#include "tests/runtime/diff/forwards.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

Ex call(Op op, Ex a) { return {a.pool, a.pool->make(op, {a.id})}; }
Ex call(Op op, Ex a, Ex b) { return {a.pool, a.pool->make(op, {a.id, b.id})}; }
Ex number(Ex like, double value) {
  return {like.pool, like.pool->constant(value, like.pool->dtype(like.id))};
}
Ex operator+(Ex a, Ex b) { return call(Op::Add, a, b); }
Ex operator-(Ex a, Ex b) { return call(Op::Sub, a, b); }
Ex operator*(Ex a, Ex b) { return call(Op::Mul, a, b); }
Ex operator/(Ex a, Ex b) { return call(Op::Div, a, b); }
Ex operator-(Ex a) { return call(Op::Neg, a); }
Ex operator+(Ex a, double b) { return a + number(a, b); }
Ex operator-(Ex a, double b) { return a - number(a, b); }
Ex operator*(Ex a, double b) { return a * number(a, b); }
Ex operator/(Ex a, double b) { return a / number(a, b); }
Ex floor_div(Ex a, int64_t b) { return call(Op::FloorDiv, a, number(a, static_cast<double>(b))); }
Ex mod(Ex a, int64_t b) { return call(Op::Mod, a, number(a, static_cast<double>(b))); }
Ex select(Ex condition, Ex a, Ex b) { return {a.pool, a.pool->select(condition.id, a.id, b.id)}; }
Ex less(Ex a, Ex b) { return call(Op::Lt, a, b); }
Ex both(Ex a, Ex b) { return call(Op::And, a, b); }

namespace {

std::vector<ExprId> ids(const Axes& list) {
  std::vector<ExprId> result;
  for (const Ex& e : list) result.push_back(e.id);
  return result;
}

}  // namespace

TensorId Forward::input(const std::string& name, Shape shape, DType dtype) {
  return add_input(graph, name, dtype, std::move(shape));
}

Ex Forward::at(TensorId tensor, const Axes& index) {
  return {&graph.pool, read(graph, tensor, ids(index))};
}

Ex Forward::at(TensorId tensor, const Axes& index, Ex predicate) {
  return {&graph.pool, read(graph, tensor, ids(index), predicate.id)};
}

Axes Forward::make_axes(size_t count) {
  Axes list;
  for (size_t k = 0; k < count; ++k) list.push_back({&graph.pool, graph.pool.axis(k)});
  return list;
}

TensorId Forward::map(const std::string& name, Shape shape, const Body& body) {
  return reduce(CombinerKind::None, name, std::move(shape), {}, body);
}

TensorId Forward::sum(const std::string& name, Shape shape, Shape over, const Body& body) {
  return reduce(CombinerKind::Sum, name, std::move(shape), std::move(over), body);
}

TensorId Forward::reduce(CombinerKind kind, const std::string& name, Shape shape, Shape over,
                         const Body& body, Ties ties) {
  Domain domain;
  domain.extents = shape;
  domain.output_rank = shape.size();
  domain.extents.insert(domain.extents.end(), over.begin(), over.end());
  const Axes list = make_axes(domain.rank());
  Combiner combiner;
  combiner.kind = kind;
  combiner.ties = ties;
  return add_compute(graph, name, domain, combiner, {body(list).id},
                     {SourceLine{"model.py", static_cast<int>(graph.stages.size()) + 1, name}})[0];
}

TensorId Forward::reduce_where(CombinerKind kind, const std::string& name, Shape shape, Shape over,
                               const Body& body, const std::vector<Body>& rows) {
  const TensorId result = reduce(kind, name, std::move(shape), std::move(over), body);
  Domain& domain = graph.stages.back().domain;
  const Axes list = make_axes(domain.rank());
  for (const Body& row : rows)
    domain.inequalities.push_back(*as_affine(graph.pool, row(list).id, domain));
  return result;
}

Graph Forward::returning(std::vector<TensorId> outputs) {
  graph.outputs = std::move(outputs);
  return graph;
}

}  // namespace adjit::testing
