// tests/autosched/lower/visited_winners_test.cpp -- payloads that may be the mark of "no point
// yet".
#include "autosched/lower/visited_winners.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/graph/interpret/interpreter.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::string program(const std::string& kind, const std::string& dtype, const std::string& payload) {
  return "def f(" + dtype + "(3, 4) x, int64(4) p, int32(4) q) -> (v, at) {\n  (v, at)(i) " + kind +
         "=! (x(i, r), " + payload + ") where i in 0:3, r in 0:4, r >= i\n}\n";
}

Array of(DType dtype, std::vector<int64_t> shape, const std::vector<double>& values) {
  Array array = Array::zeros(dtype, std::move(shape));
  for (size_t e = 0; e < values.size(); ++e) array.set(static_cast<int64_t>(e), values[e]);
  return array;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

TEST(VisitedWinners, PayloadsOfDataGetAFlagAndKeepTheirMeaning) {
  for (const char* dtype : {"float", "double", "half", "int64", "int32", "uint8", "bool"})
    for (const char* kind : {"argmax", "argmin"})
      for (const char* payload : {"p(r)", "int64(q(r))", "p(r) + r"}) {
        const Graph graph = parse_graph(program(kind, dtype, payload));
        const bool any_integer = std::string(payload) != "int64(q(r))";
        const Graph flagged = with_visited_winners(graph);
        verify(flagged);
        ASSERT_EQ(flagged.stages[0].combiner.kind == CombinerKind::Custom, any_integer) << payload;
        const DType type = graph.info(graph.inputs[0]).dtype;
        // Extremes tie with the identity; a row of equals, and NaN where there is one.
        std::vector<double> values{0, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 0};
        if (is_float(type))
          values = {-kInf, -kInf, -kInf, -kInf, 1, kInf, kInf, 2, 0, 0, kNan, kNan};
        const double least = -0x1p63;
        const std::vector<Array> inputs{of(type, {3, 4}, values),
                                        of(DType::Int64, {4}, {least, least, 7, least}),
                                        of(DType::Int32, {4}, {-0x1p31, 5, -0x1p31, 3})};
        const std::vector<Array> wanted = interpret(graph, inputs),
                                 found = interpret(flagged, inputs);
        for (size_t k = 0; k < 2; ++k)
          for (int64_t e = 0; e < 3; ++e)
            EXPECT_TRUE(same(found[k].at(e), wanted[k].at(e)))
                << dtype << " " << kind << " " << payload << ": output " << k << "(" << e << ") is "
                << found[k].at(e) << " instead of " << wanted[k].at(e);
      }
}

TEST(VisitedWinners, PositionsNeedNoFlag) {
  for (const char* payload : {"r", "r * 7 - 20", "select(x(i, r) > 0, r, i)", "min(p(r), 5) % 7"}) {
    const Graph graph = parse_graph(program("argmax", "float", payload));
    EXPECT_EQ(print(with_visited_winners(graph)), print(graph)) << payload;
  }
}

TEST(VisitedWinners, AreFoundInsideScans) {
  const Graph graph = parse_graph(
      "def f(float(4) x, int64(4) p, int64 s0) -> (h) {\n"
      "  scan (h) = step[2](carry int64 s = s0, fixed float(4) a = x, fixed int64(4) b = p) -> (t) "
      "{\n"
      "    (v, at)() argmax=! (a(r), b(r)) where r in 0:4\n"
      "    t() = s() + at()\n"
      "  }\n"
      "}\n");
  const Graph flagged = with_visited_winners(graph);
  EXPECT_NE(print(flagged).find("custom"), std::string::npos) << print(flagged);
}

}  // namespace
}  // namespace adjit::testing
