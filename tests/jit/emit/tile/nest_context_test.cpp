// tests/jit/emit/tile/nest_context_test.cpp -- more code than a limit is refused.
#include "jit/emit/tile/nest_context.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// Instances of long bodies, and vectors that are many vectors, are more code than their number
// says.
TEST(NestContext, InstancesThatTakeTooMuchCodeAreRefused) {
  const Graph graph = parse_graph(
      "def main(float(9, 9, 9, 35) x) -> (y) {\n"
      "  y(i, j, k, l) = exp(sin(x(i, j, k, l)) * tanh(x(i, j, k, l))) + lgamma(x(i, j, k, l))\n}");
  const auto emitted = [&](int64_t lanes, int64_t instances) {
    Program p = vectorize(plain(graph), 0, 3, lanes);
    for (size_t axis : {0, 1, 2}) p = unroll(std::move(p), 0, axis, instances);
    EmittedProgram{p};
  };
  EXPECT_NO_THROW(emitted(4, 2));
  expect_refused([&] { emitted(16, 8); }, "instances of the long body of stage 'y'");
}

// Most of the operations are of indices, which are little work.
TEST(NestContext, InstancesOfTooManyOperationsAreRefused) {
  std::string sum;
  for (int k = 1; k <= 110; ++k) {
    const std::string by = std::to_string(k);
    sum += (k > 1 ? " + x(i + " : "x(i + ") + by + ", j + " + by + ", k)";
  }
  const Graph graph = parse_graph("def main(float(118, 118, 8) x) -> (y) { y(i, j, k) = " + sum +
                                  " where i in 0:8, j in 0:8, k in 0:8 }");
  const auto emitted = [&](int64_t instances) {
    Program p = plain(graph);
    for (size_t axis : {0, 1, 2}) p = unroll(std::move(p), 0, axis, instances);
    EmittedProgram{p};
  };
  EXPECT_NO_THROW(emitted(2));
  expect_refused([&] { emitted(8); }, "more than 262144 operations at stage 'y': unroll less");
}

}  // namespace
}  // namespace adjit::testing
