// jit/cache/byte_size.hpp -- sizes as people write them: 4096, 512M, 2G.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/process/rooms.hpp"

namespace adjit::cache {

/// Digits and at most one of the suffixes K, M, G, T (powers of 1024, either case). Nothing for
/// other text and for sizes past 64 bits.
std::optional<uint64_t> parse_byte_size(std::string_view text);

/// "812 B", "1.5 KiB", "2.0 GiB".
std::string format_byte_size(uint64_t bytes);

}  // namespace adjit::cache
