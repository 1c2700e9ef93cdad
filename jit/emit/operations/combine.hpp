// jit/emit/operations/combine.hpp -- reducers in registers: identity, combination, folding lanes by
// a fixed tree.
#pragma once

#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/math/vector_math.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::emit {

/// One partial result per tuple component, all scalars or all vectors.
using Partial = std::vector<llvm::Value*>;

/// The payload of an ArgMax or ArgMin that has visited no point yet, where it cannot be 0 (see
/// marks_empty): the least integer in all lanes.
llvm::Constant* no_payload(llvm::Type* type);

class CombinerEmitter {
 public:
  /// `any_order`: what it combines comes in any order; of equal values of an ArgMax or ArgMin the
  /// one with the smaller payload is the first.
  CombinerEmitter(const Graph& graph, const Stage& stage, llvm::IRBuilder<>& builder,
                  VectorMath& math, bool any_order = false);

  /// Whether the payload of an accumulator without points is no_payload: the first point that an
  /// ArgMax or ArgMin visits wins even when its value is the identity. Where that point's payload
  /// is 0, as it is for positions in a reduction that no constraint restricts, the identity
  /// (extreme, 0) does without.
  bool marks_empty() const { return marks_empty_; }

  /// The register dtype of component k (half types accumulate in float32).
  DType dtype(size_t component) const;
  /// The identity: a scalar constant of that type.
  llvm::Constant* identity(size_t component) const;
  /// Those of all components: scalars, or of so many lanes vectors.
  Partial identities(unsigned lanes = 0) const;
  /// left (op) right, left being earlier in domain order.
  Partial combine(const Partial& left, const Partial& right);
  /// The same in lanes where the mask (like the components a scalar or a vector) holds, else left.
  Partial combine_where(llvm::Value* keep, const Partial& left, const Partial& right);
  /// Component by component.
  Partial selected(llvm::Value* condition, const Partial& yes, const Partial& no);
  /// combine of one component, for combiners that combine each by itself.
  llvm::Value* combine_component(size_t component, llvm::Value* left, llvm::Value* right);
  /// Folds the lanes of each vector partial: halves are combined until one is left. Of a power of
  /// two of partials, at most as many as lanes, at once: their halves share vectors, and the
  /// results are the lanes of one. Not for ArgMax, ArgMin, Custom.
  Partial fold_lanes(std::vector<Partial> partials);

 private:
  static llvm::SmallVector<int, 64> halves(unsigned lanes, unsigned block, unsigned first);
  Partial combine_arg(const Partial& left, const Partial& right, llvm::Value* keep);
  llvm::Value* equal_but_before(const Partial& left, const Partial& right);
  Partial combine_custom(const Partial& left, const Partial& right);

  const Graph& graph_;
  const Stage& stage_;
  llvm::IRBuilder<>& builder_;
  VectorMath& math_;
  bool any_order_;
  bool marks_empty_ = false;
};

}  // namespace adjit::emit
