// jit/emit/math/library_calls.cpp -- functions without a polynomial: through the stack to an array
// function of our own.
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "jit/emit/ir/stack_slots.hpp"
#include "jit/emit/math/elementary.hpp"

namespace adjit::emit::elementary {
namespace {

Floats through_stack(const char* name, std::span<const Floats> arguments) {
  const Floats x = arguments[0];
  llvm::IRBuilder<>& b = x.context().builder;
  llvm::Module& module = *b.GetInsertBlock()->getModule();
  // As arrays of elements: a vector of three may take the place of four.
  const unsigned count = std::max(1u, x.lanes());
  llvm::Type* element = x.value()->getType()->getScalarType();
  const auto elements = static_cast<unsigned>(arguments.size()) * count;
  llvm::AllocaInst* slot = stack_slots(b, element, elements);
  const llvm::Align align(x.is_double() ? 8 : 4);
  for (size_t k = 0; k < arguments.size(); ++k)
    b.CreateAlignedStore(arguments[k].value(),
                         b.CreateConstInBoundsGEP1_64(element, slot, k * count), align);
  const std::string symbol = std::string("adjit_math_") + name + (x.is_double() ? "_f64" : "_f32");
  llvm::FunctionCallee function =
      module.getOrInsertFunction(symbol, b.getVoidTy(), b.getPtrTy(), b.getInt64Ty());
  if (auto* declared = llvm::dyn_cast<llvm::Function>(function.getCallee())) {
    declared->setDoesNotThrow();
    declared->setOnlyAccessesArgMemory();
  }
  b.CreateCall(function, {slot, b.getInt64(count)})->setDoesNotThrow();
  return {x.context(), b.CreateAlignedLoad(x.value()->getType(), slot, align)};
}

}  // namespace

Floats library_call(const char* name, Floats x) { return through_stack(name, {&x, 1}); }

Floats library_call(const char* name, Floats x, Floats y) {
  const std::array arguments{x, y};
  return through_stack(name, arguments);
}

}  // namespace adjit::emit::elementary
