// jit/emit/scopes/scoped_memo.hpp -- what was computed in a scope, for as long as that is open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <unordered_map>
#include <utility>

#include "jit/emit/scopes/scopes.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::emit {

template <class Key, class Value, class Hash = std::hash<Key>>
class ScopedMemo {
 public:
  /// The scopes must outlive it.
  explicit ScopedMemo(const Scopes& scopes) : scopes_(scopes) {}

  /// Null where nothing was remembered, or the scope that it was computed in has been closed.
  const Value* find(const Key& key) const {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    const Entry& entry = found->second;
    return scopes_.alive(entry.depth, entry.serial) ? &entry.value : nullptr;
  }

  /// Remembers what was computed in the scope that is open at a depth. The reference holds until
  /// the key is remembered again.
  const Value& remember(const Key& key, Value value, size_t depth) {
    invariant(depth <= scopes_.depth(), "a value is known in a scope that is not open");
    return entries_.insert_or_assign(key, Entry{std::move(value), depth, scopes_.serial(depth)})
        .first->second.value;
  }

  void forget() { entries_.clear(); }

 private:
  struct Entry {
    Value value;
    size_t depth;
    uint64_t serial;
  };
  const Scopes& scopes_;
  std::unordered_map<Key, Entry, Hash> entries_;
};

}  // namespace adjit::emit
