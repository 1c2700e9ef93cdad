// jit/engine/plan/verify_plan.hpp -- whether every read of a finished plan sees the write that the
// graph says.
//
// The plan is run without data: memory holds, for every byte, which tensor was written there last,
// and when. A kernel may run if all that its stages read lies whole where its table says, and
// leaves its results where that says. So places that are used again too soon, tensors in one buffer
// that may not share it, carries that are written over, steps in the wrong order are found,
// whatever decided them. Then, for the threads: kernels that wait for nobody between them may not
// meet in memory, nor may those of a chain, but in the parts that one task passes to itself.
#pragma once

#include <span>

#include "autosched/program/program.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/engine/plan/plan.hpp"

namespace adjit::engine {

/// Checks a plan that make_plan() made of these. ErrorCode::Internal says which kernel reads what
/// is not there. Takes time that grows with the square of the kernels: for tests.
void verify_plan(const ExecutionPlan& plan, const Program& program,
                 std::span<const EmittedKernel> kernels);

}  // namespace adjit::engine
