// tools/adjit-cache/age.hpp -- spans of time as people write and read them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace adjit::cache_tool {

/// "90s", "15m", "12h", "30d" or "2w", in milliseconds. Nothing for other text or more than a
/// thousand years.
std::optional<int64_t> parse_age(std::string_view text);

/// The largest unit that gives a number of at least one: "45 s", "3 min", "2 h", "30 d". Below zero
/// is "now".
std::string format_age(int64_t milliseconds);

/// "0.31 ms", "14 ms", "2.5 s", "12 min".
std::string format_milliseconds(double milliseconds);

/// "2024-02-29 12:00:00 UTC".
std::string format_time(int64_t unix_ms);

}  // namespace adjit::cache_tool
