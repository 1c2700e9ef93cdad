// runtime/graph/print/lists.hpp -- lists of texts as one text.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace adjit::graph {

/// "a, b, c".
inline std::string joined(std::span<const std::string> parts, std::string_view separator = ", ") {
  std::string text;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (k > 0) text += separator;
    text += parts[k];
  }
  return text;
}

/// "(a, b, c)".
inline std::string parenthesised(std::span<const std::string> parts) {
  return "(" + joined(parts) + ")";
}

}  // namespace adjit::graph
