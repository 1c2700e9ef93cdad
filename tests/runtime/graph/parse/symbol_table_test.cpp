// tests/runtime/graph/parse/symbol_table_test.cpp -- integers and affine forms of syntax.
#include "runtime/graph/parse/symbol_table.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/expression_parser.hpp"
#include "tests/runtime/graph/texts.hpp"

namespace adjit::graph {
namespace {

// One expression, in a scope with the symbol N = 6, a tensor A (4 x 5) and the names i and j.
struct Scope {
  explicit Scope(const std::string& expression) : text(expression) {
    Cursor cursor(source, tokens);
    root = parse_expression(cursor, syntax);
    table.tensors.emplace("A", add_input(graph, "A", DType::Float32, {4, 5}));
  }
  std::optional<Affine> form(Domain* domain = nullptr) {
    AffineReader reader(table, names, domain);
    const std::optional<Affine> found = reader(root);
    overflowed = reader.overflowed();
    return found;
  }
  int64_t value() { return evaluate_integer(table, root); }
  std::string refusal() {
    try {
      return std::to_string(value());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Parse);
      return error.what();
    }
  }

  std::string text;
  Source source{text, "<text>"};
  std::vector<Token> tokens = tokenize(source);
  Syntax syntax;
  Graph graph;
  SymbolTable table{&source, &syntax, &graph, {{"N", 6}}, {}};
  AffineReader::Names names{{"i", Affine::variable(0)}, {"j", Affine::variable(1)}};
  SyntaxId root = 0;
  bool overflowed = false;
};

int64_t value_of(const std::string& text) { return Scope(text).value(); }

TEST(SymbolTable, IntegersOfLiteralsSymbolsAndExtents) {
  EXPECT_EQ(value_of("2 * N - A.1 + 0x1F"), 12 - 5 + 31);
  EXPECT_EQ(value_of("-9223372036854775807"), -INT64_MAX);
  EXPECT_EQ(value_of("9223372036854775807"), INT64_MAX);
  EXPECT_EQ(value_of("-7 // 2"), -4) << "floored";
  EXPECT_EQ(value_of("-7 / 2"), -4);
  EXPECT_EQ(value_of("-7 % 2"), 1);
  EXPECT_EQ(value_of("-(N)"), -6);
}

TEST(SymbolTable, WhatIsNoIntegerIsRefusedWhereItStands) {
  EXPECT_NE(Scope("9223372036854775808").refusal().find("not an integer of 64 bits"),
            std::string::npos);
  EXPECT_NE(Scope("N + M").refusal().find("1:5: the symbol 'M' has no value"), std::string::npos);
  EXPECT_NE(Scope("N + 0.5").refusal().find("known from the shapes"), std::string::npos);
  EXPECT_NE(Scope("N // 0").refusal().find("known from the shapes"), std::string::npos);
  EXPECT_NE(Scope("9223372036854775807 + N").refusal().find("known from the shapes"),
            std::string::npos);
  EXPECT_NE(Scope("A.2").refusal().find("'A' has 2 dimensions, no dimension 2"), std::string::npos);
  EXPECT_NE(Scope("A.9999999999").refusal().find("no dimension 9999999999"), std::string::npos);
  EXPECT_NE(Scope("B.0").refusal().find("there is no tensor 'B'"), std::string::npos);
}

TEST(SymbolTable, AffineFormsAreInTheNames) {
  EXPECT_EQ(*Scope("2 * i - (j - N) * 3").form(),
            Affine::variable(0, 2) + Affine::variable(1, -3) + Affine(18));
  EXPECT_EQ(*Scope("-i + A.0").form(), Affine::variable(0, -1, 4));
  for (const char* text : {"i * j", "k + 1", "A(i, j)", "0.5 * i", "i < j", "max(i, j)", "!i"})
    EXPECT_FALSE(Scope(text).form()) << text;
}

TEST(SymbolTable, DivisionsNeedADomainThatHoldsThem) {
  EXPECT_FALSE(Scope("i // 2").form());
  Domain domain;
  domain.extents = {8, 8};
  EXPECT_EQ(*Scope("i % 3 + i // 3").form(&domain), Affine::variable(0) + Affine::variable(2, -2))
      << "i - 3 q + q";
  EXPECT_EQ(domain.divisions, (std::vector<Division>{{Affine::variable(0), 3}}));
  for (const char* text : {"i // 0", "i % -2", "i // j"})
    EXPECT_FALSE(Scope(text).form(&domain)) << text;
}

TEST(SymbolTable, WhatLeaves64BitsHasNoFormAndIsMarked) {
  Scope large("i * 9223372036854775807 * 2");
  EXPECT_FALSE(large.form());
  EXPECT_TRUE(large.overflowed);
  Domain domain;
  domain.extents = {8, 8};
  Scope wraps("(i * 9223372036854775807) // 2");
  EXPECT_FALSE(wraps.form(&domain)) << "a numerator that wraps has another quotient";
  EXPECT_TRUE(wraps.overflowed);
  Scope open("i * j");
  EXPECT_FALSE(open.form());
  EXPECT_FALSE(open.overflowed);
}

TEST(SymbolTable, PartsOfAnExpressionWithoutAFormHaveTheirs) {
  Scope scope("A(i + 1, j * i)");
  AffineReader reader(scope.table, scope.names, nullptr);
  EXPECT_FALSE(reader(scope.root));
  EXPECT_EQ(reader.form(scope.syntax.child(scope.root, 0)), Affine::variable(0, 1, 1));
  EXPECT_FALSE(reader.form(scope.syntax.child(scope.root, 1)));
}

}  // namespace
}  // namespace adjit::graph
