// tests/runtime/diff/scan_cases_test.cpp -- scans of every kind against differences, orders 1 and
// 2: whole, reversed, in segments.
#include <gtest/gtest.h>

#include <string>

#include "runtime/diff/reverse/calls.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/reverse/segments.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

struct ScanCase {
  const char* name;
  const char* text;  // STEPS stands for the number of steps and what follows it in brackets
};

std::ostream& operator<<(std::ostream& out, const ScanCase& c) { return out << c.name; }

const ScanCase kCases[] = {
    {"Recurrent",
     "def f(double(2, 3) h0, double(5, 2, 2) xs, double(3, 3) w, double(2, 3) u, double(3) b) -> "
     "(last, ys) {\n"
     "  scan (last, ys) = step[STEPS](carry double(2, 3) h = h0, over double(2, 2) x = xs, fixed "
     "double(3, 3) W = w, fixed double(2, 3) U = u, fixed double(3) B = b) -> (n, n) {\n"
     "    a(i, j) +=! h(i, k) * W(k, j)\n"
     "    c(i, j) +=! x(i, k) * U(k, j)\n"
     "    n(i, j) = tanh(a(i, j) + c(i, j) + B(j))\n"
     "  }\n"
     "}\n"},
    {"SeveralCarriesAndACounter",
     "def f(double(3) a0, double c0, int64 n0, double(5, 3) xs, double(3) w) -> (a, c, n, y, z) {\n"
     "  scan (a, c, n, y, z) = step[STEPS](carry double(3) A = a0, carry double C = c0, carry "
     "int64 "
     "N = n0, over double(3) X = xs, fixed double(3) W = w) -> (A1, C1, N1, Y, Z) {\n"
     "    A1(i) = sin(A(i) * X(i)) + C() * W(i)\n"
     "    C1() +=! A(i) * W(i)\n"
     "    N1() = N() + 1\n"
     "    Y(i) = A1(i) * double(N()) + exp(0.1 * X(i))\n"
     "    Z() = N() * 2\n"
     "  }\n"
     "}\n"},
    {"UnusedOperands",
     "def f(double(3) a0, double(5, 3) xs, double(4) w) -> (a, y) {\n"
     "  scan (a, y) = step[STEPS](carry double(3) A = a0, over double(3) X = xs, fixed double(4) W "
     "= w) -> (A1, Y) {\n"
     "    A1(i) = A(i) * A(i) * 0.5\n"
     "    Y(i) = cos(A(i))\n"
     "  }\n"
     "}\n"},
    {"NoCarry",
     "def f(double(5, 3) xs, double(3) w) -> (y) {\n"
     "  scan (y) = step[STEPS](over double(3) X = xs, fixed double(3) W = w) -> (Y) {\n"
     "    Y(i) = X(i) * W(i) * W(i)\n"
     "  }\n"
     "}\n"},
    {"PassingThrough",
     "def f(double(3) a0, double(3) b0, double(5, 3) xs) -> (a, b, y) {\n"
     "  scan (a, b, y) = step[STEPS](carry double(3) A = a0, carry double(3) B = b0, over "
     "double(3) "
     "X = xs) -> (B, A, X) {\n"
     "  }\n"
     "}\n"},
    {"Gathering",
     "def f(double(2) h0, int64(5) idx, double(4, 2) table) -> (h, y) {\n"
     "  scan (h, y) = step[STEPS](carry double(2) H = h0, over int64 I = idx, fixed double(4, 2) T "
     "= table) -> (N, N) {\n"
     "    N(j) = tanh(H(j) + T(I() % 4, j)) where j in 0:2\n"
     "  }\n"
     "}\n"},
    {"Nested",
     "def f(double(2) h0, double(5, 3, 2) xs, double(2, 2) w) -> (h, y) {\n"
     "  scan (h, y) = outer[STEPS](carry double(2) H = h0, over double(3, 2) X = xs, fixed "
     "double(2, 2) W = w) -> (N, Z) {\n"
     "    scan (M, S) = inner[3, reverse](carry double(2) c = H, over double(2) x = X, fixed "
     "double(2, 2) V = W) -> (n, s) {\n"
     "      n(i) +=! V(i, k) * sin(c(k)) * x(k)\n"
     "      s() +=! n(i) * c(i)\n"
     "    }\n"
     "    N(i) = M(i) + 0.5 * H(i)\n"
     "    Z() +=! S(r) * N(0) where r in 0:3\n"
     "  }\n"
     "}\n"},
    {"WeightUsedTwice",
     "def f(double(3) h0, double(5, 3) xs, double(3, 3) w) -> (h) {\n"
     "  scan (h) = step[STEPS](carry double(3) H = h0, over double(3) X = xs, fixed double(3, 3) W "
     "= w) -> (N) {\n"
     "    a(i) +=! W(i, k) * H(k)\n"
     "    b(i) +=! W(k, i) * X(k)\n"
     "    N(i) = tanh(a(i)) * b(i) + W(i, i)\n"
     "  }\n"
     "}\n"},
};

Graph graph_of(const ScanCase& c, const std::string& steps) {
  std::string text = c.text;
  const std::string mark = "STEPS";
  text.replace(text.find(mark), mark.size(), steps);
  const int64_t trips = std::stoll(steps);
  for (size_t at = text.find("(5"); at != std::string::npos; at = text.find("(5", at + 1))
    text.replace(at, 2, "(" + std::to_string(trips));
  Graph graph = parse_graph(text);
  verify(graph);
  return graph;
}

class Scans : public ::testing::TestWithParam<ScanCase> {};

TEST_P(Scans, AgreeWithDifferences) {
  for (const char* steps : {"4", "4, reverse", "1", "1, reverse"})
    EXPECT_TRUE(check_gradients(graph_of(GetParam(), steps), 2)) << steps;
}

TEST_P(Scans, OfNoStepsPassTheirCarriesOn) {
  EXPECT_TRUE(check_gradients(graph_of(GetParam(), "0"), 2));
}

TEST_P(Scans, InSegmentsAgreeWithDifferences) {
  for (const char* steps :
       {"4, segment 2", "5, segment 2", "5, reverse, segment 2", "6, segment 4", "3, segment 9"})
    EXPECT_TRUE(check_gradients(graph_of(GetParam(), steps), 2)) << steps;
}

TEST_P(Scans, InSegmentsComputeTheSameValues) {
  for (const std::string steps : {"6", "7", "7, reverse"}) {
    const Graph whole = graph_of(GetParam(), steps),
                segments = graph_of(GetParam(), steps + ", segment 3");
    const std::vector<size_t> wrt = float_inputs(segments);
    const Graph cut = segment_scans(segments, wrt);
    verify(cut);
    EXPECT_GT(cut.stages.size(), whole.stages.size());
    const std::vector<Array> inputs = random_inputs(whole);
    const std::vector<Array> wanted = interpret(whole, inputs), found = interpret(cut, inputs),
                             expanded = interpret(simplify(expand_calls(cut)), inputs);
    for (size_t k = 0; k < wanted.size(); ++k) {
      EXPECT_EQ(found[k].bytes, wanted[k].bytes) << steps;
      EXPECT_EQ(expanded[k].bytes, wanted[k].bytes) << steps;
    }
  }
}

TEST_P(Scans, DerivativesPrintAndParse) {
  for (const char* steps : {"4", "5, segment 2"}) {
    const Graph forward = graph_of(GetParam(), steps);
    ReverseOptions options;
    options.wrt = float_inputs(forward);
    options.outputs = {0};
    for (const Graph& graph :
         {vjp(forward, options), simplify(expand_calls(vjp(forward, options)))}) {
      verify(graph);
      const Graph again = parse_graph(print(graph));
      EXPECT_EQ(print(again), print(graph));
      EXPECT_EQ(content_hash(again), content_hash(graph));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cases, Scans, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace adjit::testing
