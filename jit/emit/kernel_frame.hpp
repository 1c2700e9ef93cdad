// jit/emit/kernel_frame.hpp -- a kernel's function: what it is called with, and which tasks a call
// runs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "jit/emit/ir/target.hpp"
#include "jit/emit/scopes/scopes.hpp"

namespace adjit::emit {

/// Tensors that a GPU's kernel takes as parameters, of which there is room for 4 KB; more come in a
/// table.
inline constexpr size_t kMostParameters = 500;

/// Declares the function of a kernel of so many tensors: for a CPU a KernelFunction (kernel.hpp),
/// which has a table of them; for a GPU a kernel that takes a pointer for each, or the table's.
llvm::Function* declare_kernel(llvm::Module& module, const std::string& symbol,
                               const TargetFeatures& features, size_t tensors, bool by_table);

/// The table of the tensors; null where they are parameters.
llvm::Value* table_of(llvm::Function& kernel, const TargetFeatures& features, bool by_table);
/// Tensor k of it, or parameter k.
llvm::Value* tensor_pointer(llvm::IRBuilder<>& builder, llvm::Function& kernel, llvm::Value* table,
                            size_t k);

/// Says of parameter k that nobody writes where it points to while the kernel runs: loads move over
/// stores to other tensors. (Of what a block's threads write this must not be said, even if only
/// through this parameter: values would be kept across barriers.)
void mark_read_only(llvm::Function& kernel, size_t k);

/// Tells a GPU's kernel how many threads its blocks have at most, and how many blocks of a
/// multiprocessor are to find registers; 0: the assembler weighs these against memory of its own.
void limit_threads(llvm::Function& kernel, int64_t threads, int64_t blocks);

struct Tasks {
  int64_t count = 1;
  int64_t in_turn = 1;    // that follow each other are run by one thread, or block
  bool by_block = false;  // on a GPU: a task is a block's, not a thread's
};
/// Emits `task(number)` for the tasks of a call, one after the other: for a CPU those that it
/// names, for a GPU those of a thread or block: `in_turn` that follow each other. Numbers are i64,
/// on a GPU i32 where that holds all.
void emit_tasks(llvm::IRBuilder<>& builder, Scopes& scopes, const TargetFeatures& features,
                const Tasks& tasks, const std::function<void(llvm::Value*)>& task);

}  // namespace adjit::emit
