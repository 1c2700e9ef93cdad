// jit/emit/scopes/loops.hpp -- structured control flow with carried values.
#pragma once

#include <functional>
#include <vector>

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/scopes/scopes.hpp"

namespace adjit::emit {

using Carried = std::vector<llvm::Value*>;

/// for (i = lo; i < hi; ++i) carried = body(i, carried); each iteration is a scope. The bounds are
/// of one type, which is i's.
/// `at_least_once` says that lo < hi is known.
Carried emit_loop(llvm::IRBuilder<>& builder, Scopes& scopes, llvm::Value* lo, llvm::Value* hi,
                  bool at_least_once, Carried carried,
                  const std::function<Carried(llvm::Value* i, Carried carried)>& body);

/// if (condition) carried = then(carried), in a scope of its own. A constant condition emits no
/// branch.
Carried emit_if(llvm::IRBuilder<>& builder, Scopes& scopes, llvm::Value* condition, Carried carried,
                const std::function<Carried(Carried carried)>& then);

/// Runs one of two versions of what goes on in the innermost scope, in blocks of their own: values
/// of that scope are emitted where a version uses them, and are not shared.
Carried emit_either(llvm::IRBuilder<>& builder, Scopes& scopes, llvm::Value* condition,
                    Carried carried, const std::function<Carried(Carried)>& then,
                    const std::function<Carried(Carried)>& otherwise);

}  // namespace adjit::emit
