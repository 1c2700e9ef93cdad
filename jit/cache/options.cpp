// jit/cache/options.cpp -- the environment's words for a store's options.
#include "jit/cache/options.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "jit/cache/byte_size.hpp"

namespace adjit::cache {

namespace {

std::string_view value_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

Mode mode_from(std::string_view value, const Log& log) {
  if (value.empty() || value == "rw") return Mode::ReadWrite;
  if (value == "ro") return Mode::ReadOnly;
  if (value != "off")
    say(log, Level::Warning,
        "ADJIT_CACHE is '" + std::string(value) + "'; it may be off, ro or rw: the cache is off");
  return Mode::Off;
}

std::filesystem::path absolute(std::string_view value) {
  if (value.empty()) return {};
  std::error_code error;  // no current directory: the path stays relative and fails to open later
  std::filesystem::path path = std::filesystem::absolute(value, error);
  return error ? std::filesystem::path(value) : path;
}

std::filesystem::path directory_from(const Environment& environment) {
  if (const auto own = value_of(environment, "ADJIT_CACHE_DIR"); !own.empty()) return absolute(own);
  if (const auto xdg = value_of(environment, "XDG_CACHE_HOME"); xdg.starts_with('/'))
    return std::filesystem::path(xdg) / "adjit";
  if (const auto home = value_of(environment, "HOME"); home.starts_with('/'))
    return std::filesystem::path(home) / ".cache" / "adjit";
  return {};
}

}  // namespace

StoreOptions options_from(const Environment& environment, Log log) {
  StoreOptions options;
  options.mode = mode_from(value_of(environment, "ADJIT_CACHE"), log);
  options.directory = directory_from(environment);
  options.shared_directory = absolute(value_of(environment, "ADJIT_CACHE_SHARED"));
  if (const auto text = value_of(environment, "ADJIT_CACHE_MAX_SIZE"); !text.empty()) {
    if (const std::optional<uint64_t> size = parse_byte_size(text))
      options.max_bytes = *size;
    else
      say(log, Level::Warning,
          "ADJIT_CACHE_MAX_SIZE is '" + std::string(text) +
              "'; it may be a number of bytes such as 1073741824, 512M or 2G: the default of " +
              format_byte_size(options.max_bytes) + " holds");
  }
  options.log = std::move(log);
  return options;
}

StoreOptions options_from_environment(Log log) {
  return options_from([](const char* name) { return std::getenv(name); }, std::move(log));
}

}  // namespace adjit::cache
