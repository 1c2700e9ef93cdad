// jit/emit/interleave.cpp -- copies of a body in turn.
#include "jit/emit/interleave.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <unordered_set>

namespace adjit::emit {
namespace {

constexpr size_t kTogether = 2;  // copies whose values the registers hold
constexpr size_t kLong = 40;     // instructions of a copy that fill what a processor looks ahead

using Instructions = std::vector<llvm::Instruction*>;

// Each in its order, one of every copy in a round, as soon as its operands are there.
Instructions in_turn(std::span<const Instructions> copies) {
  std::unordered_set<const llvm::Value*> missing;
  for (const Instructions& copy : copies) missing.insert(copy.begin(), copy.end());
  const size_t count = missing.size();
  std::vector<size_t> next(copies.size(), 0);
  Instructions order;
  // The first copy lacks nothing of the others, so every round takes one at least.
  while (order.size() < count)
    for (size_t c = 0; c < copies.size(); ++c) {
      if (next[c] == copies[c].size()) continue;
      llvm::Instruction* one = copies[c][next[c]];
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

void CopySequence::mark() {
  llvm::BasicBlock* block = builder_.GetInsertBlock();
  marks_.push_back({block, block->empty() ? nullptr : &block->back()});
}

void CopySequence::interleave() {
  if (marks_.size() < kTogether + 1) return;  // one more than copies
  llvm::BasicBlock* block = marks_.front().block;
  if (builder_.GetInsertPoint() != block->end() ||
      !std::ranges::all_of(marks_, [&](const Mark& mark) { return mark.block == block; }))
    return;
  const auto behind = [&](const Mark& mark) {
    return mark.before ? std::next(mark.before->getIterator()) : block->begin();
  };
  std::vector<Instructions> copies;
  for (size_t k = 0; k + 1 < marks_.size(); ++k) {
    Instructions& copy = copies.emplace_back();
    for (auto at = behind(marks_[k]); at != behind(marks_[k + 1]); ++at) copy.push_back(&*at);
  }
  for (size_t k = 0; k + kTogether <= copies.size(); k += kTogether) {
    const auto some = std::span(copies).subspan(k, kTogether);
    if (!std::ranges::all_of(some, [](const auto& copy) { return copy.size() >= kLong; })) continue;
    const auto end = std::next(some.back().back()->getIterator());
    for (llvm::Instruction* one : in_turn(some)) one->moveBefore(*block, end);
  }
}

}  // namespace adjit::emit
