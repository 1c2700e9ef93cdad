// runtime/graph/print/literal.cpp -- constants as literals that read back to the same bits.
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>

#include "runtime/graph/print/expression_printer.hpp"

namespace adjit::graph {
namespace {

template <class T>
std::string shortest(T value) {
  std::array<char, 40> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value).ptr;
  std::string text(buffer.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string nan_text(uint64_t bits) {
  constexpr uint64_t kQuiet = 0x7ff8000000000000ull, kSign = uint64_t{1} << 63;
  if (bits == kQuiet) return "nan";
  if (bits == (kQuiet | kSign)) return "-nan";
  std::array<char, 40> buffer;
  std::snprintf(buffer.data(), buffer.size(), "nan_bits(0x%016llx)",
                static_cast<unsigned long long>(bits));
  return buffer.data();
}

}  // namespace

std::string literal_text(const Node& constant) {
  if (constant.dtype == DType::Bool) return constant.payload ? "true" : "false";
  if (!is_float(constant.dtype)) return std::to_string(static_cast<int64_t>(constant.payload));
  const double value = std::bit_cast<double>(constant.payload);
  if (std::isnan(value)) return nan_text(constant.payload);
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  return constant.dtype == DType::Float64 ? shortest(value) : shortest(static_cast<float>(value));
}

}  // namespace adjit::graph
