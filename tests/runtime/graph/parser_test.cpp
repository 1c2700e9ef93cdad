// Errors of the text notation: each points at what is wrong.
#include "runtime/graph/parser.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/interpreter.hpp"
#include "runtime/graph/text.hpp"

namespace adjit::graph {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse_graph(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Parse) << error.what();
    return error.what();
  }
  return "no error";
}

struct Case {
  const char* text;
  const char* message;  // a part of it
  const char* pointed;  // what the caret stands under
};

class ParserErrors : public ::testing::TestWithParam<Case> {};

TEST_P(ParserErrors, NameTheProblemAndPointAtIt) {
  const std::string error = error_of(GetParam().text);
  EXPECT_NE(error.find(GetParam().message), std::string::npos) << error;
  // "<text>:line:column: message\n  source line\n  caret"
  const size_t first = error.find('\n'), second = error.find('\n', first + 1);
  ASSERT_NE(second, std::string::npos) << error;
  const std::string line = error.substr(first + 1, second - first - 1);
  const size_t caret = error.substr(second + 1).find('^');
  ASSERT_LE(caret, line.size()) << error;
  EXPECT_EQ(line.substr(caret).rfind(GetParam().pointed, 0), 0u) << error;
}

INSTANTIATE_TEST_SUITE_P(
    Statements, ParserErrors,
    ::testing::Values(
        Case{"deff main() -> () {}", "expected 'def'", "deff"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) * * 2 }", "expected an expression", "* 2"},
        Case{"def main(float(3) x) -> (y) { y(i) x(i) }", "expected '=', '+=!'", "x(i)"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i }", "'(' is still open", "}"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i)) }", "expected the name", ") }"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i)", "expected '}'", ""},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) ? 1 }", "expected ':'", "}"},
        Case{"def main(float(3) x) -> (y) { y(i) = (x(i), 1) }", "tuple", ", 1"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) @ 2 }", "no meaning", "@"},
        Case{"def main(float(3) exp) -> (y) { y(i) = 1 }", "reserved", "exp"},
        Case{"def main(quad(3) x) -> (y) { y(i) = 1 }", "expected a type", "quad"},
        Case{"def main(float(3) x) -> (y) { y(i) =[last] x(i) }", "expected even", "last"},
        Case{"def main(float(3) x) -> (y) { y(i) = let a = 1 x(i) }", "expected ';'", "x(i)"},
        Case{"def main() -> (c) { const float(1) c = hex \"0 }", "no closing quote", "\"0"},
        Case{"def main() -> (c) { const float(1) c = hex \"0g000000\" }", "hexadecimal", "g"}));

INSTANTIATE_TEST_SUITE_P(
    Meaning, ParserErrors,
    ::testing::Values(
        Case{"def main(float(3) x) -> (y) { y(i) = z(i) }", "no tensor or function 'z'", "z(i)"},
        Case{"def main(float(3) x) -> (z) { y(i) = x(i) }", "there is no tensor 'z'", "z"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i, i) }", "1 dimensions", "x(i, i)"},
        Case{"def main(float(3) x) -> (y) { y(i) = fma(x(i), 1) where i in 0:3 }", "takes 3",
             "fma"},
        Case{"def main(float(3) x) -> (y) { y(i) = 1 }", "add `where i in 0:...`", "i) ="},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) * x(k) }", "only on the right of '='",
             "k)"},
        Case{"def main(float(3) x) -> (x) { x(i) = 1 where i in 0:3 }", "is an input", "x(i)"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) where i in 0:3, i in 0:2 }",
             "has a range already", "i in 0:2"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) where i in 0:N }", "'N' has no value", "N"},
        Case{"def main(float(9) x) -> (y) { y(i) = x(i) where i in 8:4 }",
             "8:4 of 'i' ends before it begins", "i in 8:4"},
        Case{"def main(float(3) x) -> (y) { y(-1) +=! x(i) }", "the index -1 is negative",
             "1) +=!"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) <=> copy }", "before the arguments", "}"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) where x(i) > 0 }", "affine comparison",
             ">"},
        Case{"def main(float(3) x) -> (y) { y(i) +=! x(i * 9223372036854775808) }", "64 bits",
             "9223372036854775808"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(i) * 1e999 }", "too large", "1e999"},
        Case{"def main(int64(3) I) -> (y) { y(I(i)) +=! 1.0 }", "declare it", "y(I"},
        Case{"def main(float(3) x) -> (y) { (y, z)() argmax=! (x(r), r, r) }", "2 results", "(y"},
        Case{"def main(float(3) x) -> (y) { y() argmax=! x(r) }", "argmax", "y()"},
        Case{"def main(float(3) x) -> (y) { y() custom=! x(r) }", "combine", "y()"},
        Case{"def main(float(3) x) -> (y) { y(i) = x(x(i)) }", "must be an integer", "x(i)"}));

TEST(Parser, OperandTypesAreNamedWithTheirPlace) {
  try {
    parse_graph("def main(float(3) x, double(3) z) -> (y) {\n  y(i) = x(i) + z(i)\n}");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::DType);
    EXPECT_NE(std::string(error.what()).find("<text>:2:15: '+'"), std::string::npos)
        << error.what();
  }
}

TEST(Parser, PowersAreThoseOfPython) {
  const auto body = [](const std::string& text) {
    const Graph graph =
        parse_graph("def main(float(3) x) -> (y) { y(i) = " + text + " where i in 0:3 }");
    return print_stage(graph, graph.stages[0]);
  };
  for (const auto& [python, spelled] : {std::pair{"-x(i) ** x(i)", "-pow(x(i), x(i))"},
                                        {"x(i) ** -x(i)", "pow(x(i), -x(i))"},
                                        {"x(i) ** x(i) ** 3", "pow(x(i), pow(x(i), 3))"},
                                        {"2 * x(i) ** 3 * x(i)", "2 * pow(x(i), 3) * x(i)"},
                                        {"-2 ** x(i)", "-pow(2, x(i))"},
                                        {"(-2) ** x(i)", "pow(-2, x(i))"}})
    EXPECT_EQ(body(python), body(spelled)) << python;
}

TEST(Parser, AnEquivalentFunctionIsReadAndChangesNothing) {
  const char* plain = "def f(float(3) x) -> (y) { y(i) = x(i + j) where j in 0:1 }";
  const char* noted = "def f(float(3) x) -> (y) { y(i) = x(i + j) <=> copy(x) where j in 0:1 }";
  const auto reduced = [](std::string text) { return text.replace(text.find(" = "), 3, " +=! "); };
  EXPECT_EQ(print(parse_graph(reduced(noted))), print(parse_graph(reduced(plain))));
}

TEST(Parser, AConstantOnTheLeftMakesAResultThatReachesIt) {
  const Graph total = parse_graph("def f(float(4) x) -> (y) { y(0) +=! x(i) }");
  EXPECT_EQ(total.stages[0].kind, StageKind::Compute);
  EXPECT_EQ(total.info(total.outputs[0]).shape, std::vector<int64_t>{1});
  const Graph column = parse_graph("def f(float(4, 3) x) -> (y) { y(0, i, 0) +=! x(i, j) }");
  EXPECT_EQ(column.info(column.outputs[0]).shape, (std::vector<int64_t>{1, 4, 1}));
  const Graph third = parse_graph("def f(float(4) x) -> (y) { y(2) +=! x(i) }");
  EXPECT_EQ(third.info(third.outputs[0]).shape, std::vector<int64_t>{3});
  const double numbers[] = {1, 2, 3, 4};
  const Array x[] = {Array::of(DType::Float32, {4}, numbers)};
  const Array y = interpret(third, x)[0];
  EXPECT_EQ(std::vector<double>({y.at(0), y.at(1), y.at(2)}), std::vector<double>({0, 0, 10}));
}

TEST(Parser, AConstantOnTheLeftOfADeclaredShapeIsAScatter) {
  const Graph graph = parse_graph("def f(float(4) x) -> (y) { float(5) y(2) +=! x(i) }");
  EXPECT_EQ(graph.stages[0].kind, StageKind::Scatter);
}

TEST(Parser, CommentsAndSemicolons) {
  const Graph graph = parse_graph(
      "# before\ndef main(float(3) x) -> (y) { # the body\n  y(i) = x(i); z(i) = y(i);\n}");
  EXPECT_EQ(graph.stages.size(), 2u);
}

TEST(Parser, AParenthesisOnTheNextLineBeginsAStatement) {
  const Graph graph = parse_graph(
      "def main(float(3) x, float s) -> (y, v) {\n  y(i) = x(i) * s\n  (v, w)() argmax=! (y(r), "
      "r)\n}");
  EXPECT_EQ(graph.stages.size(), 2u);
}

TEST(Parser, LongLinesAreCutAroundTheCaret) {
  const std::string error =
      error_of("def main(float(3) x) -> (y) { y(i) = " + std::string(5000, ' ') + "@ }");
  EXPECT_LT(error.size(), 500u);
  EXPECT_NE(error.find("1:5038"), std::string::npos) << error;
}

}  // namespace
}  // namespace adjit::graph
