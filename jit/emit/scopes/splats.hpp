// jit/emit/scopes/splats.hpp -- numbers in all lanes of a vector.
#pragma once

#include <span>
#include <unordered_map>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/scopes/emitted.hpp"
#include "jit/emit/scopes/kernel_variables.hpp"
#include "jit/emit/scopes/scoped_memo.hpp"
#include "jit/emit/scopes/scopes.hpp"
#include "runtime/expr/op.hpp"

namespace adjit::emit {

class Splats {
 public:
  /// All must outlive it.
  Splats(llvm::IRBuilder<>& builder, Scopes& scopes, const KernelVariables& variables)
      : builder_(builder), scopes_(scopes), variables_(variables), splats_(scopes) {}

  /// A value in all lanes: itself if it is a vector, else one vector for all who ask.
  llvm::Value* operator()(const Emitted& value);
  /// `value` was computed of these operands. A sum, difference or product of two loaded numbers is
  /// computed again in all lanes: a load spreads a number by itself, what was computed takes an
  /// instruction more.
  void note(Op op, llvm::Value* value, std::span<const Emitted> operands);
  void forget();

 private:
  struct Uniform {
    llvm::Intrinsic::ID operation;
    Emitted left, right;
  };
  llvm::Value* in_all_lanes(const Uniform& uniform, size_t depth);

  llvm::IRBuilder<>& builder_;
  Scopes& scopes_;
  const KernelVariables& variables_;
  ScopedMemo<llvm::Value*, llvm::Value*> splats_;
  std::unordered_map<llvm::Value*, Uniform> uniform_;
};

}  // namespace adjit::emit
