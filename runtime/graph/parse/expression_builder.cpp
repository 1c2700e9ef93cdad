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

}  // namespace

ExprId ExpressionBuilder::build(SyntaxId root) {
  build_nodes(root);
  return settle_default(root);
}

ExprId ExpressionBuilder::build(SyntaxId root, DType wanted) {
  build_nodes(root);
  if (built_.at(root).open == Open::No) return built_.at(root).expr;
  // An open expression computes in the accumulator's type and is stored in the wanted one.
  if (is_leaf_literal(root) || accumulator_of(wanted) == wanted) return settle(root, wanted);
  return pool().cast(settle(root, accumulator_of(wanted)), wanted);
}

ExprId ExpressionBuilder::build_index(SyntaxId root) {
  build_nodes(root);
  return index(root, root);
}

void ExpressionBuilder::build_nodes(SyntaxId root) {
  for (SyntaxId id = scope_.node(root).subtree; id <= root; ++id) {
    try {
      built_[id] = build_node(id);
    } catch (const Error& error) {
      const bool located = error.code() != ErrorCode::DType && error.code() != ErrorCode::Shape;
      if (located || std::string_view(error.what()).find("\n") != std::string_view::npos) throw;
      throw Error(error.code(),
                  graph::located(*scope_.source, scope_.node(id).offset, error.what()));
    }
  }
}

ExpressionBuilder::Built ExpressionBuilder::build_node(SyntaxId id) {
  const SyntaxNode& node = scope_.node(id);
  switch (node.kind) {
    case SyntaxKind::Integer: return {{}, Open::Integer};
    case SyntaxKind::Dimension: dimension_value(scope_, node); return {{}, Open::Integer};
    case SyntaxKind::Float: return {{}, Open::Float};
    case SyntaxKind::Boolean: return {pool().constant_int(node.text == "true", DType::Bool)};
    case SyntaxKind::Name: return name(id);
    case SyntaxKind::Operation: return operation(id, node.op);
    case SyntaxKind::Call:
    case SyntaxKind::GuardedRead: return call(id);
  }
  return {};
}

ExpressionBuilder::Built ExpressionBuilder::name(SyntaxId id) {
  const SyntaxNode& node = scope_.node(id);
  if (const auto at = variables.find(node.text); at != variables.end()) return {at->second};
  if (scope_.symbols.contains(node.text)) return {{}, Open::Integer};
  const auto tensor = scope_.tensors.find(node.text);
  if (tensor == scope_.tensors.end())
    scope_.fail(node.offset, "'" + std::string(node.text) +
                                 "' is no index, let, extent or tensor of this statement");
  return read(id, tensor->second);
}

ExpressionBuilder::Built ExpressionBuilder::call(SyntaxId id) {
  const SyntaxNode& node = scope_.node(id);
  if (node.kind == SyntaxKind::Call) {
    const auto arity = [&](size_t wanted) {
      if (node.child_count != wanted)
        scope_.fail(node.offset, "'" + std::string(node.text) + "' takes " +
                                     std::to_string(wanted) + " arguments, not " +
                                     std::to_string(node.child_count));
    };
    if (const auto dtype = type_from_name(node.text)) {
      arity(1);
      return cast(id, *dtype);
    }
    if (const auto op = function_from_name(node.text)) {
      arity(static_cast<size_t>(info(*op).arity));
      return operation(id, *op);
    }
  }
  const auto tensor = scope_.tensors.find(node.text);
  if (tensor == scope_.tensors.end())
    scope_.fail(node.offset, "there is no tensor or function '" + std::string(node.text) + "'");
  return read(id, tensor->second);
}

ExpressionBuilder::Built ExpressionBuilder::read(SyntaxId id, TensorId tensor) {
  const SyntaxNode& node = scope_.node(id);
  const bool guarded = node.kind == SyntaxKind::GuardedRead;
  const TensorInfo& t = scope_.graph->info(tensor);
  const size_t rank = node.child_count - (guarded ? 1 : 0);
  if (rank != t.shape.size())
    scope_.fail(node.offset, "'" + std::string(node.text) + "' has " +
                                 std::to_string(t.shape.size()) + " dimensions but is read with " +
                                 std::to_string(rank) + " indices");
  std::vector<ExprId> operands;
  for (size_t k = 0; k < rank; ++k) operands.push_back(index(id, child(id, k)));
  const ExprId predicate = guarded ? settle_default(child(id, rank)) : ExprId{};
  if (guarded && pool().dtype(predicate) != DType::Bool)
    scope_.fail(scope_.node(child(id, rank)).offset, "the condition of a read must be bool");
  if (!guarded || scope_.fold) return {pool().read(tensor, t.dtype, operands, predicate)};
  operands.push_back(predicate);
  const Node kept{Op::Read, t.dtype, 0, 0, (uint64_t{1} << 32) | tensor.value};
  return {pool().intern(kept, operands)};
}

ExprId ExpressionBuilder::index(SyntaxId id, SyntaxId child) {
  const ExprId expr =
      built_.at(child).open == Open::No ? built_.at(child).expr : settle(child, DType::Int64);
  const DType dtype = pool().dtype(expr);
  if (!is_integer(dtype))
    scope_.fail(scope_.node(child).offset, "an index of '" + std::string(scope_.node(id).text) +
                                               "' must be an integer, not " +
                                               std::string(name_of(dtype)));
  return pool().cast(expr, DType::Int64);
}

ExpressionBuilder::Built ExpressionBuilder::cast(SyntaxId id, DType dtype) {
  const SyntaxId operand = child(id, 0);
  const Built& built = built_.at(operand);
  const bool direct = is_leaf_literal(operand)
                          ? built.open == Open::Integer || is_float(dtype)
                          : built.open == Open::Float && is_float(dtype) && !is_half(dtype);
  const ExprId expr =
      built.open != Open::No && direct ? settle(operand, dtype) : settle_default(operand);
  if (scope_.fold || pool().dtype(expr) == dtype) return {pool().cast(expr, dtype)};
  return {pool().intern({Op::Cast, dtype, 0, 0, 0}, std::span(&expr, 1))};
}

ExpressionBuilder::Built ExpressionBuilder::operation(SyntaxId id, Op op) {
  const size_t count = scope_.node(id).child_count;
  const size_t first = first_like_typed(op);
  bool open = first < count;
  Open kind = info(op).rule == TypeRule::FloatSame && op != Op::Div ? Open::Float : Open::Integer;
  for (size_t k = first; k < count; ++k) {
    const Built& b = built_.at(child(id, k));
    open = open && b.open != Open::No;
    if (b.open == Open::Float) kind = Open::Float;
  }
  // What does not share a dtype with the result has to be settled here.
  for (size_t k = 0; k < std::min(first, count); ++k) settle_default(child(id, k));
  if (open && info(op).rule != TypeRule::Comparison) return {{}, kind};
  std::vector<ExprId> operands;
  const DType dtype = first < count ? common_dtype(id, op, first) : DType::Bool;
  for (size_t k = 0; k < count; ++k) {
    const SyntaxId c = child(id, k);
    operands.push_back(k < first ? built_.at(c).expr : promote(settle(c, dtype), dtype));
  }
  return {make(id, op, std::move(operands))};
}

// The dtype that operands [first, count) are brought to: integers give way to floats, narrow
// integers to wide ones, half types to float32 where something is computed; float32 beside float64
// stays an error of the operation.
DType ExpressionBuilder::common_dtype(SyntaxId id, Op op, size_t first) {
  std::optional<DType> common;
  bool float_literal = false;
  for (size_t k = first; k < scope_.node(id).child_count; ++k) {
    const Built& b = built_.at(child(id, k));
    float_literal = float_literal || b.open == Open::Float;
    if (b.open != Open::No) continue;
    const DType t = pool().dtype(b.expr);
    if (!common)
      common = t;
    else if (is_float(t) && !is_float(*common))
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

ExprId ExpressionBuilder::promote(ExprId expr, DType dtype) {
  const DType from = pool().dtype(expr);
  const bool widens = is_half(from) ? dtype == DType::Float32 : !is_float(from);
  return from != dtype && widens ? pool().cast(expr, dtype) : expr;
}

bool ExpressionBuilder::is_leaf_literal(SyntaxId id) const {
  const SyntaxNode& node = scope_.node(id);
  return built_.at(id).open != Open::No && node.kind != SyntaxKind::Operation &&
         node.kind != SyntaxKind::Call;
}

ExprId ExpressionBuilder::settle_default(SyntaxId id) {
  return settle(id, built_.at(id).open == Open::Float ? kDefaultFloat : kDefaultInteger);
}

ExprId ExpressionBuilder::settle(SyntaxId root, DType dtype) {
  if (built_.at(root).open == Open::No) return built_.at(root).expr;
  // Children stand before their parents; what is built already (a select's condition, say) stays.
  for (SyntaxId id = scope_.node(root).subtree; id <= root; ++id) {
    Built& built = built_.at(id);
    if (built.open == Open::No) continue;
    const SyntaxNode& node = scope_.node(id);
    if (is_leaf_literal(id)) {
      built = {literal(id, dtype), Open::No};
      continue;
    }
    std::vector<ExprId> operands;
    for (size_t k = 0; k < node.child_count; ++k) operands.push_back(built_.at(child(id, k)).expr);
    const Op op = node.kind == SyntaxKind::Call ? *function_from_name(node.text) : node.op;
    built = {make(id, op, std::move(operands)), Open::No};
  }
  return built_.at(root).expr;
}

ExprId ExpressionBuilder::literal(SyntaxId id, DType dtype) {
  const SyntaxNode& node = scope_.node(id);
  const bool written = node.kind == SyntaxKind::Float || node.kind == SyntaxKind::Integer;
  if (is_float(dtype) && written) return float_literal(node, dtype);
  if (node.kind == SyntaxKind::Float)
    throw Error(ErrorCode::DType, "'" + std::string(node.text) + "' is not " +
                                      std::string(name_of(dtype)) + ": write an integer, or cast");
  const int64_t value = node.kind == SyntaxKind::Name        ? scope_.symbols.at(node.text)
                        : node.kind == SyntaxKind::Dimension ? dimension_value(scope_, node)
                                                             : integer_value(scope_, node);
  if (is_float(dtype)) return pool().constant_float(static_cast<double>(value), dtype);
  if (wrap_to(value, dtype) != value)
    throw Error(ErrorCode::DType,
                std::to_string(value) + " does not fit into " + std::string(name_of(dtype)));
  return pool().constant_int(value, dtype);
}

ExprId ExpressionBuilder::float_literal(const SyntaxNode& node, DType dtype) {
  constexpr uint64_t kQuietNan = 0x7ff8000000000000ull, kSign = uint64_t{1} << 63;
  const auto bits = [&](uint64_t b) { return pool().intern({Op::Constant, dtype, 0, 0, b}, {}); };
  if (node.text == "nan") return bits(kQuietNan | (node.negative ? kSign : 0));
  const bool hexadecimal = node.text.starts_with("0x") || node.text.starts_with("0X");
  if (hexadecimal && node.kind == SyntaxKind::Integer)
    return pool().constant_float(static_cast<double>(integer_value(scope_, node)), dtype);
  if (hexadecimal) return bits(nan_bits(scope_, node));
  const double value = node.text == "inf" ? std::numeric_limits<double>::infinity()
                                          : decimal_value(scope_, node, dtype);
  return pool().constant_float(node.negative ? -value : value, dtype);
}

ExprId ExpressionBuilder::make(SyntaxId id, Op op, std::vector<ExprId> operands) {
  if (scope_.node(id).swapped) std::swap(operands[0], operands[1]);
  const DType common = operands.empty() ? DType::Bool : pool().dtype(operands.back());
  if (op == Op::Div && !is_float(common)) op = Op::FloorDiv;
  if (scope_.fold) return pool().make(op, operands);
  std::vector<DType> dtypes;
  for (ExprId operand : operands) dtypes.push_back(pool().dtype(operand));
  const DType dtype = result_dtype(op, dtypes);
  return pool().intern({op, dtype, 0, 0, 0}, operands);
}

}  // namespace adjit::graph
