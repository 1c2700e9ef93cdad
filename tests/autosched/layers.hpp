// tests/autosched/layers.hpp -- two layers of a network with their gradients.
#pragma once

#include <string>
#include <vector>

#include "tests/autosched/programs.hpp"

namespace adjit::sched {

// Two layers and what reverse mode makes of them: a and b wait for the gradients.
inline constexpr const char* kLayers =
    "def main(float(8, 8) x, float(8, 8) w, float(8, 8) v) -> (dw, dv, dx) {\n"
    "  p(i, j) +=! x(i, k) * w(k, j)\n"
    "  a(i, j) = tanh(p(i, j))\n"
    "  q(i, j) +=! a(i, k) * v(k, j)\n"
    "  b(i, j) = tanh(q(i, j))\n"
    "  dq(i, j) = b(i, j) - b(i, j) * b(i, j) * b(i, j)\n"
    "  da(i, j) +=! dq(i, k) * v(j, k)\n"
    "  dp(i, j) = da(i, j) - da(i, j) * a(i, j) * a(i, j)\n"
    "  dw(i, j) +=! x(k, i) * dp(k, j)\n"
    "  dx(i, j) +=! dp(i, k) * w(j, k)\n"
    "  dv(i, j) +=! a(k, i) * dq(k, j)\n}";

inline std::vector<std::string> names(const Program& program) {
  std::vector<std::string> found;
  for (const Stage& stage : program.graph.stages) found.push_back(stage_name(program.graph, stage));
  return found;
}

}  // namespace adjit::sched
