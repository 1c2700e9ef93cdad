// runtime/graph/parse/statement_builder.hpp -- pointwise statements (and scatters) to stages.
#pragma once

#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/parse/expression_builder.hpp"
#include "runtime/graph/parse/ranges.hpp"
#include "runtime/graph/parse/symbol_table.hpp"

namespace adjit::graph {

/// A block under construction: its scope and the names its tensors have.
struct Block {
  SymbolTable scope;
  std::string_view definition;  // for source lines
  std::unordered_set<std::string> names;
  std::unordered_map<std::string, size_t> numbers = {};  // the next one to try behind each name

  /// A new tensor that `name` means from now on; an older version of it is renamed.
  TensorId declare(const NameSyntax& name, DType dtype, std::vector<int64_t> shape);
  /// A tensor that no text can name.
  TensorId temporary(const std::string& name, DType dtype, std::vector<int64_t> shape);
  /// The name with a number behind it that no tensor has; n of them take n steps.
  std::string numbered(const std::string& name);
  TensorId find(const NameSyntax& name) const;
  std::vector<SourceLine> lines(uint32_t offset) const;
  std::vector<int64_t> extents(const TypeSyntax& type) const;
  /// Stage::region as the statement says it, else 0.
  uint32_t region(const StatementSyntax& statement) const;
};

/// Appends the stages of one Pointwise or Scatter statement.
void build_pointwise(Block& block, const StatementSyntax& statement);

}  // namespace adjit::graph
