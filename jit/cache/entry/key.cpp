// jit/cache/entry/key.cpp -- hashing and comparing named components.
#include "jit/cache/entry/key.hpp"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <utility>

namespace adjit::cache {

namespace {

Signature from_xxh(XXH128_hash_t hash) { return {hash.high64, hash.low64}; }

struct FreeState {
  void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
};

/// Feeds sizes and texts to one running hash. Sizes go in as little-endian 64-bit numbers, so that
/// a signature means the same on every machine.
class Hasher {
 public:
  Hasher() : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    XXH3_128bits_reset(state_.get());
  }
  void size(uint64_t value) {
    std::array<unsigned char, 8> bytes{};
    for (size_t k = 0; k < bytes.size(); ++k)
      bytes[k] = static_cast<unsigned char>(value >> (8 * k));
    XXH3_128bits_update(state_.get(), bytes.data(), bytes.size());
  }
  void text(std::string_view value) {
    size(value.size());
    XXH3_128bits_update(state_.get(), value.data(), value.size());
  }
  Signature digest() const { return from_xxh(XXH3_128bits_digest(state_.get())); }

 private:
  std::unique_ptr<XXH3_state_t, FreeState> state_;
};

constexpr std::string_view kDigits = "0123456789abcdef";

}  // namespace

Key& Key::add(std::string name, std::string value) {
  components.push_back({std::move(name), std::move(value)});
  return *this;
}

const std::string* Key::find(std::string_view name) const {
  for (const Component& component : components)
    if (component.name == name) return &component.value;
  return nullptr;
}

Signature signature_of(const Key& key) {
  Hasher hasher;
  hasher.size(key.components.size());
  for (const Component& component : key.components) {
    hasher.text(component.name);
    hasher.text(component.value);
  }
  return hasher.digest();
}

Signature signature_of(std::string_view bytes) noexcept {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

std::string to_hex(const Signature& signature) {
  std::string text(32, '0');
  for (size_t k = 0; k < 16; ++k) {
    text[15 - k] = kDigits[(signature.high >> (4 * k)) & 15];
    text[31 - k] = kDigits[(signature.low >> (4 * k)) & 15];
  }
  return text;
}

std::optional<Signature> signature_from_hex(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Signature signature;
  for (size_t k = 0; k < text.size(); ++k) {
    const size_t digit = kDigits.find(text[k]);
    if (digit == std::string_view::npos) return std::nullopt;
    uint64_t& half = k < 16 ? signature.high : signature.low;
    half = (half << 4) | digit;
  }
  return signature;
}

std::optional<std::string> first_difference(const Key& a, const Key& b) {
  const size_t shared = std::min(a.components.size(), b.components.size());
  for (size_t k = 0; k < shared; ++k)
    if (a.components[k] != b.components[k]) return a.components[k].name;
  if (a.components.size() > shared) return a.components[shared].name;
  if (b.components.size() > shared) return b.components[shared].name;
  return std::nullopt;
}

}  // namespace adjit::cache
