// jit/cache/byte_size.cpp -- sizes as people write them.
#include "jit/cache/byte_size.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <limits>

namespace adjit::cache {

namespace {

constexpr std::string_view kSuffixes = "KMGT";

}  // namespace

std::optional<uint64_t> parse_byte_size(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  if (rest == end) return number;
  const char suffix = *rest >= 'a' && *rest <= 'z' ? static_cast<char>(*rest - 'a' + 'A') : *rest;
  const size_t power = kSuffixes.find(suffix);
  if (power == std::string_view::npos || rest + 1 != end) return std::nullopt;
  const size_t shift = 10 * (power + 1);
  if (number > (std::numeric_limits<uint64_t>::max() >> shift)) return std::nullopt;
  return number << shift;
}

std::string format_byte_size(uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  size_t power = 0;
  while (value >= 1024 && power + 1 < kSuffixes.size()) {
    value /= 1024;
    ++power;
  }
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), "%.1f %ciB", value, kSuffixes[power]);
  return text.data();
}

}  // namespace adjit::cache
