// jit/emit/index.hpp -- integer index arithmetic: affine forms over loop variables as machine
// values.
//
// Every index, address and condition is an affine form over *variables*: the loop variables of the
// kernel and the floor divisions derived from them. A variable is a scalar (a serial or parallel
// loop), the lanes of a vector loop (0, 1, ..., lanes-1), or fixed (an unrolled loop). Ranges of
// variables are known, so a division that cannot change over its range disappears: (32*t + v) // 32
// is t for a tile variable 0 <= v < 32.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/scoped_memo.hpp"
#include "jit/emit/scopes.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/expr/affine.hpp"

namespace adjit::emit {

inline bool fits_32(Interval r) { return r.lo >= INT32_MIN && r.hi <= INT32_MAX; }

class IndexEmitter {
 public:
  IndexEmitter(llvm::IRBuilder<>& builder, Scopes& scopes, size_t loop_variables);

  // Binding variables.
  /// A loop variable that is step * trip, in the current scope: `trip` is an i64 in the range
  /// `trips`. Resolved forms are over trips, so that a tile's loop is a multiple of its step to
  /// every division.
  void bind_scalar(size_t variable, llvm::Value* trip, Interval trips, int64_t step);
  void bind_lanes(size_t variable, unsigned lanes);  // 0 .. lanes-1
  void bind_fixed(size_t variable, int64_t value);
  void unbind(size_t variable);

  /// Fixed variables replaced by their values, loop variables by their steps times their trips.
  /// Every function below takes resolved forms.
  Affine resolve(const Affine& form) const;
  /// Bounds over the ranges of the variables.
  Interval range(const Affine& form) const;
  /// Whether a (resolved) form differs between lanes.
  bool in_lanes(const Affine& form) const;
  /// Coefficient of the lane number where that is all that differs; nullopt when a derived division
  /// differs between lanes.
  std::optional<int64_t> lane_stride(const Affine& form) const;
  /// The part of a form that is the same in all lanes.
  Affine without_lanes(const Affine& form) const;
  /// What each lane adds to the part of the form without lanes, where that is the same wherever the
  /// lanes start: a stride, l // 2 or l % 2 for a vector of 16 at a multiple of 16.
  std::optional<std::vector<int64_t>> lane_pattern(const Affine& form) const;
  /// The outermost scope in which the form is known.
  size_t depth(const Affine& form) const;
  unsigned lanes() const { return lanes_; }

  /// floor(form / divisor) for a positive divisor.
  Affine floor_div(const Affine& form, int64_t divisor);

  /// Value of a resolved form: i64 scalar (no lanes).
  llvm::Value* scalar(const Affine& form);
  /// Value in each lane: <lanes x iN>, N = 32 when the range fits, else 64, or as asked.
  llvm::Value* vector(const Affine& form, std::optional<unsigned> bits = std::nullopt);
  /// pointer + form elements, for the part of the form without lanes (its lanes count as 0).
  llvm::Value* address(llvm::Value* pointer, size_t pointer_depth, llvm::Type* element,
                       const Affine& form);

  /// form >= 0, form == 0: i1 or <lanes x i1>; a constant where the ranges decide it.
  llvm::Value* at_least_zero(const Affine& form);
  llvm::Value* equals_zero(const Affine& form);

 private:
  enum class Kind : uint8_t { Unbound, Scalar, Lanes, Fixed };
  struct Variable {
    Kind kind = Kind::Unbound;
    llvm::Value* value =
        nullptr;  // Scalar: i64; derived Lanes: <lanes x i64>; the loop's own lanes: null
    Interval range{0, 0};
    size_t depth = 0;
    uint64_t serial = 0;  // of the scope at depth: a derived variable dies with it
    int64_t fixed = 0;
    int64_t step = 1;
  };
  struct FormHash {
    size_t operator()(const Affine& form) const;
    size_t operator()(const std::pair<llvm::Value*, Affine>& from) const;
  };
  using FormMemo = ScopedMemo<Affine, llvm::Value*, FormHash>;

  size_t derived(const Affine& numerator, int64_t divisor);
  llvm::Value* divide(llvm::Value* value, Interval range, int64_t divisor);
  llvm::Value* condition(const Affine& form, bool equality);
  std::pair<llvm::Value*, llvm::Value*> compared_with_zero(const Affine& form);
  std::vector<std::pair<size_t, Affine>> by_depth(const Affine& form) const;

  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  unsigned lanes_ = 1;
  std::optional<size_t> lane_variable_;
  std::vector<Variable> variables_;
  std::map<std::pair<int64_t, std::vector<int64_t>>, size_t>
      divisions_;  // (divisor, form) -> variable
  FormMemo sums_, not_negative_, zero_;
  ScopedMemo<std::pair<llvm::Value*, Affine>, llvm::Value*, FormHash> addresses_;
};

}  // namespace adjit::emit
