// bindings/c/logging.cpp -- messages to standard error, as ADJIT_LOG asks for them.
#include "bindings/c/logging.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdlib>
#include <ranges>

#include "runtime/process/fork.hpp"

namespace adjit::c {
namespace {

using cache::Level;

struct Name {
  std::string_view name;
  std::optional<Level> level;
};
constexpr Name kNames[] = {{"off", std::nullopt},    {"error", Level::Error},
                           {"warn", Level::Warning}, {"warning", Level::Warning},
                           {"info", Level::Info},    {"debug", Level::Debug},
                           {"trace", Level::Trace}};

}  // namespace

std::optional<Level> log_level(std::string_view text, std::string_view category) {
  std::optional<Level> general = Level::Warning, own;
  bool named = false;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    const size_t equals = item.find('=');
    const bool ours = equals != std::string_view::npos && item.substr(0, equals) == category;
    if (equals != std::string_view::npos && !ours) continue;
    if (ours) item.remove_prefix(equals + 1);
    for (const Name& name : kNames) {
      if (name.name != item) continue;
      (ours ? own : general) = name.level;
      named |= ours;
    }
  }
  return named ? own : general;
}

std::string log_complaint(std::string_view text) {
  static constexpr std::string_view kCategories[] = {"cache", "jit"};
  std::string unread;
  for (const auto part : std::views::split(text, ',')) {
    const std::string_view item(part.begin(), part.end());
    const size_t equals = item.find('=');
    const std::string_view level = equals == item.npos ? item : item.substr(equals + 1);
    const bool known =
        std::ranges::find(kNames, level, &Name::name) != std::end(kNames) &&
        (equals == item.npos ||
         std::ranges::find(kCategories, item.substr(0, equals)) != std::end(kCategories));
    if (!item.empty() && !known) unread += (unread.empty() ? "'" : ", '") + std::string(item) + "'";
  }
  if (unread.empty()) return "";
  return "ADJIT_LOG: " + unread +
         " cannot be read; it may hold off, error, warn, info, debug, trace, and cache= or jit= "
         "before one of these, with commas between";
}

cache::Log standard_log(std::string_view category) {
  const char* wanted = std::getenv("ADJIT_LOG");
  const std::optional<Level> level = log_level(wanted == nullptr ? "" : wanted, category);
  if (!level) return {};
  auto logger =
      std::make_shared<spdlog::logger>("adjit", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("adjit: %l: %v");
  logger->set_level(spdlog::level::trace);
  return [logger, most = *level](Level l, const std::string& message) {
    static constexpr spdlog::level::level_enum kLevels[] = {
        spdlog::level::err, spdlog::level::warn, spdlog::level::info, spdlog::level::debug,
        spdlog::level::trace};
    if (l > most) return;
    const ForkDelay no_fork;  // its sink has a lock that all loggers share
    logger->log(kLevels[static_cast<size_t>(l)], message);
  };
}

}  // namespace adjit::c
