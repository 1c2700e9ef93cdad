// jit/emit/scopes/scopes.hpp -- where a value is computed: once, in the outermost loop in which it
// is known.
//
// Emission runs no LLVM optimisation passes, so hoisting and common subexpressions happen here. A
// scope is the inside of a loop, a guard or a function. A value that depends only on what is known
// in scope d is emitted in that scope: at the builder's position while d is the innermost scope,
// else just before the branch by which the next inner scope was entered. Either way it comes after
// everything emitted in scope d before, and dominates what is emitted later. Caches of values hang
// on scopes, and die with them.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "jit/emit/scopes/emitted.hpp"

namespace adjit::emit {

class Scopes {
 public:
  explicit Scopes(llvm::IRBuilder<>& builder) : builder_(builder) {}

  /// Opens the scope that `entry`, a branch at the end of its block, leads into; the first scope of
  /// a function has none. The builder has been put inside. `trips`: of a loop; a guess where it is
  /// not known.
  void push(llvm::Instruction* entry, int64_t trips = 1);
  /// Opens a scope that control simply flows into: what was emitted before may be read from here
  /// on.
  void push_here();
  /// The innermost scope goes on in another block, where the builder has been put: nothing that was
  /// emitted in it so far is known there.
  void renew();
  /// Closes the innermost scope; the builder has been put behind it.
  void pop();

  /// Number of the innermost scope; the function's own scope is 0.
  size_t depth() const { return stack_.size() - 1; }
  /// Identity of the scope now open at a depth: a cached value is valid while it is unchanged.
  uint64_t serial(size_t depth) const { return stack_[depth].serial; }
  /// How often the scope at depth `inner` is run through while the one at depth `outer` is once.
  int64_t trips(size_t outer, size_t inner) const;
  bool alive(size_t depth, uint64_t serial) const {
    return depth < stack_.size() && stack_[depth].serial == serial;
  }

  /// Runs `make`, which emits straight-line code, with the builder in that scope. Not to be nested.
  template <class Make>
  llvm::Value* at(size_t depth, Make&& make) {
    if (stack_[depth].left_by == nullptr) return make();
    llvm::IRBuilder<>::InsertPointGuard guard(builder_);
    builder_.SetInsertPoint(stack_[depth].left_by);
    return make();
  }
  /// The same, with the scope that holds the value.
  template <class Make>
  Emitted emit(size_t depth, Make&& make) {
    return {at(depth, std::forward<Make>(make)), depth};
  }

 private:
  struct Scope {
    uint64_t serial = 0;
    llvm::Instruction* left_by =
        nullptr;  // the branch into the next inner scope, while that is open
    int64_t trips = 1;
  };
  llvm::IRBuilder<>& builder_;
  std::vector<Scope> stack_;
  uint64_t next_serial_ = 1;
};

}  // namespace adjit::emit
