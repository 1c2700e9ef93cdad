// adjit/attributes.hpp -- attributes of operators, written as the JSON that the C interface takes.
#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "array.hpp"

namespace adjit::inline cpp {

namespace detail {

/// InvalidError when an unsigned number is beyond int64.
template <std::integral T>
int64_t int64_of(T value) {
  if constexpr (std::is_unsigned_v<T> && sizeof(T) == 8)
    if (value > static_cast<T>(INT64_MAX))
      throw InvalidError(std::to_string(value) + " does not fit 64 bits with a sign");
  return static_cast<int64_t>(value);
}

}  // namespace detail

/// One value: a number, a truth value, a string, a dtype, a list of integers, nothing.
class Attribute {
 public:
  Attribute(std::nullptr_t) : json_("null") {}  // NOLINT: values convert
  Attribute(std::nullopt_t) : json_("null") {}  // NOLINT
  Attribute(std::same_as<bool> auto value) : json_(value ? "true" : "false") {}  // NOLINT
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Attribute(T value) : json_(std::to_string(detail::int64_of(value))) {}  // NOLINT
  Attribute(std::floating_point auto value) : json_(number(value)) {}     // NOLINT
  Attribute(std::string_view text) : json_(quoted(text)) {}               // NOLINT
  Attribute(const std::string& text) : json_(quoted(text)) {}             // NOLINT
  Attribute(const char* text) : json_(quoted(text)) {}                    // NOLINT
  Attribute(DType dtype) : json_(quoted(name_of(dtype))) {}               // NOLINT
  Attribute(const Shape& list) : json_(joined(list)) {}                   // NOLINT
  Attribute(std::initializer_list<int64_t> list) : Attribute(Shape(list)) {}
  template <class T>
  Attribute(const std::optional<T>& value)  // NOLINT
      : Attribute(value ? Attribute(*value) : Attribute(nullptr)) {}

  /// A list of any values, such as items of an index.
  static Attribute list(const std::vector<Attribute>& values) {
    std::string json = "[";
    for (const Attribute& value : values) json += (json.size() > 1 ? "," : "") + value.json_;
    return Attribute(Json{json + "]"});
  }

  const std::string& json() const { return json_; }
  static std::string quoted(std::string_view text) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string json = "\"";
    for (char c : text) {
      const auto code = static_cast<unsigned char>(c);
      if (c == '"' || c == '\\') json += '\\';
      if (code >= 0x20)
        json += c;
      else
        json += {'\\', 'u', '0', '0', kDigits[code >> 4], kDigits[code & 15]};
    }
    return json + '"';
  }

 private:
  struct Json {
    std::string text;
  };
  explicit Attribute(Json json) : json_(std::move(json.text)) {}

  // Digits that read back the same, with a point or exponent, in every locale; what JSON has no
  // number for is a string.
  static std::string number(double value) {
    if (std::isnan(value)) return "\"nan\"";
    if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
    char digits[32];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
    std::string text(digits, end);
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return text;
  }
  static std::string joined(const Shape& list) {
    std::string json = "[";
    for (int64_t value : list) json += (json.size() > 1 ? "," : "") + std::to_string(value);
    return json + "]";
  }

  std::string json_;
};

/// Attributes by name: {{"stride", 2}, {"padding", {1, 1}}}.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string_view, Attribute>> list) {
    for (const auto& [name, value] : list) set(name, value);
  }
  Attributes& set(std::string_view name, const Attribute& value) {
    members_ += (members_.empty() ? "" : ",") + Attribute::quoted(name) + ":" + value.json();
    return *this;
  }
  std::string json() const { return "{" + members_ + "}"; }

 private:
  std::string members_;
};

}  // namespace adjit::inline cpp
