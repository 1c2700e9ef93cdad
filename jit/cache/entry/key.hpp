// jit/cache/entry/key.hpp -- what an entry was made from, as named components kept in clear.
//
// A key lists everything that its payload depends on ("graph", "target triple", "llvm version",
// ...). Its signature, 128 bits of xxh3, names the file and finds the slot in memory; the
// components themselves are compared on load, so a collision of signatures or a renamed file is a
// miss and never a wrong answer, and a miss can be explained by the component that differs.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::cache {

struct Component {
  std::string name;
  std::string value;  // any bytes
  bool operator==(const Component&) const = default;
};

/// Components in the order in which they were added; the order is part of the key.
struct Key {
  std::vector<Component> components;

  Key& add(std::string name, std::string value);
  /// The value of the first component called `name`, or null.
  const std::string* find(std::string_view name) const;
  bool operator==(const Key&) const = default;
};

/// 128 bits that stand for a key.
struct Signature {
  uint64_t high = 0;
  uint64_t low = 0;
  auto operator<=>(const Signature&) const = default;
};

/// A signature is a hash already: a table needs any 64 bits of it.
struct SignatureHash {
  size_t operator()(const Signature& signature) const noexcept { return signature.low; }
};

/// xxh3 of the components, each length-prefixed: ("ab", "c") and ("a", "bc") differ.
Signature signature_of(const Key& key);

/// xxh3 of raw bytes, for the small signatures of calls. Allocates nothing.
Signature signature_of(std::string_view bytes) noexcept;

/// 32 lower-case hexadecimal digits.
std::string to_hex(const Signature& signature);

/// The inverse of to_hex; nothing for any other text.
std::optional<Signature> signature_from_hex(std::string_view text);

/// The name of the first component in which the keys differ by name, value or presence.
std::optional<std::string> first_difference(const Key& a, const Key& b);

}  // namespace adjit::cache
