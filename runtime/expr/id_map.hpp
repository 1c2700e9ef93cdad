// runtime/expr/id_map.hpp -- tables by node number for walks over expressions.
#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::expr {

/// A map from 32-bit numbers (but UINT32_MAX) to 32-bit numbers, empty at first. Open addressing in
/// one block: a walk over a few hundred thousand nodes spends most of its time in the allocator
/// with a table of nodes.
class IdMap {
 public:
  /// The value of a key; null: none. Valid until the next insertion.
  const uint32_t* find(uint32_t key) const {
    assert(key != kFree);
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place(key)];
    return slot.key == key ? &slot.value : nullptr;
  }
  bool contains(uint32_t key) const { return find(key) != nullptr; }

  /// Whether the key is new; the value of one that is there stays.
  bool insert(uint32_t key, uint32_t value = 0) {
    assert(key != kFree);
    if (2 * (count_ + 1) > slots_.size()) grow();
    Slot& slot = slots_[place(key)];
    if (slot.key == key) return false;
    slot = {key, value};
    ++count_;
    return true;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint32_t key = kFree, value = 0;
  };

  // Where the key is, or would be.
  size_t place(uint32_t key) const {
    const size_t mask = slots_.size() - 1;
    size_t at = (key * 0x9e3779b97f4a7c15ull >> 32) & mask;
    while (slots_[at].key != key && slots_[at].key != kFree) at = (at + 1) & mask;
    return at;
  }

  void grow() {
    std::vector<Slot> old(slots_.empty() ? 64 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old)
      if (slot.key != kFree) slots_[place(slot.key)] = slot;
  }

  std::vector<Slot> slots_;  // a power of two of them
  size_t count_ = 0;
};

}  // namespace adjit::expr
