// runtime/graph/parse/symbol_table.hpp -- what names mean while a definition becomes a graph.
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>

#include "runtime/graph/parse/syntax.hpp"

namespace adjit::graph {

/// One block (a definition's or a scan's): symbols and the newest version of every tensor.
struct SymbolTable {
  const Source* source = nullptr;
  const Syntax* syntax = nullptr;
  Graph* graph = nullptr;
  std::unordered_map<std::string_view, int64_t> symbols;
  std::unordered_map<std::string_view, TensorId> tensors;
  /// Whether expressions are folded while they are built. Off for concrete texts, whose every node
  /// is kept as written.
  bool fold = false;

  [[noreturn]] void fail(uint32_t offset, const std::string& message) const {
    parse_error(*source, offset, message);
  }
  const SyntaxNode& node(SyntaxId id) const { return (*syntax)[id]; }
};

/// The extent that `A.0` names. ErrorCode::Parse when there is no such tensor or dimension.
int64_t dimension_value(const SymbolTable& scope, const SyntaxNode& node);
/// An integer literal's value (decimal or hexadecimal, with its sign).
int64_t integer_value(const SymbolTable& scope, const SyntaxNode& literal);
/// An expression of integers, symbols and extents: trips, extents, ends of ranges. ErrorCode::Parse
/// otherwise.
int64_t evaluate_integer(const SymbolTable& scope, SyntaxId root);

/// Affine forms of expressions over named variables.
class AffineReader {
 public:
  using Names = std::unordered_map<std::string_view, Affine>;
  /// `domain`, when given, takes the divisions that // and % need; without it they have no form.
  AffineReader(const SymbolTable& scope, const Names& names, Domain* domain)
      : scope_(scope), names_(names), domain_(domain) {}
  /// nullopt when the expression is not (quasi-)affine in the names.
  std::optional<Affine> operator()(SyntaxId root);
  /// Whether an expression had no form for numbers of more than 64 bits: code wraps there.
  bool overflowed() const { return overflowed_; }
  /// The form of any node inside the last root.
  const std::optional<Affine>& form(SyntaxId id) const { return forms_.at(id); }

 private:
  std::optional<Affine> convert(SyntaxId id);
  std::optional<Affine> operation(const SyntaxNode& node, SyntaxId id);

  const SymbolTable& scope_;
  const Names& names_;
  Domain* domain_;
  bool overflowed_ = false;
  std::unordered_map<SyntaxId, std::optional<Affine>> forms_;
};

}  // namespace adjit::graph
