// runtime/expr/expr.cpp -- the pool: interning, leaves, walks. Folding is in fold.cpp.
#include "runtime/expr/expr.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "runtime/expr/error.hpp"
#include "runtime/expr/fold.hpp"
#include "runtime/expr/scalar.hpp"
#include "runtime/process/per_thread.hpp"

namespace adjit::expr {
namespace {

// Whether `wide` represents every value of `dtype`.
bool holds_all_of(DType wide, DType dtype) {
  constexpr int kExactBits[kDTypeCount] = {1, 8, 7, 15, 31, 63, 11, 8, 24, 53};
  if (kExactBits[static_cast<size_t>(wide)] < kExactBits[static_cast<size_t>(dtype)]) return false;
  if (is_float(dtype)) return wide >= DType::Float32;  // the half types differ in range
  const bool has_sign = dtype >= DType::Int8;
  return !has_sign || is_float(wide) || wide >= DType::Int8;
}

constexpr uint32_t kFree = UINT32_MAX;

uint64_t mix(uint64_t h, uint64_t v) {
  h ^= v + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  h *= 0xff51afd7ed558ccdull;
  return h ^ (h >> 32);
}

[[noreturn]] void dtype_error(Op op, const std::string& what) {
  throw Error(ErrorCode::DType, "'" + std::string(info(op).name) + "': " + what);
}

}  // namespace

DType result_dtype(Op op, std::span<const DType> operands) {
  const OpInfo& op_info = info(op);
  if (op_info.arity < 0 || static_cast<size_t>(op_info.arity) != operands.size())
    throw Error(ErrorCode::Internal,
                "internal error: wrong operand count for " + std::string(op_info.id));
  const auto type = [&](size_t k) { return operands[k]; };
  const auto same = [&](size_t first) {
    for (size_t k = first + 1; k < operands.size(); ++k)
      if (type(k) != type(first))
        dtype_error(op, "operands are " + std::string(name_of(type(first))) + " and " +
                            std::string(name_of(type(k))) +
                            "; cast one of them with astype (there is no silent promotion)");
    return type(first);
  };
  switch (op_info.rule) {
    case TypeRule::Same: {
      const DType t = same(0);
      if (t == DType::Float16 || t == DType::BFloat16)
        dtype_error(op, "half types are stored, not computed with: cast to float32 first");
      return t;
    }
    case TypeRule::FloatSame: {
      const DType t = same(0);
      if (t != DType::Float32 && t != DType::Float64)
        dtype_error(
            op, "needs float32 or float64, not " + std::string(name_of(t)) + "; cast with astype");
      return t;
    }
    case TypeRule::IntSame: {
      const DType t = same(0);
      if (is_float(t)) dtype_error(op, "needs integers or bool, not " + std::string(name_of(t)));
      return t;
    }
    case TypeRule::Comparison: same(0); return DType::Bool;
    case TypeRule::Logical:
      if (same(0) != DType::Bool)
        dtype_error(op, "needs bool, not " + std::string(name_of(type(0))));
      return DType::Bool;
    case TypeRule::FloatTest:
      if (!is_float(type(0))) dtype_error(op, "needs a float type");
      return DType::Bool;
    case TypeRule::Select:
      if (type(0) != DType::Bool) dtype_error(op, "the condition must be bool");
      return same(1);
    case TypeRule::Leaf:
    case TypeRule::Cast: break;
  }
  throw Error(ErrorCode::Internal, "internal error: leaf or cast in make()");
}

ExprId ExprPool::constant_int(int64_t value, DType dtype) {
  invariant(!is_float(dtype), "constant_int of a float type");
  return intern({Op::Constant, dtype, 0, 0, static_cast<uint64_t>(wrap_to(value, dtype))}, {});
}

ExprId ExprPool::constant_float(double value, DType dtype) {
  invariant(is_float(dtype), "constant_float of an integer type");
  return intern({Op::Constant, dtype, 0, 0, std::bit_cast<uint64_t>(round_to(value, dtype))}, {});
}

ExprId ExprPool::constant(double value, DType dtype) {
  return is_float(dtype) ? constant_float(value, dtype)
                         : constant_int(static_cast<int64_t>(value), dtype);
}

ExprId ExprPool::axis(size_t number) { return intern({Op::Axis, DType::Int64, 0, 0, number}, {}); }

ExprId ExprPool::argument(size_t number, DType dtype) {
  return intern({Op::Argument, dtype, 0, 0, number}, {});
}

ExprId ExprPool::read(TensorId tensor, DType dtype, std::span<const ExprId> index,
                      ExprId predicate) {
  std::vector<ExprId> operands(index.begin(), index.end());
  for (ExprId coordinate : operands)
    if (this->dtype(coordinate) != DType::Int64)
      throw Error(ErrorCode::DType, "an index must be int64, not " +
                                        std::string(name_of(this->dtype(coordinate))) +
                                        "; cast it with astype");
  if (predicate.valid() && is_false(predicate)) return constant(0, dtype);
  if (predicate.valid() && !is_true(predicate)) {
    if (this->dtype(predicate) != DType::Bool)
      throw Error(ErrorCode::DType, "the predicate of a read must be bool");
    operands.push_back(predicate);
    // A guarded read differs from an unguarded one by its operand count; the high payload bit keeps
    // the two apart when ranks differ, too.
    return intern({Op::Read, dtype, 0, 0, (uint64_t{1} << 32) | tensor.value}, operands);
  }
  return intern({Op::Read, dtype, 0, 0, tensor.value}, operands);
}

std::span<const ExprId> ExprPool::read_index(ExprId id) const {
  const std::span<const ExprId> all = operands(id);
  return nodes_[id.value].payload >> 32 ? all.first(all.size() - 1) : all;
}

ExprId ExprPool::read_predicate(ExprId id) const {
  return nodes_[id.value].payload >> 32 ? operands(id).back() : ExprId{};
}

ExprId ExprPool::make(Op op, std::span<const ExprId> operands) {
  const std::vector<ExprId> stable(operands.begin(), operands.end());  // may point into the pool
  std::array<DType, 3> dtypes{};  // no operation has more operands
  invariant(stable.size() <= dtypes.size(), "too many operands");
  for (size_t k = 0; k < stable.size(); ++k) dtypes[k] = this->dtype(stable[k]);
  const DType dtype = result_dtype(op, std::span(dtypes.data(), stable.size()));
  if (const ExprId folded = fold(*this, op, dtype, stable); folded.valid()) return folded;
  return intern({op, dtype, 0, 0, 0}, stable);
}

ExprId ExprPool::cast(ExprId operand, DType dtype) {
  const DType from = this->dtype(operand);
  if (from == dtype) return operand;
  if (is(operand, Op::Constant)) {
    const uint64_t bits = nodes_[operand.value].payload;
    const Scalar v = is_float(from) ? Scalar::of_float(std::bit_cast<double>(bits))
                                    : Scalar::of_int(static_cast<int64_t>(bits));
    const Scalar r = apply(Op::Cast, from, dtype, std::span(&v, 1));
    return is_float(dtype) ? constant_float(r.f, dtype) : constant_int(r.i, dtype);
  }
  // There and back, by way of a type that holds every value of the first.
  if (is(operand, Op::Cast)) {
    const ExprId first = this->operand(operand, 0);
    if (this->dtype(first) == dtype && holds_all_of(from, dtype)) return first;
  }
  return intern({Op::Cast, dtype, 0, 0, 0}, std::span(&operand, 1));
}

std::optional<int64_t> ExprPool::int_value(ExprId id) const {
  const Node& n = nodes_[id.value];
  if (n.op != Op::Constant || is_float(n.dtype)) return std::nullopt;
  return static_cast<int64_t>(n.payload);
}

std::optional<double> ExprPool::value(ExprId id) const {
  const Node& n = nodes_[id.value];
  if (n.op != Op::Constant) return std::nullopt;
  if (is_float(n.dtype)) return std::bit_cast<double>(n.payload);
  return static_cast<double>(static_cast<int64_t>(n.payload));
}

uint64_t ExprPool::hash_of(const Node& node, std::span<const ExprId> operands) const {
  uint64_t h =
      mix(static_cast<uint64_t>(node.op) * 16 + static_cast<uint64_t>(node.dtype), node.payload);
  for (ExprId id : operands) h = mix(h, id.value);
  return h;
}

void ExprPool::grow_table() {
  const size_t wanted = std::max<size_t>(64, table_.size() * 2);
  table_.assign(wanted, kFree);
  for (uint32_t id = 0; id < nodes_.size(); ++id) {
    size_t slot = hash_of(nodes_[id], operands(ExprId{id})) & (wanted - 1);
    while (table_[slot] != kFree) slot = (slot + 1) & (wanted - 1);
    table_[slot] = id;
  }
}

ExprId ExprPool::intern(const Node& node, std::span<const ExprId> operands) {
  if (2 * (nodes_.size() + 1) > table_.size()) grow_table();
  size_t slot = hash_of(node, operands) & (table_.size() - 1);
  for (; table_[slot] != kFree; slot = (slot + 1) & (table_.size() - 1)) {
    const ExprId id{table_[slot]};
    const Node& n = nodes_[id.value];
    if (n.op == node.op && n.dtype == node.dtype && n.payload == node.payload &&
        std::ranges::equal(this->operands(id), operands))
      return id;
  }
  if (nodes_.size() >= kFree - 1)
    throw Error(ErrorCode::Memory, "an expression pool is limited to 2^32 nodes");
  Node fresh = node;
  fresh.first_operand = static_cast<uint32_t>(operands_.size());
  fresh.operand_count = static_cast<uint32_t>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
  table_[slot] = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back(fresh);
  return ExprId{table_[slot]};
}

ExprId Rebuilder::operator()(ExprId root) {
  std::vector<ExprId> stack{root};
  std::vector<ExprId> rebuilt;
  while (!stack.empty()) {
    const ExprId id = stack.back();
    if (done_.contains(id.value)) {
      stack.pop_back();
      continue;
    }
    bool ready = true;
    const std::span<const ExprId> operands = source_->operands(id);
    for (size_t k = operands.size(); k-- > 0;)
      if (!done_.contains(operands[k].value)) {
        stack.push_back(operands[k]);
        ready = false;
      }
    if (!ready) continue;
    stack.pop_back();
    rebuilt.clear();
    for (ExprId operand : operands) rebuilt.push_back(ExprId{*done_.find(operand.value)});
    const Node node = (*source_)[id];  // by value: the pools may be the same, and grow
    ExprId result;
    if (node.op == Op::Axis || node.op == Op::Argument || node.op == Op::Read)
      result = leaf_(id, rebuilt);
    if (!result.valid()) {
      const OpInfo& op_info = info(node.op);
      if (node.op == Op::Read) {
        const bool guarded = source_->read_predicate(id).valid();
        const ExprId predicate = guarded ? rebuilt.back() : ExprId{};
        if (guarded) rebuilt.pop_back();
        result = target_->read(source_->read_tensor(id), node.dtype, rebuilt, predicate);
      } else if (op_info.rule == TypeRule::Leaf) {
        result = target_->intern({node.op, node.dtype, 0, 0, node.payload}, {});
      } else if (node.op == Op::Cast) {
        result = target_->cast(rebuilt[0], node.dtype);
      } else {
        result = target_->make(node.op, rebuilt);
      }
    }
    done_.insert(id.value, result.value);
  }
  return ExprId{*done_.find(root.value)};
}

namespace {

// What a walk has seen carries its number, so that nothing is cleared between walks: most bodies
// have few nodes, in pools of many.
struct Walks {
  std::vector<uint32_t> seen;
  uint32_t walk = 0;
};
PerThread<Walks> walks;

}  // namespace

std::vector<ExprId> reachable(const ExprPool& pool, std::span<const ExprId> roots) {
  auto& [seen, walk] = walks.get();
  if (++walk == 0) {
    std::ranges::fill(seen, 0);
    walk = 1;
  }
  if (seen.size() < pool.size()) seen.resize(pool.size(), 0);
  std::vector<ExprId> found;
  const auto visit = [&](ExprId id) {
    if (std::exchange(seen[id.value], walk) != walk) found.push_back(id);
  };
  for (ExprId root : roots) visit(root);
  for (size_t k = 0; k < found.size(); ++k)
    for (ExprId operand : pool.operands(found[k])) visit(operand);
  std::ranges::sort(found);
  return found;
}

bool contains_read(const ExprPool& pool, std::span<const ExprId> roots) {
  return std::ranges::any_of(reachable(pool, roots),
                             [&](ExprId id) { return pool.is(id, Op::Read); });
}

std::vector<ExprId> post_order(const ExprPool& pool, std::span<const ExprId> roots) {
  std::vector<ExprId> order;
  IdMap done;
  std::vector<ExprId> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const ExprId id = stack.back();
    const size_t size = stack.size();
    const std::span<const ExprId> operands = pool.operands(id);
    if (!done.contains(id.value))
      for (size_t k = operands.size(); k-- > 0;)
        if (!done.contains(operands[k].value)) stack.push_back(operands[k]);
    if (stack.size() > size) continue;  // operands first
    stack.pop_back();
    if (done.insert(id.value)) order.push_back(id);
  }
  return order;
}

}  // namespace adjit::expr
