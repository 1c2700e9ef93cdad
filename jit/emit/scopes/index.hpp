// jit/emit/scopes/index.hpp -- integer index arithmetic: affine forms over loop variables as
// machine values.
//
// Every index, address and condition is an affine form over the kernel's variables. Ranges of
// variables are known, so a division that cannot change over its range disappears: (32*t + v) // 32
// is t for a tile variable 0 <= v < 32.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/scopes/kernel_variables.hpp"
#include "jit/emit/scopes/scoped_memo.hpp"
#include "jit/emit/scopes/scopes.hpp"

namespace adjit::emit {

inline bool fits_32(Interval r) { return r.lo >= INT32_MIN && r.hi <= INT32_MAX; }

/// The machine values of forms over a kernel's variables. All functions take resolved forms.
class IndexEmitter {
 public:
  /// All must outlive it. `variables`: those of the loops, of which none is bound; quotients are
  /// added to them. `narrow`: numbers of 32 bits are computed in so many, for processors on which
  /// 64 take several instructions.
  IndexEmitter(llvm::IRBuilder<>& builder, Scopes& scopes, KernelVariables& variables,
               bool narrow = false);

  bool narrow() const { return narrow_; }
  /// A loop variable that is step * trip, in the current scope: `trip` is an i64 in the range
  /// `trips`, or an i32 where numbers are narrow.
  void bind_scalar(size_t variable, llvm::Value* trip, Interval trips, int64_t step);

  /// floor(form / divisor) for a positive divisor.
  Affine floor_div(const Affine& form, int64_t divisor);

  /// Value of a resolved form: i64 scalar (no lanes).
  llvm::Value* scalar(const Affine& form);
  /// The same as i32 where numbers are narrow and the form's range is.
  llvm::Value* number(const Affine& form);
  /// Value in each lane: <lanes x iN>, N = 32 when the range fits, else 64, or as asked.
  llvm::Value* vector(const Affine& form, std::optional<unsigned> bits = std::nullopt);
  /// pointer + form elements, for the part of the form without lanes (its lanes count as 0).
  llvm::Value* address(llvm::Value* pointer, size_t pointer_depth, llvm::Type* element,
                       const Affine& form);

  /// form >= 0, form == 0: i1 or <lanes x i1>; a constant where the ranges decide it.
  llvm::Value* at_least_zero(const Affine& form);
  llvm::Value* equals_zero(const Affine& form);

 private:
  struct FormHash {
    size_t operator()(const Affine& form) const;
    size_t operator()(const std::pair<llvm::Value*, Affine>& from) const;
    size_t operator()(const std::pair<int64_t, Affine>& divided) const;
  };
  using FormMemo = ScopedMemo<Affine, llvm::Value*, FormHash>;

  llvm::Value* sum(const Affine& form, unsigned bits);
  llvm::Value* as_wide_as(size_t variable, llvm::IntegerType* type);
  size_t quotient(const Affine& numerator, int64_t divisor);
  llvm::Value* condition(const Affine& form, bool equality);
  std::pair<llvm::Value*, llvm::Value*> compared_with_zero(const Affine& form);

  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  KernelVariables& variables_;
  const bool narrow_;
  const size_t loop_variables_;
  /// Per variable that is a scalar, i64 or i32; per quotient in lanes, <lanes x i64>.
  std::vector<llvm::Value*> values_;
  ScopedMemo<std::pair<int64_t, Affine>, size_t, FormHash> quotients_;  // their variables
  FormMemo sums_, narrow_sums_, widened_, not_negative_, zero_;
  ScopedMemo<std::pair<llvm::Value*, Affine>, llvm::Value*, FormHash> addresses_;
};

}  // namespace adjit::emit
