// runtime/graph/parse/expression_builder.hpp -- syntax to scalar expressions: names, literals'
// dtypes, promotions.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>

#include "runtime/graph/parse/symbol_table.hpp"

namespace adjit::graph {

/// Whether a subtree is one of literals only, whose dtype is still to be decided.
enum class OpenLiteral : uint8_t { No, Integer, Float };

struct BuiltSyntax {
  ExprId expr;  // invalid while open
  OpenLiteral open = OpenLiteral::No;
};

/// The expressions of one statement, built in the scope's graph.
struct ExpressionContext {
  explicit ExpressionContext(const SymbolTable& symbols) : scope(symbols) {}

  const SymbolTable& scope;
  /// Axes, lets and arguments; they hide symbols and tensors.
  std::unordered_map<std::string_view, ExprId> variables;
  std::unordered_map<SyntaxId, BuiltSyntax> built;
};

/// Literals take `wanted`, or the default. Errors are located: Parse (unknown names, ranks), DType
/// (operand types).
ExprId build_expression(ExpressionContext& context, SyntaxId root);
ExprId build_expression(ExpressionContext& context, SyntaxId root, DType wanted);
/// As an index: any integer dtype, cast to int64.
ExprId build_index(ExpressionContext& context, SyntaxId root);

}  // namespace adjit::graph
