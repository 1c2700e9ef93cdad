// tests/autosched/lower/final_graph_test.cpp -- what is scheduled means what was traced.
#include "autosched/lower/final_graph.hpp"

#include <gtest/gtest.h>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

Array numbers(std::vector<int64_t> shape) {
  Array array = Array::zeros(DType::Float64, std::move(shape));
  for (int64_t e = 0; e < array.element_count(); ++e)
    array.set(e, 0.25 + 0.125 * static_cast<double>(e % 7));
  return array;
}

void expect_same_meaning(const Graph& graph, const Graph& final) {
  verify(final);
  std::vector<Array> inputs;
  for (TensorId id : graph.inputs) inputs.push_back(numbers(graph.info(id).shape));
  const std::vector<Array> wanted = interpret(graph, inputs), found = interpret(final, inputs);
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k)
    for (int64_t e = 0; e < wanted[k].element_count(); ++e)
      EXPECT_NEAR(found[k].at(e), wanted[k].at(e), 1e-12) << "output " << k << ", element " << e;
}

// A call to recompute, a scan, and an input among the outputs.
const char* const kProgram =
    "def f(double(5) x, double h0) -> (z, x, hs) {\n"
    "  call (y) = block[recompute](double(5) a = x) -> (p) {\n"
    "    p(i) = sin(a(i)) * a(i)\n"
    "  }\n"
    "  scan (h, hs) = step[5](carry double s = h0, over double v = y) -> (t, t) {\n"
    "    t() = 0.5 * s() + v()\n"
    "  }\n"
    "  z() +=! hs(i) * x(i) * h()\n"
    "}\n";

TEST(FinalGraph, HoldsNoCallAndMeansTheSame) {
  const Graph graph = parse_graph(kProgram);
  const Graph final = final_graph(graph);
  for (const Stage& stage : final.stages) EXPECT_NE(stage.kind, StageKind::Call) << print(final);
  const std::vector<size_t> stages = defining_stages(final);
  for (TensorId id : final.outputs) EXPECT_NE(stages[id.value], SIZE_MAX) << "a copy of an input";
  expect_same_meaning(graph, final);
}

TEST(FinalGraph, OfADerivativeNeedsNoCleaningTwice) {
  ReverseOptions options;
  options.wrt = {0};
  options.outputs = {0};
  const Graph derived = vjp(parse_graph("def f(double(5) x, double(5) w) -> (z) {\n"
                                        "  y(i) = sin(x(i)) * w(i)\n"
                                        "  z(j) +=! y(i) * x(i) where i in 0:5, j in 0:3, i >= j\n"
                                        "}\n"),
                            options);
  EXPECT_EQ(print(final_graph(derived, true)), print(final_graph(derived)));
  expect_same_meaning(derived, final_graph(derived, true));
}

}  // namespace
}  // namespace adjit::testing
