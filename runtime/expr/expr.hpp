// runtime/expr/expr.hpp -- scalar expressions: a hash-consed pool, named by 32-bit ids.
//
// Building the same expression twice gives the same id, so equality is integer equality and a walk
// with a memo table is linear in distinct nodes. Children always have smaller ids than their
// parents: a loop over ids is a topological order, and no walk needs recursion on the C stack
// (chains 10,000 deep occur). Nothing in an expression hides a loop: reductions belong to stages
// (runtime/graph).
//
// Axes are numbered by position in their stage's domain (output axes first), so equal bodies are
// equal ids.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "runtime/expr/dtype.hpp"
#include "runtime/expr/id_map.hpp"
#include "runtime/expr/op.hpp"

namespace adjit::expr {

/// Index of a node in its pool.
struct ExprId {
  uint32_t value = UINT32_MAX;
  bool valid() const { return value != UINT32_MAX; }
  auto operator<=>(const ExprId&) const = default;
};

/// Index of a tensor in its graph (Graph::tensors).
struct TensorId {
  uint32_t value = UINT32_MAX;
  bool valid() const { return value != UINT32_MAX; }
  auto operator<=>(const TensorId&) const = default;
};

/// One node. `payload`: Constant: the value's bits (integers and bool sign-extended to 64 bits;
/// every float type as the bits of the double of the same value); Axis, Argument: its number; Read:
/// the tensor's id; else 0.
struct Node {
  Op op = Op::Constant;
  DType dtype = DType::Bool;
  uint32_t first_operand = 0;  // into ExprPool's operand array
  uint32_t operand_count = 0;
  uint64_t payload = 0;
};

/// The dtype of an operation (neither a leaf nor a cast) on operands of these dtypes, or
/// ErrorCode::DType naming it.
DType result_dtype(Op op, std::span<const DType> operands);

/// Owns nodes; append-only. Copyable (a value). Not thread-safe while being built.
class ExprPool {
 public:
  size_t size() const { return nodes_.size(); }
  const Node& operator[](ExprId id) const { return nodes_[id.value]; }
  std::span<const ExprId> operands(ExprId id) const {
    const Node& n = nodes_[id.value];
    return {operands_.data() + n.first_operand, n.operand_count};
  }
  ExprId operand(ExprId id, size_t k) const { return operands(id)[k]; }
  DType dtype(ExprId id) const { return nodes_[id.value].dtype; }

  // Leaves.
  ExprId constant_int(int64_t value,
                      DType dtype = DType::Int64);   // integers and bool; wraps to the dtype
  ExprId constant_float(double value, DType dtype);  // rounded to the dtype
  /// Zero, one, ... in any dtype.
  ExprId constant(double value, DType dtype);
  ExprId axis(size_t number);                   // Int64
  ExprId argument(size_t number, DType dtype);  // operand of a custom combiner
  /// tensor[index...], where `index` are Int64 expressions. With a predicate (Bool): where it is
  /// false the value is 0 and no memory is touched; a constant-true predicate is dropped.
  ExprId read(TensorId tensor, DType dtype, std::span<const ExprId> index, ExprId predicate = {});

  /// Any other operation; checks arity and dtypes (ErrorCode::DType names the operation) and folds
  /// what is exact: constants, x+0 (integers), x*1, selects with a constant or equal branches,
  /// double negation, and integer affine arithmetic into the canonical order. Floats are only
  /// folded where IEEE gives the same bits: never x*0, never x+0 unless -0 cannot be told apart.
  ExprId make(Op op, std::span<const ExprId> operands);
  ExprId make(Op op, std::initializer_list<ExprId> operands) {
    return make(op, std::span<const ExprId>(operands.begin(), operands.size()));
  }
  ExprId cast(ExprId operand, DType dtype);

  // Shorthand.
  ExprId add(ExprId a, ExprId b) { return make(Op::Add, {a, b}); }
  ExprId sub(ExprId a, ExprId b) { return make(Op::Sub, {a, b}); }
  ExprId mul(ExprId a, ExprId b) { return make(Op::Mul, {a, b}); }
  ExprId div(ExprId a, ExprId b) { return make(Op::Div, {a, b}); }
  ExprId neg(ExprId a) { return make(Op::Neg, {a}); }
  ExprId select(ExprId condition, ExprId a, ExprId b) {
    return make(Op::Select, {condition, a, b});
  }
  ExprId logical_and(ExprId a, ExprId b) { return make(Op::And, {a, b}); }

  // Reading leaves.
  bool is(ExprId id, Op op) const { return nodes_[id.value].op == op; }
  size_t axis_number(ExprId id) const { return static_cast<size_t>(nodes_[id.value].payload); }
  TensorId read_tensor(ExprId id) const {
    return TensorId{static_cast<uint32_t>(nodes_[id.value].payload)};
  }
  std::span<const ExprId> read_index(ExprId id) const;  // without the predicate
  ExprId read_predicate(ExprId id) const;               // invalid when unguarded
  /// The value of an integer or bool constant.
  std::optional<int64_t> int_value(ExprId id) const;
  /// The value of a constant of any dtype.
  std::optional<double> value(ExprId id) const;
  /// Whether it is the constant 0, of whichever sign.
  bool is_zero(ExprId id) const {
    const std::optional<double> constant = value(id);
    return constant && *constant == 0;
  }
  bool is_true(ExprId id) const { return int_is(id, 1); }
  bool is_false(ExprId id) const { return int_is(id, 0); }

  /// The node as it stands, without any folding: used by parsers and by tests of canonical form.
  ExprId intern(const Node& node, std::span<const ExprId> operands);

 private:
  bool int_is(ExprId id, int64_t v) const {
    return nodes_[id.value].dtype == DType::Bool && nodes_[id.value].op == Op::Constant &&
           static_cast<int64_t>(nodes_[id.value].payload) == v;
  }
  uint64_t hash_of(const Node& node, std::span<const ExprId> operands) const;
  void grow_table();

  std::vector<Node> nodes_;
  std::vector<ExprId> operands_;
  std::vector<uint32_t> table_;  // open addressing: node ids, UINT32_MAX when free
};

/// Rebuilds expressions of `source` in `target` (which may be the same pool), replacing leaves:
/// `leaf` is asked for every Axis, Argument and Read and may answer an id of `target`, or an
/// invalid id to keep the node (its rebuilt operands are given for a Read). Linear in distinct
/// nodes over the lifetime of the object; not recursive.
class Rebuilder {
 public:
  using Leaf = std::function<ExprId(ExprId leaf, std::span<const ExprId> rebuilt_operands)>;
  Rebuilder(const ExprPool& source, ExprPool& target, Leaf leaf)
      : source_(&source), target_(&target), leaf_(std::move(leaf)) {}
  ExprId operator()(ExprId root);

 private:
  const ExprPool* source_;
  ExprPool* target_;
  Leaf leaf_;
  IdMap done_;
};

/// Distinct nodes reachable from the roots, children before parents (ascending ids).
std::vector<ExprId> reachable(const ExprPool& pool, std::span<const ExprId> roots);

/// Whether the expressions read a tensor: an index that does is named by data.
bool contains_read(const ExprPool& pool, std::span<const ExprId> roots);

/// The same nodes, children before parents, in the order in which a walk from the roots, left to
/// right, finishes them: it depends on the structure only, not on the ids.
std::vector<ExprId> post_order(const ExprPool& pool, std::span<const ExprId> roots);

}  // namespace adjit::expr
