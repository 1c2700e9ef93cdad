// tests/jit/engine/export/source_test.cpp -- exported functions against the interpreter, and what
// their header says.
#include "jit/engine/export/export.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/jit/engine/export/exported_library.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// Exports all graphs into one library and runs each.
void compare(const std::vector<Graph>& graphs, uint64_t seed) {
  Engine engine(memory_only(1));
  std::vector<ExportedFunction> functions;
  for (size_t k = 0; k < graphs.size(); ++k)
    functions.push_back(
        exported(engine.compiler(), request_of(graphs[k]), "f" + std::to_string(k)));
  const ExportedLibrary library(functions);
  for (size_t k = 0; k < graphs.size(); ++k) {
    SCOPED_TRACE(print(graphs[k]));
    std::vector<Array> inputs = small_inputs(graphs[k], seed + k), outputs;
    for (const ArraySpec& spec : functions[k].plan.outputs) {
      outputs.push_back(Array::zeros(spec.dtype, spec.shape));
      std::ranges::fill(outputs.back().bytes, std::byte{0x5a});
    }
    std::vector<void*> pointers;
    for (std::vector<Array>* arrays : {&inputs, &outputs})
      for (Array& array : *arrays) pointers.push_back(array.bytes.data());
    ASSERT_EQ(library.call(functions[k].name, pointers), 0);
    EXPECT_EQ(first_difference(graphs[k], inputs, outputs), "");
  }
}

TEST(ExportSource, RandomGraphsGiveWhatTheInterpreterGives) {
  std::vector<Graph> graphs;
  for (uint64_t seed = 1; seed <= 40; ++seed)
    graphs.push_back(random_graph(seed, {.max_extent = seed % 2 ? 6 : 30,
                                         .scatters = seed % 3 == 0,
                                         .custom_combiners = seed % 5 == 0,
                                         .zero_extents = seed % 7 == 0}));
  compare(graphs, 1);
}

TEST(ExportSource, LoopsRunBothWays) {
  compare({parse_graph(R"(
def f(float(6, 4) x, float(4) c0) -> (c, ys) {
  scan (c, ys) = step[6](carry float(4) s = c0, over float(4) v = x) -> (t, u) {
    u(k) = s(k) * v(k) where k in 0:4
    t(k) = s(k) + u(3 - k) where k in 0:4
  }
})"),
           parse_graph(R"(
def f(float(5) x, float c0) -> (c, ys) {
  scan (c, ys) = step[5, reverse](carry float s = c0, over float v = x) -> (t, u) {
    u() = s() - v()
    t() = u() * 0.5
  }
})")},
          7);
}

// Layers share code, in the steps of a scan, too.
TEST(ExportSource, KernelsOfTheSameCodeAreWrittenOnce) {
  const Graph layers = parse_graph(R"(
def f(float(4, 4) v, float(4, 4) w, float(4) x) -> (d, s) {
  a(i) +=! v(i, j) * x(j)
  b(i) +=! w(i, j) * a(j)
  c(i) +=! v(i, j) * b(j)
  d(i) +=! w(i, j) * c(j)
  scan (s) = step[3](carry float(4) h = d, fixed float(4, 4) u = w) -> (n) {
    m(i) +=! u(i, j) * h(j)
    n(i) +=! u(i, j) * m(j)
  }
})");
  Engine engine(memory_only(1));
  const ExportedFunction f = exported(engine.compiler(), request_of(layers), "f");
  EXPECT_GT(std::ranges::count_if(f.objects, [](const auto& object) { return object.empty(); }), 1);
  compare({layers, layers}, 3);
}

// As the engine that it comes from does; the caller's mode stays as it was.
TEST(ExportSource, SubnormalNumbersAreFlushedOrKeptAsByTheEngine) {
  const Graph graph = parse_graph("def f(float(40) x) -> (y) {\n y(i) = x(i) * 0.25\n}");
  std::vector<ExportedFunction> functions;
  for (const FloatMode mode : {FloatMode::FlushSubnormals, FloatMode::KeepSubnormals}) {
    EngineOptions options = memory_only(1);
    options.float_mode = mode;
    functions.push_back(exported(Engine(options).compiler(), request_of(graph),
                                 functions.empty() ? "flush" : "keep"));
  }
  const ExportedLibrary library(functions);
  const std::vector<float> x(40, std::numeric_limits<float>::min());
  for (const ExportedFunction& f : functions) {
    std::vector<float> y(40, 1);
    const FloatMode before = float_mode();
    ASSERT_EQ(library.found<int(const float*, float*)>(f.name)(x.data(), y.data()), 0);
    EXPECT_EQ(float_mode(), before);
    const float expected = f.name == "keep" ? std::numeric_limits<float>::min() / 4 : 0;
    EXPECT_EQ(y, std::vector<float>(40, expected));
  }
}

TEST(ExportSource, IsTheSameEveryTime) {
  Engine engine(memory_only(1));
  const Request request = request_of(random_graph(3, {}));
  const ExportedFunction a = exported(engine.compiler(), request, "f"),
                         b = exported(engine.compiler(), request, "f");
  EXPECT_EQ(a.objects, b.objects);
  EXPECT_EQ(export_source("l", {&a, 1}), export_source("l", {&b, 1}));
}

ExportedFunction without_code(std::vector<DType> inputs, std::vector<DType> outputs) {
  ExportedFunction f;
  f.name = "f";
  for (DType dtype : inputs) f.plan.inputs.push_back({dtype, {2, 3}, {3, 1}});
  for (DType dtype : outputs) f.plan.outputs.push_back({dtype, {5}, {-1}});
  return f;
}

TEST(ExportSource, TheHeaderDeclaresEachArrayByItsElementType) {
  const ExportedFunction f = without_code({DType::Bool, DType::Int8, DType::Int64, DType::BFloat16},
                                          {DType::Float16, DType::Float64});
  const std::string header = export_header("l", {&f, 1});
  EXPECT_NE(header.find("int f(const uint8_t* in0, const int8_t* in1, const int64_t* in2, "
                        "const uint16_t* in3, uint16_t* out0, double* out1);"),
            std::string::npos)
      << header;
  EXPECT_NE(header.find("in3: , bfloat16 (2, 3), strides (3, 1)"), std::string::npos) << header;
  EXPECT_NE(header.find("out1: , float64 (5), strides (-1)"), std::string::npos) << header;
}

TEST(ExportSource, AFunctionWithoutArraysTakesVoid) {
  const ExportedFunction f = without_code({}, {});
  EXPECT_NE(export_header("l", {&f, 1}).find("int f(void);"), std::string::npos);
}

TEST(ExportSource, ANameCannotEndTheCommentOrTheStringThatItStandsIn) {
  ExportedFunction f = without_code({DType::Float32}, {});
  f.inputs = {"*/ int x; /*"};
  f.plan.checks.emplace_back();
  f.plan.checks[0].subject = "a\"b\\c\n";
  const std::string header = export_header("l", {&f, 1});
  EXPECT_NE(header.find("in0: ./ int x; /., float32"), std::string::npos) << header;
  const std::string source = export_source("l", {&f, 1});
  EXPECT_NE(source.find("case 2: return \"index out of range in a.b.c.\";"), std::string::npos)
      << source;
}

}  // namespace
}  // namespace adjit::testing
