// tools/adjit-cache/age.cpp -- spans of time as people write and read them.
#include "tools/adjit-cache/age.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <ctime>

namespace adjit::cache_tool {

namespace {

struct Unit {
  char letter;
  int64_t milliseconds;
  const char* name;  // null: written, never printed
};

constexpr std::array<Unit, 5> kUnits = {{
    {'w', int64_t{7} * 24 * 3600 * 1000, nullptr},
    {'d', int64_t{24} * 3600 * 1000, "d"},
    {'h', int64_t{3600} * 1000, "h"},
    {'m', int64_t{60} * 1000, "min"},
    {'s', int64_t{1000}, "s"},
}};
constexpr int64_t kLongest = int64_t{366'000} * 24 * 3600 * 1000;

std::string formatted(const char* format, double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

std::optional<int64_t> parse_age(std::string_view text) {
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0 || rest + 1 != end) return std::nullopt;
  for (const Unit& unit : kUnits)
    if (unit.letter == *rest && number <= kLongest / unit.milliseconds)
      return number * unit.milliseconds;
  return std::nullopt;
}

std::string format_age(int64_t milliseconds) {
  for (const Unit& unit : kUnits)
    if (unit.name != nullptr && milliseconds >= unit.milliseconds)
      return std::to_string(milliseconds / unit.milliseconds) + " " + unit.name;
  return "now";
}

std::string format_milliseconds(double milliseconds) {
  if (milliseconds < 10) return formatted("%.2f ms", milliseconds);
  if (milliseconds < 1'000) return formatted("%.0f ms", milliseconds);
  if (milliseconds < 120'000) return formatted("%.1f s", milliseconds / 1'000);
  return formatted("%.0f min", milliseconds / 60'000);
}

std::string format_time(int64_t unix_ms) {
  const std::time_t seconds = unix_ms / 1000;
  std::tm parts{};
  std::array<char, 64> text{};
  if (gmtime_r(&seconds, &parts) == nullptr) return std::to_string(unix_ms) + " ms";
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

}  // namespace adjit::cache_tool
