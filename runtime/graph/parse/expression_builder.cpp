// runtime/graph/parse/expression_builder.cpp -- syntax to scalar expressions, children before
// parents.
#include "runtime/graph/parse/expression_builder.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <utility>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

// Integers and bool by width; the wider wins.
DType wider_integer(DType a, DType b) {
  if (size_of(a) != size_of(b)) return size_of(a) > size_of(b) ? a : b;
  return std::max(a, b);
}

uint64_t nan_bits(const SymbolTable& scope, const SyntaxNode& node) {
  uint64_t bits = 0;
  const std::string_view hex = node.text.substr(2);
  const auto parsed = std::from_chars(hex.data(), hex.data() + hex.size(), bits, 16);
  if (parsed.ec != std::errc() || parsed.ptr != hex.data() + hex.size() ||
      !std::isnan(std::bit_cast<double>(bits)))
    scope.fail(node.offset, "nan_bits takes the bits of a float64 NaN as 0x and 16 digits");
  return bits;
}

// Rounded once, to the type that is asked for (half types by way of float32).
double decimal_value(const SymbolTable& scope, const SyntaxNode& node, DType dtype) {
  const char *begin = node.text.data(), *end = begin + node.text.size();
  double value = 0;
  float narrow = 0;
  const bool wide = dtype == DType::Float64;
  const auto parsed =
      wide ? std::from_chars(begin, end, value) : std::from_chars(begin, end, narrow);
  if (!wide) value = static_cast<double>(narrow);
  if (parsed.ec == std::errc::result_out_of_range)  // too large, or rounds to 0
    value = std::strtod(std::string(node.text).c_str(), nullptr);
  if (parsed.ptr != end || !std::isfinite(round_to(value, dtype)))
    scope.fail(node.offset, "this number is too large for " + std::string(name_of(dtype)));
  return value;
}

ExprPool& pool_of(const ExpressionContext& c) { return c.scope.graph->pool; }

SyntaxId child(const ExpressionContext& c, SyntaxId id, size_t k) {
  return c.scope.syntax->child(id, k);
}

ExprId make_operation(const ExpressionContext& c, SyntaxId id, Op op,
                      std::vector<ExprId> operands) {
  if (c.scope.node(id).swapped) std::swap(operands[0], operands[1]);
  const DType common = operands.empty() ? DType::Bool : pool_of(c).dtype(operands.back());
  if (op == Op::Div && !is_float(common)) op = Op::FloorDiv;
  if (c.scope.fold) return pool_of(c).make(op, operands);
  std::vector<DType> dtypes;
  for (ExprId operand : operands) dtypes.push_back(pool_of(c).dtype(operand));
  const DType dtype = result_dtype(op, dtypes);
  return pool_of(c).intern({op, dtype, 0, 0, 0}, operands);
}

ExprId float_literal(const ExpressionContext& c, const SyntaxNode& node, DType dtype) {
  constexpr uint64_t kQuietNan = 0x7ff8000000000000ull, kSign = uint64_t{1} << 63;
  const auto bits = [&](uint64_t b) {
    return pool_of(c).intern({Op::Constant, dtype, 0, 0, b}, {});
  };
  if (node.text == "nan") return bits(kQuietNan | (node.negative ? kSign : 0));
  const bool hexadecimal = node.text.starts_with("0x") || node.text.starts_with("0X");
  if (hexadecimal && node.kind == SyntaxKind::Integer)
    return pool_of(c).constant_float(static_cast<double>(integer_value(c.scope, node)), dtype);
  if (hexadecimal) return bits(nan_bits(c.scope, node));
  const double value = node.text == "inf" ? std::numeric_limits<double>::infinity()
                                          : decimal_value(c.scope, node, dtype);
  return pool_of(c).constant_float(node.negative ? -value : value, dtype);
}

ExprId literal_of(const ExpressionContext& c, SyntaxId id, DType dtype) {
  const SyntaxNode& node = c.scope.node(id);
  const bool written = node.kind == SyntaxKind::Float || node.kind == SyntaxKind::Integer;
  if (is_float(dtype) && written) return float_literal(c, node, dtype);
  if (node.kind == SyntaxKind::Float)
    throw Error(ErrorCode::DType, "'" + std::string(node.text) + "' is not " +
                                      std::string(name_of(dtype)) + ": write an integer, or cast");
  const int64_t value = node.kind == SyntaxKind::Name        ? c.scope.symbols.at(node.text)
                        : node.kind == SyntaxKind::Dimension ? dimension_value(c.scope, node)
                                                             : integer_value(c.scope, node);
  if (is_float(dtype)) return pool_of(c).constant_float(static_cast<double>(value), dtype);
  if (wrap_to(value, dtype) != value)
    throw Error(ErrorCode::DType,
                std::to_string(value) + " does not fit into " + std::string(name_of(dtype)));
  return pool_of(c).constant_int(value, dtype);
}

bool is_leaf_literal(const ExpressionContext& c, SyntaxId id) {
  const SyntaxNode& node = c.scope.node(id);
  return c.built.at(id).open != OpenLiteral::No && node.kind != SyntaxKind::Operation &&
         node.kind != SyntaxKind::Call;
}

// Gives an open subtree its dtype; nothing to do for a built one.
ExprId settle(ExpressionContext& c, SyntaxId root, DType dtype) {
  if (c.built.at(root).open == OpenLiteral::No) return c.built.at(root).expr;
  // Children stand before their parents; what is built already (a select's condition, say) stays.
  for (SyntaxId id = c.scope.node(root).subtree; id <= root; ++id) {
    BuiltSyntax& built = c.built.at(id);
    if (built.open == OpenLiteral::No) continue;
    const SyntaxNode& node = c.scope.node(id);
    if (is_leaf_literal(c, id)) {
      built = {literal_of(c, id, dtype), OpenLiteral::No};
      continue;
    }
    std::vector<ExprId> operands;
    for (size_t k = 0; k < node.child_count; ++k)
      operands.push_back(c.built.at(child(c, id, k)).expr);
    const Op op = node.kind == SyntaxKind::Call ? *function_from_name(node.text) : node.op;
    built = {make_operation(c, id, op, std::move(operands)), OpenLiteral::No};
  }
  return c.built.at(root).expr;
}

ExprId settle_default(ExpressionContext& c, SyntaxId id) {
  return settle(c, id, c.built.at(id).open == OpenLiteral::Float ? kDefaultFloat : kDefaultInteger);
}

ExprId promoted(const ExpressionContext& c, ExprId expr, DType dtype) {
  const DType from = pool_of(c).dtype(expr);
  const bool widens = is_half(from) ? dtype == DType::Float32 : !is_float(from);
  return from != dtype && widens ? pool_of(c).cast(expr, dtype) : expr;
}

// The dtype that operands [first, count) are brought to: integers give way to floats, narrow
// integers to wide ones, half types to float32 where something is computed; float32 beside float64
// stays an error of the operation.
DType common_dtype(const ExpressionContext& c, SyntaxId id, Op op, size_t first) {
  std::optional<DType> common;
  bool float_literal = false;
  for (size_t k = first; k < c.scope.node(id).child_count; ++k) {
    const BuiltSyntax& b = c.built.at(child(c, id, k));
    float_literal = float_literal || b.open == OpenLiteral::Float;
    if (b.open != OpenLiteral::No) continue;
    const DType t = pool_of(c).dtype(b.expr);
    if (!common || (is_float(t) && !is_float(*common)))
      common = t;
    else if (!is_float(t) && !is_float(*common))
      common = wider_integer(t, *common);
  }
  if (!common) return float_literal ? kDefaultFloat : kDefaultInteger;
  if (!is_float(*common) && float_literal) return kDefaultFloat;
  const TypeRule rule = info(op).rule;
  if (is_half(*common) && (rule == TypeRule::Same || rule == TypeRule::FloatSame))
    return DType::Float32;
  return *common;
}

BuiltSyntax build_operation(ExpressionContext& c, SyntaxId id, Op op) {
  const size_t count = c.scope.node(id).child_count;
  const size_t first = first_like_typed(op);
  bool open = first < count;
  OpenLiteral kind = info(op).rule == TypeRule::FloatSame && op != Op::Div ? OpenLiteral::Float
                                                                           : OpenLiteral::Integer;
  for (size_t k = first; k < count; ++k) {
    const BuiltSyntax& b = c.built.at(child(c, id, k));
    open = open && b.open != OpenLiteral::No;
    if (b.open == OpenLiteral::Float) kind = OpenLiteral::Float;
  }
  // What does not share a dtype with the result has to be settled here.
  for (size_t k = 0; k < std::min(first, count); ++k) settle_default(c, child(c, id, k));
  if (open && info(op).rule != TypeRule::Comparison) return {{}, kind};
  std::vector<ExprId> operands;
  const DType dtype = first < count ? common_dtype(c, id, op, first) : DType::Bool;
  for (size_t k = 0; k < count; ++k) {
    const SyntaxId operand = child(c, id, k);
    operands.push_back(k < first ? c.built.at(operand).expr
                                 : promoted(c, settle(c, operand, dtype), dtype));
  }
  return {make_operation(c, id, op, std::move(operands))};
}

BuiltSyntax build_cast(ExpressionContext& c, SyntaxId id, DType dtype) {
  const SyntaxId operand = child(c, id, 0);
  const BuiltSyntax& built = c.built.at(operand);
  const bool direct = is_leaf_literal(c, operand)
                          ? built.open == OpenLiteral::Integer || is_float(dtype)
                          : built.open == OpenLiteral::Float && is_float(dtype) && !is_half(dtype);
  const ExprId expr = built.open != OpenLiteral::No && direct ? settle(c, operand, dtype)
                                                              : settle_default(c, operand);
  if (c.scope.fold || pool_of(c).dtype(expr) == dtype) return {pool_of(c).cast(expr, dtype)};
  return {pool_of(c).intern({Op::Cast, dtype, 0, 0, 0}, std::span(&expr, 1))};
}

ExprId index_of(ExpressionContext& c, SyntaxId id, SyntaxId child) {
  const ExprId expr = c.built.at(child).open == OpenLiteral::No ? c.built.at(child).expr
                                                                : settle(c, child, DType::Int64);
  const DType dtype = pool_of(c).dtype(expr);
  if (!is_integer(dtype))
    c.scope.fail(c.scope.node(child).offset, "an index of '" + std::string(c.scope.node(id).text) +
                                                 "' must be an integer, not " +
                                                 std::string(name_of(dtype)));
  return pool_of(c).cast(expr, DType::Int64);
}

BuiltSyntax build_read(ExpressionContext& c, SyntaxId id, TensorId tensor) {
  const SyntaxNode& node = c.scope.node(id);
  const bool guarded = node.kind == SyntaxKind::GuardedRead;
  const TensorInfo& t = c.scope.graph->info(tensor);
  const size_t rank = node.child_count - (guarded ? 1 : 0);
  if (rank != t.shape.size())
    c.scope.fail(node.offset, "'" + std::string(node.text) + "' has " +
                                  std::to_string(t.shape.size()) + " dimensions but is read with " +
                                  std::to_string(rank) + " indices");
  std::vector<ExprId> operands;
  for (size_t k = 0; k < rank; ++k) operands.push_back(index_of(c, id, child(c, id, k)));
  const ExprId predicate = guarded ? settle_default(c, child(c, id, rank)) : ExprId{};
  if (guarded && pool_of(c).dtype(predicate) != DType::Bool)
    c.scope.fail(c.scope.node(child(c, id, rank)).offset, "the condition of a read must be bool");
  if (!guarded || c.scope.fold) return {pool_of(c).read(tensor, t.dtype, operands, predicate)};
  operands.push_back(predicate);
  const Node kept{Op::Read, t.dtype, 0, 0, (uint64_t{1} << 32) | tensor.value};
  return {pool_of(c).intern(kept, operands)};
}

BuiltSyntax build_call(ExpressionContext& c, SyntaxId id) {
  const SyntaxNode& node = c.scope.node(id);
  if (node.kind == SyntaxKind::Call) {
    const auto arity = [&](size_t wanted) {
      if (node.child_count != wanted)
        c.scope.fail(node.offset, "'" + std::string(node.text) + "' takes " +
                                      std::to_string(wanted) + " arguments, not " +
                                      std::to_string(node.child_count));
    };
    if (const auto dtype = type_from_name(node.text)) {
      arity(1);
      return build_cast(c, id, *dtype);
    }
    if (const auto op = function_from_name(node.text)) {
      arity(static_cast<size_t>(info(*op).arity));
      return build_operation(c, id, *op);
    }
  }
  const auto tensor = c.scope.tensors.find(node.text);
  if (tensor == c.scope.tensors.end())
    c.scope.fail(node.offset, "there is no tensor or function '" + std::string(node.text) + "'");
  return build_read(c, id, tensor->second);
}

BuiltSyntax build_name(ExpressionContext& c, SyntaxId id) {
  const SyntaxNode& node = c.scope.node(id);
  if (const auto at = c.variables.find(node.text); at != c.variables.end()) return {at->second};
  if (c.scope.symbols.contains(node.text)) return {{}, OpenLiteral::Integer};
  const auto tensor = c.scope.tensors.find(node.text);
  if (tensor == c.scope.tensors.end())
    c.scope.fail(node.offset, "'" + std::string(node.text) +
                                  "' is no index, let, extent or tensor of this statement");
  return build_read(c, id, tensor->second);
}

BuiltSyntax build_node(ExpressionContext& c, SyntaxId id) {
  const SyntaxNode& node = c.scope.node(id);
  switch (node.kind) {
    case SyntaxKind::Integer: return {{}, OpenLiteral::Integer};
    case SyntaxKind::Dimension: dimension_value(c.scope, node); return {{}, OpenLiteral::Integer};
    case SyntaxKind::Float: return {{}, OpenLiteral::Float};
    case SyntaxKind::Boolean: return {pool_of(c).constant_int(node.text == "true", DType::Bool)};
    case SyntaxKind::Name: return build_name(c, id);
    case SyntaxKind::Operation: return build_operation(c, id, node.op);
    case SyntaxKind::Call:
    case SyntaxKind::GuardedRead: return build_call(c, id);
  }
  return {};
}

void build_nodes(ExpressionContext& c, SyntaxId root) {
  for (SyntaxId id = c.scope.node(root).subtree; id <= root; ++id) {
    try {
      c.built[id] = build_node(c, id);
    } catch (const Error& error) {
      const bool located = error.code() != ErrorCode::DType && error.code() != ErrorCode::Shape;
      if (located || std::string_view(error.what()).find('\n') != std::string_view::npos) throw;
      throw Error(error.code(),
                  graph::located(*c.scope.source, c.scope.node(id).offset, error.what()));
    }
  }
}

}  // namespace

ExprId build_expression(ExpressionContext& c, SyntaxId root) {
  build_nodes(c, root);
  return settle_default(c, root);
}

ExprId build_expression(ExpressionContext& c, SyntaxId root, DType wanted) {
  build_nodes(c, root);
  if (c.built.at(root).open == OpenLiteral::No) return c.built.at(root).expr;
  // An open expression computes in the accumulator's type and is stored in the wanted one.
  if (is_leaf_literal(c, root) || accumulator_of(wanted) == wanted) return settle(c, root, wanted);
  return pool_of(c).cast(settle(c, root, accumulator_of(wanted)), wanted);
}

ExprId build_index(ExpressionContext& c, SyntaxId root) {
  build_nodes(c, root);
  return index_of(c, root, root);
}

}  // namespace adjit::graph
