// jit/emit/ir/interleave.cpp -- instances of a body in turn.
#include "jit/emit/ir/interleave.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_set>

namespace adjit::emit {
namespace {

constexpr size_t kTogether = 2;  // instances whose values the registers hold
constexpr size_t kLong = 40;  // instructions of an instance that fill what a processor looks ahead

using Instructions = std::vector<llvm::Instruction*>;

// Each in its order, one of every instance in a round, as soon as its operands are there.
Instructions in_turn(std::span<const Instructions> instances) {
  std::unordered_set<const llvm::Value*> missing;
  for (const Instructions& instance : instances) missing.insert(instance.begin(), instance.end());
  const size_t count = missing.size();
  std::vector<size_t> next(instances.size(), 0);
  Instructions order;
  // The first instance lacks nothing of the others, so every round takes one at least.
  while (order.size() < count)
    for (size_t c = 0; c < instances.size(); ++c) {
      if (next[c] == instances[c].size()) continue;
      llvm::Instruction* one = instances[c][next[c]];
      if (std::ranges::any_of(one->operands(),
                              [&](const llvm::Use& use) { return missing.contains(use.get()); }))
        continue;
      order.push_back(one);
      missing.erase(one);
      ++next[c];
    }
  return order;
}

}  // namespace

void InstanceSequence::mark() {
  llvm::BasicBlock* block = builder_.GetInsertBlock();
  marks_.push_back({block, block->empty() ? nullptr : &block->back()});
}

void InstanceSequence::interleave() {
  if (marks_.size() < kTogether + 1) return;  // one more than instances
  llvm::BasicBlock* block = marks_.front().block;
  if (builder_.GetInsertPoint() != block->end() ||
      !std::ranges::all_of(marks_, [&](const Mark& mark) { return mark.block == block; }))
    return;
  const auto behind = [&](const Mark& mark) {
    return mark.before ? std::next(mark.before->getIterator()) : block->begin();
  };
  std::vector<Instructions> instances;
  for (size_t k = 0; k + 1 < marks_.size(); ++k) {
    Instructions& instance = instances.emplace_back();
    for (auto at = behind(marks_[k]); at != behind(marks_[k + 1]); ++at) instance.push_back(&*at);
  }
  for (size_t k = 0; k + kTogether <= instances.size(); k += kTogether) {
    const auto some = std::span(instances).subspan(k, kTogether);
    if (!std::ranges::all_of(some, [](const auto& instance) { return instance.size() >= kLong; }))
      continue;
    const auto end = std::next(some.back().back()->getIterator());
    for (llvm::Instruction* one : in_turn(some)) one->moveBefore(*block, end);
  }
}

}  // namespace adjit::emit
