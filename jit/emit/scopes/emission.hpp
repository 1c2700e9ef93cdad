// jit/emit/scopes/emission.hpp -- what every part of the emitter needs.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "jit/emit/math/vector_math.hpp"
#include "jit/emit/scopes/index.hpp"
#include "jit/emit/scopes/kernel_variables.hpp"
#include "jit/emit/scopes/scopes.hpp"

namespace adjit::emit {

/// Where instructions go, and of what they are made: one for a kernel.
struct Emission {
  llvm::IRBuilder<>& builder;
  Scopes& scopes;
  KernelVariables& variables;
  IndexEmitter& index;
  VectorMath& math;
};

}  // namespace adjit::emit
