// tests/runtime/diff/index_values.cpp -- index expressions at points, by brute force.
#include "tests/runtime/diff/index_values.hpp"

#include <unordered_map>

#include "runtime/expr/scalar.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

int64_t value_at(const ExprPool& pool, ExprId expr, std::span<const int64_t> point) {
  std::unordered_map<uint32_t, Scalar> values;
  for (ExprId id : reachable(pool, std::span(&expr, 1))) {
    const Node& node = pool[id];
    if (node.op == Op::Axis) {
      values[id.value] = Scalar::of_int(point[pool.axis_number(id)]);
    } else if (node.op == Op::Constant) {
      values[id.value] = Scalar::of_int(*pool.int_value(id));
    } else {
      std::vector<Scalar> operands;
      for (ExprId operand : pool.operands(id)) operands.push_back(values.at(operand.value));
      values[id.value] = apply(node.op, pool.dtype(pool.operands(id).back()), node.dtype, operands);
    }
  }
  return values.at(expr.value).i;
}

void for_each_point(const Domain& domain,
                    const std::function<void(const std::vector<int64_t>&)>& visit) {
  std::vector<int64_t> point(domain.rank(), 0);
  for (;;) {
    if (domain.contains(point)) visit(point);
    size_t k = domain.rank();
    while (k > 0 && ++point[k - 1] == domain.extents[k - 1]) point[--k] = 0;
    if (k == 0) return;
  }
}

}  // namespace adjit::testing
