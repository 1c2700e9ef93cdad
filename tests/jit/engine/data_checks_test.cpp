// tests/jit/engine/data_checks_test.cpp -- indices out of range in compiled code: an error, and the
// next call is right again.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify_bounds.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

Array indices(const std::vector<int64_t>& values) {
  Array a = Array::zeros(DType::Int64, {static_cast<int64_t>(values.size())});
  std::memcpy(a.bytes.data(), values.data(), values.size() * sizeof(int64_t));
  return a;
}

TEST(CompiledDataChecks, RaiseAndRecover) {
  Engine engine(memory_only(2));
  const Graph graph = parse_graph(
      "def f(float(5, 3) x, int64(40) i) -> (y) { y(k, c) = x(i(k), c) where k in 0:40 }");
  const Request request = request_of(graph);
  Array x = Array::zeros(DType::Float32, {5, 3});
  std::vector<int64_t> at(40, 2);
  for (int64_t bad : {5, -1, INT32_MAX, INT32_MIN}) {
    at[33] = bad;
    try {
      run_compiled(engine, request, {x, indices(at)});
      FAIL() << "index " << bad << " passed";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::Bounds);
      const std::string text = e.what();
      EXPECT_NE(text.find("index " + std::to_string(bad) + " "), std::string::npos) << text;
      EXPECT_NE(text.find("i = 33"), std::string::npos) << text;
    }
    at[33] = 4;
    const std::vector<Array> in{x, indices(at)};
    EXPECT_EQ(first_difference(graph, in, run_compiled(engine, request, in)), "");
  }
  EXPECT_EQ(engine.compile(request).executable->plan().outputs.size(), 1u);
}

TEST(CompiledDataChecks, PlansKeepThem) {
  ExecutionPlan plan;
  plan.checks = {{"the read x(i(k))", 1, 5, {"i", "j"}, {4, 3}},
                 {"stage 'y'", 0, 0, {"step", "i0"}, {4, 3}, DataCheck::Kind::NaN, {2}}};
  EXPECT_EQ(plan_from_json(to_json(plan), "").checks, plan.checks);
}

Array floats(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  return Array::of(dtype, std::move(shape), values);
}

EngineOptions watching() {
  EngineOptions options = memory_only(2);
  options.check_nan = true;
  return options;
}

// What a run says; "" when it says nothing.
std::string complaint(Engine& engine, const Request& request, const std::vector<Array>& inputs) {
  try {
    run_compiled(engine, request, inputs);
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Invalid) << e.what();
    return e.what();
  }
}

// What should be said, from the interpreter: the first stage whose result holds a NaN, its first
// element; "" when none does.
std::string expected_complaint(Graph graph, const std::vector<Array>& inputs) {
  std::vector<std::pair<const Stage*, TensorId>> results;
  for (const Stage& stage : graph.stages)
    for (TensorId result : stage.results)
      if (is_float(graph.info(result).dtype)) results.emplace_back(&stage, result);
  graph.outputs.clear();
  for (const auto& [stage, result] : results) graph.outputs.push_back(result);
  const std::vector<Array> found = interpret(graph, inputs);
  for (size_t k = 0; k < found.size(); ++k)
    for (int64_t e = 0; e < found[k].element_count(); ++e) {
      if (!std::isnan(found[k].at(e))) continue;
      std::string place;
      int64_t rest = e;
      for (size_t d = found[k].shape.size(); d-- > 0; rest /= found[k].shape[d])
        place = (d ? ", i" : " at i") + std::to_string(d) + " = " +
                std::to_string(rest % found[k].shape[d]) + place;
      return describe(graph, *results[k].first) + place + ";";
    }
  return "";
}

TEST(CompiledNaNChecks, SayWhatTheInterpreterFinds) {
  Engine engine(watching());
  int clean = 0, dirty = 0;
  for (uint64_t seed = 1; seed <= 160; ++seed) {
    const Graph graph =
        random_graph(seed, {.max_extent = seed % 3 ? 6 : 20, .scatters = seed % 2 == 0});
    std::vector<Array> inputs = small_inputs(graph, seed);
    for (Array& input : inputs)
      if (seed % 4 < 2 && is_float(input.dtype) && input.element_count() > 0)
        input.set(input.element_count() / 2, std::nan(""));
    const Request request = request_of(graph);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph));
    const std::string expected = expected_complaint(final_graph(request), inputs);
    const std::string said = complaint(engine, request, inputs);
    if (expected.empty()) {
      ASSERT_EQ(said, "");
      ASSERT_EQ(first_difference(graph, inputs, run_compiled(engine, request, inputs)), "");
    } else {
      ASSERT_NE(said.find(expected), std::string::npos) << said << "\nexpected: " << expected;
    }
    ++(expected.empty() ? clean : dirty);
  }
  EXPECT_GT(clean, 20);
  EXPECT_GT(dirty, 20);
}

TEST(CompiledNaNChecks, AreAKeyOfTheirOwnAndCostNothingElsewhere) {
  Engine off(memory_only(2)), on(watching());
  const Request request =
      request_of(parse_graph("def f(float(4) x) -> (y) { y(k) = sqrt(x(k)) where k in 0:4 }"));
  EXPECT_NE(off.key(request).components.size(), on.key(request).components.size());
  EXPECT_EQ(on.key(request).components.back().name, "checks");
  EXPECT_TRUE(off.compile(request).executable->plan().checks.empty());
  Array x = Array::zeros(DType::Float32, {4});
  x.set(2, -1);
  EXPECT_EQ(complaint(off, request, {x}), "");
  const std::string text = complaint(on, request, {x});
  EXPECT_NE(text.find("stage 'y'"), std::string::npos) << text;
  EXPECT_NE(text.find("i0 = 2"), std::string::npos) << text;
  x.set(2, 1);
  EXPECT_EQ(complaint(on, request, {x}), "");  // and the next call is right again
}

TEST(CompiledNaNChecks, HalfTypesAndScans) {
  Engine engine(watching());
  const Request half = request_of(
      parse_graph("def f(half(3) x) -> (y) { y(k) = half(log(float(x(k)))) where k in 0:3 }"));
  EXPECT_NE(complaint(engine, half, {floats(DType::Float16, {3}, {1, 1, -1})}).find("i0 = 2"),
            std::string::npos);
  EXPECT_EQ(complaint(engine, half, {floats(DType::Float16, {3}, {1, 1, 1})}), "");
  const Request scan = request_of(parse_graph(R"(
def f(float(50) x, float c0) -> (c, ys) {
  scan (c, ys) = step[50](carry float s = c0, over float v = x) -> (t, u) {
    u() = sqrt(v()) + s()
    t() = log(u() + v())
  }
})"));
  std::vector<double> x(50, 1.0);
  const std::vector<Array> fine{floats(DType::Float32, {50}, x), floats(DType::Float32, {}, {1})};
  EXPECT_EQ(complaint(engine, scan, fine), "");
  x[37] = -1;
  const std::string text =
      complaint(engine, scan, {floats(DType::Float32, {50}, x), floats(DType::Float32, {}, {1})});
  EXPECT_NE(text.find("stage 'u'"), std::string::npos) << text;
  EXPECT_NE(text.find("step = 37"), std::string::npos) << text;
}

}  // namespace
}  // namespace adjit::testing
