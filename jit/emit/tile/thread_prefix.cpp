// jit/emit/tile/thread_prefix.cpp -- prefixes within warps, and of the warps.
#include "jit/emit/tile/thread_prefix.hpp"

#include <algorithm>

#include "autosched/machine/gpu_machine.hpp"
#include "jit/emit/tile/exchange.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;
using sched::kWarpThreads;

Partial shuffled(llvm::IRBuilder<>& builder, Shuffle kind, const Partial& partial, Value* lanes) {
  Partial moved;
  for (Value* component : partial) moved.push_back(emit::shuffled(builder, kind, component, lanes));
  return moved;
}

// What the warps before a thread's have, and all of its group: one after the other.
ThreadPrefixes of_warps(NestContext& nest, const Partial& all, Value* lane, int64_t warps) {
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  ThreadBlock& block = *nest.kernel.block;
  const ExchangedValues exchange(nest.kernel, nest.shape.nest, {all},
                                 block.threads() / kWarpThreads);
  Value* warp = builder.CreateUDiv(block.thread(), number_of(builder, kWarpThreads));
  block.barrier();  // in a loop: when all have read what was there
  emit_if(builder, nest.kernel.scopes,
          builder.CreateICmpEQ(lane, number_of(builder, kWarpThreads - 1)), {}, [&](Carried none) {
            exchange.store(all, warp);
            return none;
          });
  block.barrier();
  Value* in_group = builder.CreateURem(warp, number_of(builder, warps));
  Value* first = builder.CreateSub(warp, in_group);
  ThreadPrefixes found{nest.combiner.identities(), exchange.load(first)};
  for (int64_t w = 1; w < warps; ++w) {
    Value* here = builder.CreateICmpEQ(in_group, number_of(builder, w));
    found.before = nest.combiner.selected(here, found.all, found.before);
    found.all = nest.combiner.combine(
        found.all, exchange.load(builder.CreateAdd(first, number_of(builder, w))));
  }
  return found;
}

}  // namespace

ThreadPrefixes prefixes_of(NestContext& nest, const Partial& own, int64_t threads) {
  if (threads == 1) return {nest.combiner.identities(), own};
  llvm::IRBuilder<>& builder = nest.kernel.builder;
  const int64_t lanes = std::min<int64_t>(threads, kWarpThreads);
  Value* thread = nest.kernel.block->thread();
  Value* lane = builder.CreateURem(thread, number_of(builder, lanes));
  Partial here = own;
  for (int64_t step = 1; step < lanes; step *= 2) {
    const Partial below = shuffled(builder, Shuffle::FromBelow, here, number_of(builder, step));
    here = nest.combiner.selected(builder.CreateICmpUGE(lane, number_of(builder, step)),
                                  nest.combiner.combine(below, here), here);
  }
  ThreadPrefixes found;
  found.before = nest.combiner.selected(
      builder.CreateICmpEQ(lane, number_of(builder, 0)), nest.combiner.identities(),
      shuffled(builder, Shuffle::FromBelow, here, number_of(builder, 1)));
  if (threads > kWarpThreads) {
    const ThreadPrefixes warps = of_warps(nest, here, lane, threads / kWarpThreads);
    found.before = nest.combiner.combine(warps.before, found.before);
    found.all = warps.all;
    return found;
  }
  Value* in_warp = builder.CreateURem(thread, number_of(builder, kWarpThreads));
  found.all = shuffled(builder, Shuffle::Index, here,
                       builder.CreateOr(in_warp, number_of(builder, lanes - 1)));
  return found;
}

}  // namespace adjit::emit
