// tests/autosched/gpu/norms.hpp -- gradients of normalisations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "autosched/program/program.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::sched {

/// Whether rows are computed in the pass of a sum over them.
inline bool computes_rows_in_sums(const Program& program) {
  return std::ranges::any_of(program.kernels, [&](const Kernel& kernel) {
    const Domain& domain = program.graph.stages[kernel.root.stage].domain;
    return domain.reduction_rank() > 0 && domain.output_rank > 0 && !kernel.root.attached.empty();
  });
}

/// A layer norm's three gradients: by the input, the scale and the shift.
inline Graph layer_norm(int64_t rows, int64_t width) {
  const std::string w = std::to_string(width), x = "float(" + std::to_string(rows) + ", " + w + ")";
  return parse_graph("def f(" + x + " x, " + x + " g, float(" + w +
                     ") w) -> (dx, dw, db) {\n"
                     "  m(i) +=! x(i, r) / " +
                     w +
                     ".0\n"
                     "  v(i) +=! (x(i, r) - m(i)) * (x(i, r) - m(i)) / " +
                     w +
                     ".0\n"
                     "  a(i) +=! g(i, r) * w(r) / " +
                     w +
                     ".0\n"
                     "  b(i) +=! g(i, r) * w(r) * (x(i, r) - m(i)) / " +
                     w +
                     ".0\n"
                     "  dx(i, j) = (g(i, j) * w(j) - a(i) - (x(i, j) - m(i)) * b(i) / "
                     "(v(i) + 0.001)) / sqrt(v(i) + 0.001)\n"
                     "  dw(j) +=! g(r, j) * (x(r, j) - m(r)) / sqrt(v(r) + 0.001)\n"
                     "  db(j) +=! g(r, j)\n}");
}

}  // namespace adjit::sched
