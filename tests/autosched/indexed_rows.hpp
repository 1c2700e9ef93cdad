// tests/autosched/indexed_rows.hpp -- graphs whose reads and writes go to rows that data names.
#pragma once

#include <string>

#include "runtime/graph/parse/text_module.hpp"

namespace adjit::sched {

/// Bilinear samples of an image of some channels along a flow, summed with weights along the
/// channels: y, over 2 images of side x side pixels.
inline Graph flow_samples(int64_t channels, int64_t side, const std::string& type = "float") {
  const std::string c = std::to_string(channels), n = std::to_string(side),
                    last = std::to_string(side - 1);
  const auto place = [&](const char* corner, const char* axis, int component) {
    return std::string("max(min(") + corner + " + int64(floor(" + axis + " + flow(b, " +
           std::to_string(component) + ", i, j))), " + last + "), 0)";
  };
  return parse_graph("def f(" + type + "(2, " + n + ", " + n + ", " + c + ") x, " + type +
                     "(2, 2, " + n + ", " + n + ") flow, " + type + "(2, " + c + ", " + n + ", " +
                     n + ") d) -> (y) { y(b, i, j) +=! d(b, r_c, i, j) * select(r_k == 0, -x(b, " +
                     place("r_k", type == "float" ? "float(i)" : "double(i)", 0) + ", " +
                     place("r_l", type == "float" ? "float(j)" : "double(j)", 1) + ", r_c), x(b, " +
                     place("r_k", type == "float" ? "float(i)" : "double(i)", 0) + ", " +
                     place("r_l", type == "float" ? "float(j)" : "double(j)", 1) +
                     ", r_c)) * (select(r_l == 0, 0.25, 0.75) + flow(b, 1, i, j)) where b in 0:2, "
                     "i in 0:" +
                     n + ", j in 0:" + n + ", r_c in 0:" + c + ", r_k in 0:2, r_l in 0:2 }");
}

/// The gradient of such an image: values of `groups` x `each` channels that are added to four
/// pixels each.
inline Graph flow_gradient(int64_t groups, int64_t each, int64_t side, bool channels_last = true) {
  const std::string g = std::to_string(groups), e = std::to_string(each), n = std::to_string(side),
                    c = std::to_string(groups * each), last = std::to_string(side - 1);
  const auto place = [&](const char* corner, const char* axis, int component) {
    return std::string("max(min(") + corner + " + int64(floor(float(" + axis + ") + flow(b, " +
           std::to_string(component) + ", i, j))), " + last + "), 0)";
  };
  const std::string y = place("p", "i", 0), x = place("q", "j", 1), channel = "k * " + e + " + m";
  const std::string shape = channels_last ? "(2, " + n + ", " + n + ", " + c + ")"
                                          : "(2, " + c + ", " + n + ", " + n + ")";
  const std::string target = channels_last ? "(b, " + y + ", " + x + ", " + channel + ")"
                                           : "(b, " + channel + ", " + y + ", " + x + ")";
  return parse_graph(
      "def f(float(2, " + g + ", " + n + ", " + n + ") d, float(2, " + e + ", " + n + ", " + n +
      ") v, float(2, 2, " + n + ", " + n + ") flow) -> (h) {\n  scatter float" + shape + " h" +
      target +
      " +=! d(b, k, i, j) * (select(p == 0, 0.25, 0.75) + flow(b, 0, i, j)) * v(b, m, "
      "i, j) * select(q == 0, 0.5, -0.5) where b in 0:2, k in 0:" +
      g + ", i in 0:" + n + ", j in 0:" + n + ", m in 0:" + e + ", p in 0:2, q in 0:2\n}");
}

}  // namespace adjit::sched
