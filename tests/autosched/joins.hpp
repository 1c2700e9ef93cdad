// tests/autosched/joins.hpp -- texts of joins.
#pragma once

#include <string>
#include <vector>

#include "tests/rooms.hpp"

namespace adjit::testing {

/// Tensors x0, x1, ... of these extents along `axis` (0 or 1) and `other` along the other one,
/// joined as y; of `function` of the parts, where one is named.
inline std::string join_text(const std::vector<int64_t>& widths, size_t axis, int64_t other,
                             const std::string& dtype = "float", const std::string& function = "") {
  const std::string along = axis == 0 ? "i" : "j", across = axis == 0 ? "j" : "i";
  std::string inputs, stages, body, closing;
  int64_t begin = 0;
  for (size_t k = 0; k < widths.size(); ++k) {
    const std::string name = "x" + std::to_string(k), width = std::to_string(widths[k]),
                      beside = std::to_string(other);
    const std::string shape = axis == 0 ? width + ", " + beside : beside + ", " + width;
    inputs += (k ? ", " : "") + dtype + "(" + shape + ") " + name;
    if (!function.empty())
      stages += "  f" + name + "(i, j) = " + function + "(" + name + "(i, j))\n";
    const std::string from = std::to_string(begin), to = std::to_string(begin + widths[k]);
    const std::string inside = along + " - " + from;
    const std::string read = (function.empty() ? name : "f" + name) + "(" +
                             (axis == 0 ? inside + ", " + across : across + ", " + inside) +
                             " where " + from + " <= " + along + " && " + along + " < " + to + ")";
    const bool last = k + 1 == widths.size();
    body += last ? read : "select(" + along + " < " + to + ", " + read + ", ";
    if (!last) closing += ")";
    begin += widths[k];
  }
  const std::string total = std::to_string(begin), rest = std::to_string(other);
  return "def f(" + inputs + ") -> (y) {\n" + stages + "  y(i, j) = " + body + closing +
         " where i in 0:" + (axis == 0 ? total : rest) + ", j in 0:" + (axis == 0 ? rest : total) +
         "\n}\n";
}

}  // namespace adjit::testing
