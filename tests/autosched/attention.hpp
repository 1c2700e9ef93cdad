// tests/autosched/attention.hpp -- attention in small, for what is done with its rows.
#pragma once

#include <string>

#include "autosched/machine/cpu_machine.hpp"
#include "runtime/graph/graph.hpp"
#include "runtime/graph/parse/text_module.hpp"

namespace adjit::sched {

/// The text of attention and its gradients: `heads` matrices of `rows` x `columns`, values two
/// wider than queries and keys. `gradient`: stages that give the
/// output's gradient c(h, i, d), where it is no input.
struct AttentionText {
  int64_t heads, rows, columns, width;
  std::string inputs, results, gradient;

  std::string operator()() const {
    const auto n = [](int64_t number) { return std::to_string(number); };
    const std::string queries = n(heads) + ", " + n(rows) + ", ";
    const std::string keys = n(heads) + ", " + n(columns) + ", ";
    return "def main(float(" + queries + n(width) + ") q, float(" + keys + n(width) +
           ") k, float(" + keys + n(width + 2) + ") v, " + inputs + ") -> (" + results +
           ", dq, dk, dv) {\n"
           "  s(h, i, j) +=! q(h, i, r) * k(h, j, r)\n"
           "  m(h, i) max=! s(h, i, r)\n"
           "  e(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
           "  z(h, i) +=! e(h, i, r)\n"
           "  p(h, i, j) = e(h, i, j) / z(h, i)\n"
           "  o(h, i, d) +=! p(h, i, r) * v(h, r, d)\n" +
           gradient +
           "  dp(h, i, j) +=! c(h, i, r) * v(h, j, r)\n"
           "  t(h, i) +=! dp(h, i, r) * p(h, i, r)\n"
           "  ds(h, i, j) = p(h, i, j) * (dp(h, i, j) - t(h, i))\n"
           "  dq(h, i, d) +=! ds(h, i, r) * k(h, r, d)\n"
           "  dk(h, j, d) +=! ds(h, r, j) * q(h, r, d)\n"
           "  dv(h, j, d) +=! p(h, r, j) * c(h, r, d)\n}";
  }
};

/// The gradient is given.
inline Graph attention(int64_t heads, int64_t rows, int64_t columns, int64_t width) {
  const std::string shape = std::to_string(heads) + ", " + std::to_string(rows) + ", ";
  return parse_graph(AttentionText{heads, rows, columns, width,
                                   "float(" + shape + std::to_string(width + 2) + ") c", "o",
                                   ""}());
}

/// Heads are mixed before the gradient comes back to them, so that no row of the backward can begin
/// before all heads have theirs.
inline std::string text_of_layer(int64_t heads, int64_t rows, int64_t columns, int64_t width) {
  return AttentionText{
      heads,
      rows,
      columns,
      width,
      "float(" + std::to_string(heads) + ", " + std::to_string(width + 2) + ", 5) w",
      "y",
      "  y(i, n) +=! o(h, i, d) * w(h, d, n)\n"
      "  c(h, i, d) +=! y(i, n) * w(h, d, n)\n"}();
}
inline Graph layer(int64_t heads, int64_t rows, int64_t columns, int64_t width) {
  return parse_graph(text_of_layer(heads, rows, columns, width));
}

/// Small caches: what tests can interpret is large.
inline CpuMachine small_caches(int cores = 2, int64_t l3_bytes = 256 << 10) {
  CpuMachine machine{cores, 512};
  machine.l1_bytes = 2 << 10;
  machine.l2_bytes = 12 << 10;
  machine.l3_bytes = l3_bytes;
  return machine;
}

}  // namespace adjit::sched
