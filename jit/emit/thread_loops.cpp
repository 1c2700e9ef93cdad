// jit/emit/thread_loops.cpp -- the numbers of a block's threads as trips of loops.
#include "jit/emit/thread_loops.hpp"

#include <algorithm>

#include "autosched/program/threads.hpp"

namespace adjit::emit {

using llvm::Value;

// Points of its axis from the current iteration of a bound loop on.
Affine points_left(const KernelContext& kernel, const NestShape& shape, size_t k) {
  return kernel.variables.resolve(shape.available(k)) -
         kernel.variables.resolve(Affine::variable(shape.nest->loops[k].variable));
}

ThreadLoops::ThreadLoops(NestContext& nest)
    : shape_(nest.shape), loops_(nest.shape.nest->loops), kernel_(nest.kernel) {}

// The last loop of threads is the fastest. What numbers beyond the nest's threads give, nobody asks
// (of_threads).
void ThreadLoops::bind_all() {
  if (trips_.empty()) {
    Value* rest = kernel_.block->thread();
    for (size_t l = loops_.size(); l-- > 0;) {
      if (loops_[l].kind != LoopKind::Thread) continue;
      Value* trips = kernel_.builder.getInt32(static_cast<uint32_t>(loops_[l].trips));
      trips_.insert(trips_.begin(), kernel_.builder.CreateURem(rest, trips));
      rest = kernel_.builder.CreateUDiv(rest, trips);
    }
  }
  for (size_t l = 0; l < loops_.size(); ++l)
    if (loops_[l].kind == LoopKind::Thread) bind(l);
}

// Binds a loop of threads in the current scope: what depends on it is computed in here.
void ThreadLoops::bind(size_t l) {
  const auto before = std::count_if(loops_.begin(), loops_.begin() + static_cast<long>(l),
                                    [](const Loop& loop) { return loop.kind == LoopKind::Thread; });
  kernel_.index.bind_scalar(loops_[l].variable, trips_[static_cast<size_t>(before)],
                            {0, loops_[l].trips - 1}, loops_[l].step);
}

void ThreadLoops::bind_inside(size_t loop) {
  if (trips_.empty()) return;
  for (size_t l = loop + 1; l < loops_.size(); ++l)
    if (loops_[l].kind == LoopKind::Thread) bind(l);
}

Value* ThreadLoops::has_part() {
  const int64_t threads = threads_of(*shape_.nest);
  if (threads == kernel_.block->threads()) return kernel_.builder.getTrue();
  return kernel_.builder.CreateICmpULT(kernel_.block->thread(),
                                       kernel_.builder.getInt32(static_cast<uint32_t>(threads)));
}

Carried ThreadLoops::of_threads(Carried carried, const std::function<Carried(Carried)>& inside) {
  Value* part = has_part();
  if (part == kernel_.builder.getTrue()) return inside(std::move(carried));
  carried = emit_if(kernel_.builder, kernel_.scopes, part, std::move(carried), [&](Carried inner) {
    bind_all();
    return inside(std::move(inner));
  });
  bind_all();
  return carried;
}

Value* ThreadLoops::has_results() {
  Value* all = has_part();
  for (size_t l = 0; l < loops_.size(); ++l)
    if (loops_[l].kind == LoopKind::Thread && !shape_.is_reduction(loops_[l]))
      all = kernel_.builder.CreateAnd(
          all, kernel_.index.at_least_zero(points_left(kernel_, shape_, l) + Affine(-1)));
  return all;
}

}  // namespace adjit::emit
