// tests/runtime/graph/parse/instantiate_test.cpp -- definitions and shapes to graphs.
#include <gtest/gtest.h>

#include "runtime/graph/parse/instantiate.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

TEST(Instantiate, ASymbolWithTwoValuesIsRefused) {
  try {
    instance_of("def f(float(M, K) A, float(K) b) -> (c) { c(m) +=! A(m, k) * b(k) }",
                {{2, 3}, {4}});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Shape);
    EXPECT_NE(std::string(error.what()).find("'K' is 3, but dimension 0 of 'b' is 4"),
              std::string::npos)
        << error.what();
  }
}

TEST(Instantiate, DeclaredDTypesMustAgree) {
  try {
    instance_of("def f(float(M) a) -> (c) { c(m) = a(m) }", {{2}}, {DType::Float64});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DType);
  }
}

TEST(Instantiate, ScansRunOverSymbolicTime) {
  const Graph graph = instance_of(
      "def rnn(float(T, N) X, float(N) h0) -> (h) {\n"
      "  scan (h) = step[X.0](carry float(N) h = h0, over float(N) x = X) -> (next) {\n"
      "    next(i) = h(i) * 0.5 + x(i)\n  }\n}",
      {{3, 2}, {2}});
  EXPECT_EQ(outputs_of(graph, {counting({3, 2}), counting({2})}), (List{6.875, 8.75}));
}

TEST(Instantiate, ZeroExtentsWork) {
  const Graph graph = instance_of("def f(float(N, K) A) -> (y) { y(i) +=! A(i, k) }", {{2, 0}});
  EXPECT_EQ(outputs_of(graph, {counting({2, 0})}), (List{0, 0}));
}

TEST(Instantiate, TheNumberOfInputsIsChecked) {
  EXPECT_THROW(instance_of("def f(float(N) x) -> (y) { y(i) = x(i) }", {{3}, {4}}), Error);
}

TEST(Instantiate, RanksAndNumbersInTypesAreChecked) {
  const auto refusal = [](const std::string& type, std::vector<int64_t> shape) {
    try {
      instance_of("def f(float(N) z, " + type + " x) -> (y) { y(i) = z(i) }",
                  {{4}, std::move(shape)});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Shape);
      return std::string(error.what());
    }
    return std::string("none");
  };
  EXPECT_EQ(refusal("float(2 * N, M)", {8, 5}), "none");
  EXPECT_NE(refusal("float(2 * N, M)", {7, 5}).find("this is 8, but dimension 0 of 'x' is 7"),
            std::string::npos);
  EXPECT_NE(refusal("float(N, N)", {4}).find("declared with 2 dimensions but has shape (4)"),
            std::string::npos);
}

TEST(Instantiate, ConstantsAreListedOrBytes) {
  const Graph graph = parse_graph(
      "def f() -> (a, b, c) {\n const int16(2) a = [-1, 300]\n const float(1) b = hex "
      "\"0000803f\"\n"
      " const float(0) c = []\n}");
  const std::vector<Array> out = interpret(graph, {});
  EXPECT_EQ(values(out[0]), (List{-1, 300}));
  EXPECT_EQ(values(out[1]), List{1});
  EXPECT_TRUE(values(out[2]).empty());
}

TEST(Instantiate, ConstantsThatDoNotFitAreRefused) {
  EXPECT_NE(error_of("def f() -> (a) { const float(2) a = [1] }", ErrorCode::Shape)
                .find("the shape needs 8 bytes of data, not 4"),
            std::string::npos);
  EXPECT_NE(error_of("def f() -> (a) { const float(1) a = hex \"000\" }").find("half a byte"),
            std::string::npos);
  EXPECT_NE(error_of("def f() -> (a) { const int8(1) a = [300] }", ErrorCode::DType)
                .find("300 does not fit"),
            std::string::npos);
}

TEST(Instantiate, ScansThatDoNotFitAreRefused) {
  const auto scan = [](const std::string& head, const std::string& results = "h") {
    return error_of("def f(float(2) a, float(3, 2) X, float s) -> (h) { scan (" + results +
                    ") = step[3](" + head + ") -> (n) { n(i) = c(i) } }");
  };
  EXPECT_NE(scan("over float(2) x = X, carry float(2) c = a").find("carry, over, fixed"),
            std::string::npos);
  EXPECT_NE(scan("carry float(2) c = a, over float x = s").find("no axis to scan over"),
            std::string::npos);
  EXPECT_NE(scan("carry float(2) c = a", "h, more").find("one result per output"),
            std::string::npos);
  EXPECT_NE(
      error_of("def f(float(2) a) -> (h) { scan (h) = step[-1](carry float(2) c = a) -> (n) { "
               "n(i) = c(i) } }")
          .find("steps is negative"),
      std::string::npos);
}

TEST(Instantiate, DeclaredOutputsAreChecked) {
  EXPECT_NE(error_of("def f(float(2) x) -> (double(2) y) { y(i) = x(i) }", ErrorCode::DType)
                .find("the output is float(2)"),
            std::string::npos);
  EXPECT_NE(error_of("def f(float(2) x) -> (float(3) y) { y(i) = x(i) }", ErrorCode::Shape)
                .find("not what its type declares"),
            std::string::npos);
}

}  // namespace
}  // namespace adjit::graph
