// runtime/graph/parse/symbol_table.cpp -- integers and affine forms of syntax.
#include "runtime/graph/parse/symbol_table.hpp"

#include <charconv>
#include <limits>
#include <string>

namespace adjit::graph {

int64_t dimension_value(const SymbolTable& scope, const SyntaxNode& node) {
  const size_t dot = node.text.find('.');
  const std::string name(node.text.substr(0, dot));
  const auto at = scope.tensors.find(node.text.substr(0, dot));
  if (at == scope.tensors.end()) scope.fail(node.offset, "there is no tensor '" + name + "'");
  const std::vector<int64_t>& shape = scope.graph->info(at->second).shape;
  const std::string digits(node.text.substr(dot + 1));
  const size_t d = digits.size() > 3 ? SIZE_MAX : static_cast<size_t>(std::stoi(digits));
  if (d >= shape.size())
    scope.fail(node.offset, "'" + name + "' has " + std::to_string(shape.size()) +
                                " dimensions, no dimension " + digits);
  return shape[d];
}

int64_t integer_value(const SymbolTable& scope, const SyntaxNode& literal) {
  std::string_view digits = literal.text;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0X")) {
    digits.remove_prefix(2);
    base = 16;
  }
  uint64_t magnitude = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  const uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (error != std::errc() || end != digits.data() + digits.size() ||
      magnitude > limit + (literal.negative ? 1 : 0))
    scope.fail(literal.offset, "this is not an integer of 64 bits");
  return static_cast<int64_t>(literal.negative ? 0 - magnitude : magnitude);
}

int64_t evaluate_integer(const SymbolTable& scope, SyntaxId root) {
  const AffineReader::Names none;
  AffineReader reader(scope, none, nullptr);
  const std::optional<Affine> form = reader(root);
  if (form && form->is_constant()) return form->constant();
  for (SyntaxId id = scope.node(root).subtree; id <= root; ++id) {
    const SyntaxNode& node = scope.node(id);
    if (node.kind == SyntaxKind::Name && !scope.symbols.contains(node.text))
      scope.fail(node.offset, "the symbol '" + std::string(node.text) +
                                  "' has no value here: it must be an extent of an input");
  }
  scope.fail(scope.node(root).offset, "this must be an integer known from the shapes");
}

std::optional<Affine> AffineReader::operator()(SyntaxId root) {
  for (SyntaxId id = scope_.node(root).subtree; id <= root; ++id) {
    std::optional<Affine> converted;
    try {
      converted = convert(id);
    } catch (const Overflow&) {
      overflowed_ = true;
    }
    forms_[id] = std::move(converted);
  }
  return forms_.at(root);
}

std::optional<Affine> AffineReader::convert(SyntaxId id) {
  const SyntaxNode& node = scope_.node(id);
  switch (node.kind) {
    case SyntaxKind::Integer: return Affine(integer_value(scope_, node));
    case SyntaxKind::Dimension: return Affine(dimension_value(scope_, node));
    case SyntaxKind::Operation: return operation(node, id);
    case SyntaxKind::Name:
      if (const auto at = names_.find(node.text); at != names_.end()) return at->second;
      if (const auto at = scope_.symbols.find(node.text); at != scope_.symbols.end())
        return Affine(at->second);
      return std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<Affine> AffineReader::operation(const SyntaxNode& node, SyntaxId id) {
  const auto form = [&](size_t k) { return forms_.at(scope_.syntax->child(id, k)); };
  if (node.child_count == 1)
    return node.op == Op::Neg && form(0) ? std::optional(-*form(0)) : std::nullopt;
  const std::optional<Affine> a = form(0), b = form(1);
  if (!a || !b) return std::nullopt;
  switch (node.op) {
    case Op::Add: return *a + *b;
    case Op::Sub: return *a - *b;
    case Op::Mul:
      if (a->is_constant()) return *b * a->constant();
      if (b->is_constant()) return *a * b->constant();
      return std::nullopt;
    case Op::Div:
    case Op::FloorDiv:
    case Op::Mod: {
      if (!b->is_constant() || b->constant() < 1) return std::nullopt;
      const int64_t d = b->constant();
      if (a->is_constant())
        return Affine(node.op == Op::Mod ? floor_mod(a->constant(), d)
                                         : floor_div(a->constant(), d));
      if (domain_ == nullptr) return std::nullopt;
      (void)domain_->box_range(*a);  // a numerator that wraps has another quotient
      const Affine quotient = Affine::variable(domain_->add_division(*a, d));
      return node.op == Op::Mod ? *a - quotient * d : quotient;
    }
    default: return std::nullopt;
  }
}

}  // namespace adjit::graph
