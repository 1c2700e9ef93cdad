// jit/emit/pipeline.cpp -- buffers in turn, and what fills them.
#include "jit/emit/pipeline.hpp"

#include "jit/emit/ir/async_copies.hpp"
#include "jit/emit/scopes/loops.hpp"

namespace adjit::emit {

using llvm::Value;

Pipeline::Pipeline(NestContext& nest, size_t loop, Compute compute)
    : nest_(nest), loop_(nest.shape.nest->loops[loop]), compute_(std::move(compute)) {
  for (const Nest::Attached& attached : nest.shape.nest->attached) {
    if (attached.depth != loop + 1 || attached.nest.buffers < 2) continue;
    ahead_.push_back(&attached);
    buffers_ = attached.nest.buffers;
  }
}

void Pipeline::begin(Value* lo, Value* hi) {
  if (empty()) return;
  KernelContext& kernel = nest_.kernel;
  Value* end = llvm::ConstantInt::get(lo->getType(), static_cast<uint64_t>(buffers_ - 1));
  Value* none = llvm::ConstantInt::get(lo->getType(), 0);
  emit_loop(kernel.builder, kernel.scopes, none, end, true, {}, [&](Value* ahead, Carried carried) {
    compute(kernel.builder.CreateAdd(lo, ahead), hi, nullptr);
    return carried;
  });
}

void Pipeline::advance(Value* trip, Value* hi) {
  KernelContext& kernel = nest_.kernel;
  wait_for_copies(kernel.builder, buffers_ - 2);
  kernel.block->barrier();
  late_.emplace(kernel.builder);
  computes_ = compute(
      kernel.builder.CreateAdd(
          trip, llvm::ConstantInt::get(trip->getType(), static_cast<uint64_t>(buffers_ - 1))),
      hi, &*late_);
  select_buffers(trip);
}

void Pipeline::finish() {
  if (!late_ || late_->empty()) return;
  emit_if(nest_.kernel.builder, nest_.kernel.scopes, computes_, {}, [&](Carried none) {
    late_->emit();
    return none;
  });
}

// A group of copies for each trip, also for those that the loop does not have: waiting counts them.
// Returns whether it has this one.
Value* Pipeline::compute(Value* trip, Value* hi, LateStores* late) {
  KernelContext& kernel = nest_.kernel;
  Value* any = kernel.builder.CreateICmpSLT(trip, hi);
  const EmittedCode code(kernel.builder);
  emit_if(kernel.builder, kernel.scopes, any, {}, [&](Carried carried) {
    kernel.scopes.push_here();
    kernel.index.bind_scalar(loop_.variable, trip, {0, loop_.trips - 1}, loop_.step);
    select_buffers(trip);
    for (const Nest::Attached* attached : ahead_) compute_(*attached);
    replace_by_copies(kernel.builder, code);
    if (late) late->take(code);
    kernel.scopes.pop();
    return carried;
  });
  commit_copies(kernel.builder);
  return any;
}

void Pipeline::select_buffers(Value* trip) {
  KernelContext& kernel = nest_.kernel;
  llvm::IRBuilder<>& builder = kernel.builder;
  Value* buffer = builder.CreateURem(
      trip, llvm::ConstantInt::get(trip->getType(), static_cast<uint64_t>(buffers_)));
  for (const Nest::Attached* attached : ahead_) {
    const Stage& stage = kernel.program.graph.stages[attached->nest.stage];
    for (TensorId id : stage.results) {
      TensorPlace& place = kernel.places.at(id);
      const auto bytes = static_cast<uint64_t>(place.buffers.bytes);
      Value* offset = builder.CreateMul(buffer, llvm::ConstantInt::get(trip->getType(), bytes));
      place.pointer = builder.CreateInBoundsGEP(builder.getInt8Ty(), place.buffers.first, offset);
      place.pointer_depth = place.depth = kernel.scopes.depth();
    }
  }
}

}  // namespace adjit::emit
