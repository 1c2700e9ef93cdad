// jit/emit/kernel.hpp -- one kernel of a program as an LLVM module.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "autosched/program/program.hpp"
#include "jit/emit/ir/target.hpp"
#include "jit/emit/layout.hpp"

namespace adjit::emit {

/// Compiled for a CPU as `void symbol(void* const* tensors, int64_t begin, int64_t end)`: runs
/// tasks begin .. end-1 of the kernel's task_count; tensors[k] is the address of element 0 of
/// `tensors[k]` below. Tasks are independent of each other, but for tasks_in_turn().
///
/// For a GPU it is a kernel that takes these addresses as parameters, or that of their table
/// (`by_table`); thread t of the grid runs the tasks from t * tasks_in_turn() on, as many as are in
/// turn, where there are some: threads beyond these do nothing. Where it has loops of threads,
/// block b does that, with `threads` threads and `shared_bytes` of dynamic shared memory.
using KernelFunction = void (*)(void* const* tensors, int64_t begin, int64_t end);

/// Bytes of local buffers, which live on the stack of the thread that runs a task; more would
/// overrun a worker's.
inline constexpr int64_t kMaxLocalBytes = 512 << 10;

struct EmittedKernel {
  std::unique_ptr<llvm::LLVMContext>
      context;  // owns what the module uses; its own, so that kernels compile in parallel
  std::unique_ptr<llvm::Module> module;
  std::string symbol;
  std::vector<TensorId> tensors;  // of the program's graph: what the kernel reads or writes
  int64_t tasks = 1;
  bool register_tile = false;  // wants real register allocation (see CodegenLevel)
  bool by_table = false;       // for a GPU: its one parameter is a table of the tensors' addresses
  int64_t threads = 0;         // of a block that runs a task; 0: a task is a thread's
  int64_t shared_bytes = 0;    // dynamic shared memory of such a block

  /// After std::bad_alloc from inside LLVM, whose frames release nothing: what they were at is in
  /// no state to be destroyed, so it is lost.
  void abandon() {
    static_cast<void>(module.release());   // NOLINT(bugprone-unused-return-value)
    static_cast<void>(context.release());  // NOLINT(bugprone-unused-return-value)
  }
};

/// Emits a verified program's kernel. `layouts` has one entry per tensor of the graph (Local ones
/// are ignored). Raises ErrorCode::Compile or ErrorCode::Schedule naming the stage when the nest
/// cannot be expressed.
EmittedKernel emit_kernel(const Program& program, size_t kernel,
                          std::span<const TensorLayout> layouts, const TargetFeatures& features,
                          std::string symbol);

}  // namespace adjit::emit
