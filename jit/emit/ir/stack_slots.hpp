// jit/emit/ir/stack_slots.hpp -- room on a kernel's stack for what passes through memory.
#pragma once

#include <cstddef>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// So many elements, aligned to a cache line. They last as long as the function's frame, so they
/// are made in its entry block, wherever the builder is.
inline llvm::AllocaInst* stack_slots(llvm::IRBuilder<>& builder, llvm::Type* element,
                                     size_t count) {
  llvm::BasicBlock& entry = builder.GetInsertBlock()->getParent()->getEntryBlock();
  llvm::IRBuilder<> at_start(&entry, entry.getFirstInsertionPt());
  auto* slots = at_start.CreateAlloca(llvm::ArrayType::get(element, count));
  slots->setAlignment(llvm::Align(64));
  return slots;
}

}  // namespace adjit::emit
