// tests/runtime/graph/parse/parser_test.cpp -- errors of the text notation: each points at what is
// wrong.
#include "runtime/graph/parse/parser.hpp"

#include <gtest/gtest.h>

#include <string>

#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

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

TEST(Parser, AnEquivalentFunctionIsReadAndChangesNothing) {
  const char* plain = "def f(float(3) x) -> (y) { y(i) = x(i + j) where j in 0:1 }";
  const char* noted = "def f(float(3) x) -> (y) { y(i) = x(i + j) <=> copy(x) where j in 0:1 }";
  const auto reduced = [](std::string text) { return text.replace(text.find(" = "), 3, " +=! "); };
  EXPECT_EQ(print(parse_graph(reduced(noted))), print(parse_graph(reduced(plain))));
}

}  // namespace
}  // namespace adjit::graph
