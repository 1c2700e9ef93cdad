// runtime/graph/parse/expression_builder.hpp -- syntax to scalar expressions: names, literals'
// dtypes, promotions.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/graph/parse/symbol_table.hpp"

namespace adjit::graph {

/// Builds the expressions of one statement in the scope's graph.
class ExpressionBuilder {
 public:
  explicit ExpressionBuilder(const SymbolTable& scope) : scope_(scope) {}

  /// Axes, lets and arguments; they hide symbols and tensors.
  std::unordered_map<std::string_view, ExprId> variables;

  /// Literals take `wanted`, or the default. Errors are located: Parse (unknown names, ranks),
  /// DType (operand types).
  ExprId build(SyntaxId root);
  ExprId build(SyntaxId root, DType wanted);
  /// As an index: any integer dtype, cast to int64.
  ExprId build_index(SyntaxId root);

 private:
  // A node built from literals only: its dtype is still open.
  enum class Open : uint8_t { No, Integer, Float };
  struct Built {
    ExprId expr;  // invalid while open
    Open open = Open::No;
  };

  void build_nodes(SyntaxId root);
  Built build_node(SyntaxId id);
  Built name(SyntaxId id);
  Built call(SyntaxId id);
  Built operation(SyntaxId id, Op op);
  Built cast(SyntaxId id, DType dtype);
  Built read(SyntaxId id, TensorId tensor);
  ExprId index(SyntaxId id, SyntaxId child);

  /// Gives an open subtree its dtype; nothing to do for a built one.
  ExprId settle(SyntaxId id, DType dtype);
  ExprId settle_default(SyntaxId id);
  ExprId literal(SyntaxId id, DType dtype);
  ExprId float_literal(const SyntaxNode& node, DType dtype);
  bool is_leaf_literal(SyntaxId id) const;
  DType common_dtype(SyntaxId id, Op op, size_t first);
  ExprId promote(ExprId expr, DType dtype);
  ExprId make(SyntaxId id, Op op, std::vector<ExprId> operands);
  SyntaxId child(SyntaxId id, size_t k) const { return scope_.syntax->child(id, k); }
  ExprPool& pool() { return scope_.graph->pool; }

  const SymbolTable& scope_;
  std::unordered_map<SyntaxId, Built> built_;
};

}  // namespace adjit::graph
