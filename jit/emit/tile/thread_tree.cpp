// jit/emit/tile/thread_tree.cpp -- shuffles, and exchanges through the block's memory.
#include "jit/emit/tile/thread_tree.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "autosched/machine/gpu_machine.hpp"
#include "jit/emit/scopes/loops.hpp"
#include "jit/emit/tile/exchange.hpp"

namespace adjit::emit {
namespace {

using llvm::Value;
using sched::kWarpThreads;

Carried flat(const std::vector<Partial>& partials) {
  Carried values;
  for (const Partial& partial : partials)
    values.insert(values.end(), partial.begin(), partial.end());
  return values;
}

std::vector<Partial> partials_of(const Carried& values, size_t components) {
  std::vector<Partial> partials;
  for (size_t at = 0; at < values.size(); at += components) {
    const auto first = values.begin() + static_cast<long>(at);
    partials.emplace_back(first, first + static_cast<long>(components));
  }
  return partials;
}

}  // namespace

ThreadTree::ThreadTree(NestContext& nest, const std::vector<Value*>& trips)
    : nest_(nest),
      kernel_(nest.kernel),
      builder_(nest.kernel.builder),
      groups_(groups_of(*nest.shape.stage, *nest.shape.nest)) {
  in_group_ = builder_.getInt32(0);
  group_number_ = builder_.getInt32(0);
  const auto append = [&](Value* number, int64_t count, Value* digit) {
    return builder_.CreateAdd(
        builder_.CreateMul(number, builder_.getInt32(static_cast<uint32_t>(count))), digit);
  };
  for (size_t l = 0, thread_loop = 0; l < nest.shape.nest->loops.size(); ++l) {
    const Loop& loop = nest.shape.nest->loops[l];
    if (loop.kind != LoopKind::Thread) continue;
    Value*& number = nest.shape.is_reduction(loop) ? in_group_ : group_number_;
    number = append(number, loop.trips, trips[thread_loop++]);
  }
}

Value* ThreadTree::is_first() const {
  return builder_.CreateICmpEQ(in_group_, builder_.getInt32(0));
}

std::vector<Partial> ThreadTree::combined(std::vector<Partial> partials) {
  switch (exchange_of(groups_)) {
    case sched::Exchange::None: break;
    case sched::Exchange::Shuffles: return by_shuffles(std::move(partials), groups_.threads);
    case sched::Exchange::Warps: return by_warps(std::move(partials));
    case sched::Exchange::All: return one_after_the_other(std::move(partials));
  }
  return partials;
}

// A thread takes what the one half of the group further on has, until the first one has all.
std::vector<Partial> ThreadTree::by_shuffles(std::vector<Partial> partials, int64_t threads) {
  for (int64_t lanes = threads / 2; lanes > 0; lanes /= 2)
    for (Partial& partial : partials) {
      Partial other;
      for (Value* component : partial)
        other.push_back(shuffled(builder_, Shuffle::Down, component, number_of(builder_, lanes)));
      partial = nest_.combiner.combine(partial, other);
    }
  return partials;
}

std::vector<Partial> ThreadTree::by_warps(std::vector<Partial> partials) {
  const auto number = [&](int64_t n) { return builder_.getInt32(static_cast<uint32_t>(n)); };
  ThreadBlock& block = *kernel_.block;
  const int64_t warps = groups_.threads / kWarpThreads;
  partials = by_shuffles(std::move(partials), kWarpThreads);
  if (warps == 1) return partials;
  const size_t components = nest_.shape.stage->bodies.size();
  const ExchangedValues exchange(kernel_, nest_.shape.nest, partials,
                                 exchanged_elements(groups_, block.threads()));
  Value* lane = builder_.CreateURem(block.thread(), number(kWarpThreads));
  Value* leads = builder_.CreateICmpEQ(lane, number(0));
  emit_if(builder_, kernel_.scopes, leads, {}, [&](Carried none) {
    exchange.store(flat(partials), builder_.CreateUDiv(block.thread(), number(kWarpThreads)));
    return none;
  });
  block.barrier();
  // The first threads of the group's first warp take them; the tree's others add nothing.
  Carried values;
  for (const Partial& partial : partials) {
    const auto* type = llvm::dyn_cast<llvm::FixedVectorType>(partial[0]->getType());
    const Partial nothing = nest_.combiner.identities(type ? type->getNumElements() : 0);
    values.insert(values.end(), nothing.begin(), nothing.end());
  }
  Value* takes = builder_.CreateAnd(
      builder_.CreateICmpULT(in_group_, number(warps)),
      builder_.CreateICmpULT(block.thread(),
                             number(groups_.threads * groups_.count)));  // others are of no group
  values = emit_if(builder_, kernel_.scopes, takes, std::move(values), [&](const Carried&) {
    Value* first = builder_.CreateMul(builder_.CreateUDiv(block.thread(), number(groups_.threads)),
                                      number(warps));
    return exchange.load(builder_.CreateAdd(first, in_group_));
  });
  return by_shuffles(partials_of(values, components),
                     static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(warps))));
}

std::vector<Partial> ThreadTree::one_after_the_other(std::vector<Partial> partials) {
  const auto number = [&](int64_t n) { return builder_.getInt32(static_cast<uint32_t>(n)); };
  ThreadBlock& block = *kernel_.block;
  const size_t components = nest_.shape.stage->bodies.size();
  const ExchangedValues exchange(kernel_, nullptr, partials,
                                 exchanged_elements(groups_, block.threads()));
  block.before_exchange();
  const auto element = [&](Value* in_group) {
    return builder_.CreateAdd(builder_.CreateMul(in_group, number(groups_.count)), group_number_);
  };
  Value* has_part = builder_.CreateICmpULT(block.thread(), number(groups_.threads * groups_.count));
  emit_if(builder_, kernel_.scopes, has_part, {}, [&](Carried none) {
    exchange.store(flat(partials), element(in_group_));
    return none;
  });
  block.barrier();
  Value* leads = builder_.CreateAnd(has_part, is_first());
  const Carried values =
      emit_if(builder_, kernel_.scopes, leads, flat(partials), [&](Carried carried) {
        return emit_loop(builder_, kernel_.scopes, number(1), number(groups_.threads), true,
                         std::move(carried), [&](Value* other, const Carried& sum) {
                           const std::vector<Partial> left = partials_of(sum, components);
                           const std::vector<Partial> right =
                               partials_of(exchange.load(element(other)), components);
                           std::vector<Partial> both;
                           for (size_t o = 0; o < left.size(); ++o)
                             both.push_back(nest_.combiner.combine(left[o], right[o]));
                           return flat(both);
                         });
      });
  block.after_exchange();
  return partials_of(values, components);
}

}  // namespace adjit::emit
