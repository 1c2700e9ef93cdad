// tests/fuzz/draw/operator_draw.hpp -- random calls of operators, drawn from the operator table.
//
// Nothing here names an operator. The table (runtime/trace/ops/operator_table.hpp) gives names,
// operands and attributes with their defaults; the table of examples, which a test holds to have
// every operator, gives dtypes, ranges of values and shapes that fit. Extents, operands and
// attributes are then drawn anew, and what the operator refuses is drawn again. So a new operator
// takes part as soon as it has its example.
#pragma once

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/operator.hpp"
#include "tests/fuzz/draw/scope.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/operator_examples.hpp"

namespace adjit::testing {

class OperatorDraw {
 public:
  explicit OperatorDraw(Scope& scope) : scope_(scope), random_(scope.random()) {}

  /// Adds a call of some operator to the scope; false where none of a few tries was taken.
  bool call();
  bool call(const Operator& op);
  /// Calls of two or three operators with the same operands and attributes, as those that reduce
  /// over axes take, and stages between that read the earlier ones' results.
  bool calls_alike();

 private:
  struct Call {
    std::vector<TensorId> operands;
    Json attributes;
  };
  bool attempt(const Operator& op, const OperatorExample& example, int number);
  void draw_many(std::vector<TensorId>& operands);
  TensorId operand(const ExampleInput& wanted, const std::vector<int64_t>& shape);
  TensorId any_operand(const ExampleInput& wanted);
  Json attributes(const Operator& op, const OperatorExample& example, int64_t rank);
  void vary(Json& attributes, std::string_view name, std::string_view otherwise, int64_t rank);
  bool lies_in(TensorId tensor, const ExampleInput& wanted) const;

  Scope& scope_;
  Random& random_;
  Call taken_;  // the last one
};

}  // namespace adjit::testing
