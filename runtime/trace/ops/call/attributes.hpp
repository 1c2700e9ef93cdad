// runtime/trace/ops/call/attributes.hpp -- the attributes of one call, checked as they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/expr/dtype.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/ops/stages/shape.hpp"
#include "runtime/trace/weak_scalar.hpp"

namespace adjit::trace {

/// A JSON object, which must outlive it, or null for none. A missing key or null is the default;
/// anything else of a wrong type raises ErrorCode::Invalid, which says what the attribute must be.
class Attributes {
 public:
  /// ErrorCode::Invalid for anything else.
  explicit Attributes(const Json& values);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  const Json* find(std::string_view key) const;  // nullptr when missing or null
  int64_t integer(std::string_view key) const;   // required
  int64_t integer(std::string_view key, int64_t otherwise) const;
  double real(std::string_view key, double otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  std::string text(std::string_view key, std::string_view otherwise) const;
  /// An int or a list of ints, as a list.
  std::optional<Shape> integers(std::string_view key) const;
  /// `count` ints; a single int stands for all of them.
  Shape repeated(std::string_view key, size_t count, int64_t otherwise) const;
  /// ErrorCode::DType for a name that is none.
  std::optional<DType> dtype(std::string_view key) const;
  std::optional<WeakScalar> scalar(std::string_view key) const;

 private:
  const Json& values_;
};

/// Throws "key must be WANTED, not what it is".
[[noreturn]] void fail_attribute(const Attributes& attributes, std::string_view key,
                                 std::string_view wanted);

/// An integer of JSON that int64 holds; nullopt for anything else.
std::optional<int64_t> integer_of(const Json& value);
/// A scalar of JSON, an integer beyond int64 as a float: bool, int, float, or "inf", "-inf", "nan";
/// nullopt for anything else.
std::optional<WeakScalar> scalar_of(const Json& value);

}  // namespace adjit::trace
