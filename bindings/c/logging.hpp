// bindings/c/logging.hpp -- messages to standard error, as ADJIT_LOG asks for them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jit/cache/log.hpp"

namespace adjit::c {

/// The level that a text such as "warn", "jit=debug" or "info,cache=trace" gives a category; what
/// it does not say, and what cannot be read, is Warning. "off" gives nothing (an empty optional).
std::optional<cache::Level> log_level(std::string_view text, std::string_view category);

/// What of such a text cannot be read, as a sentence with the remedy; empty when all can.
std::string log_complaint(std::string_view text);

/// A log of a category ("jit", "cache") that writes to standard error through spdlog.
cache::Log standard_log(std::string_view category);

}  // namespace adjit::c
