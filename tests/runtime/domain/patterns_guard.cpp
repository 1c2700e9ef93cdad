// tests/runtime/domain/patterns_guard.cpp -- triangles, bands, modulo guards, and coupled lattices.
#include "patterns.hpp"

namespace adjit::domain {

namespace {

Pattern triangle(int64_t n) {
  IndexMap m({n}, {n});
  m.at_least_zero(m[0] - m[1]);
  m.index = {m[0], m[1]};
  return one("triangle", {n, n}, m);
}

Pattern cumulative_sum(int64_t n) {
  IndexMap m({n}, {n});
  m.at_least_zero(m[0] - m[1]);
  m.index = {m[1]};
  return one("cumulative_sum", {n}, m);
}

Pattern band(int64_t n, int64_t w) {
  IndexMap m({n, 3}, {n});
  m.at_least_zero(m[0] - m[2] + w);
  m.at_least_zero(m[2] - m[0] + w);
  m.index = {m[2], m[1]};
  return one("band", {n, 3}, m);
}

/// A band of a matrix whose offsets are written out: A[i, i + r - w] where inside.
Pattern diagonals(int64_t n, int64_t w) {
  IndexMap m({n}, {2 * w + 1});
  m.within(m[0] + m[1] - w, n);
  m.index = {m[0], m[0] + m[1] - w};
  return one("diagonals", {n, n}, m);
}

Pattern strictly_upper(int64_t n) {
  IndexMap m({n}, {n});
  m.at_least_zero(m[1] - m[0] - 1);
  m.index = {m[1], m[0]};
  return one("strictly_upper_transposed", {n, n}, m);
}

/// sum over r of x[r] where r == 2 i + s: sparse windows.
Pattern sparse_window(int64_t n) {
  IndexMap m({n, 2}, {2 * n + 1});
  m.zero(m[2] - 2 * m[0] - m[1]);
  m.index = {m[2]};
  return one("sparse_window", {2 * n + 1}, m);
}

Pattern tetrahedron(int64_t n) {
  IndexMap m({n, n}, {n});
  m.at_least_zero(m[2] - m[1]);
  m.at_least_zero(m[0] - m[2]);
  m.index = {m[2], m[1]};
  return one("tetrahedron", {n, n}, m);
}

Pattern symmetric(int64_t n) {
  IndexMap lower({n}, {n}), upper({n}, {n});
  lower.at_least_zero(lower[0] - lower[1]);
  lower.index = {lower[0], lower[1]};
  upper.at_least_zero(upper[1] - upper[0] - 1);
  upper.index = {upper[1], upper[0]};
  return {"symmetric", {n, n}, {lower, upper}};
}

/// x[i - 3r] where 3r <= i and r <= i // 4
Pattern causal_dilated(int64_t n) {
  IndexMap m({n}, {n});
  m.at_least_zero(m[0] - 3 * m[1]);
  m.at_least_zero(m.floor(m[0], 4) - m[1]);
  m.index = {m[0] - 3 * m[1]};
  return one("causal_dilated", {n}, m);
}

/// x[i + 2r] where (i + r) % 3 == 1
Pattern modulo_guard(int64_t n) {
  IndexMap m({n}, {5});
  m.zero(m.mod(m[0] + m[1], 3) - 1);
  m.index = {m[0] + 2 * m[1]};
  return one("modulo_guard", {n + 8}, m);
}

/// A[i, r] for i and r in the same block of 4
Pattern block_diagonal(int64_t n) {
  IndexMap m({n}, {n});
  m.zero(m.floor(m[0], 4) - m.floor(m[1], 4));
  m.index = {m[1]};
  return one("block_diagonal", {n}, m);
}

Pattern skewed(int64_t n) {
  IndexMap m({n}, {n});
  m.index = {m[0] + 2 * m[1], 3 * m[0] - m[1]};
  return one("skewed", {3 * n, 3 * n}, m);
}

Pattern parity(int64_t n) {
  IndexMap m({n}, {n});
  m.index = {m[0] + m[1], m[0] - m[1] + n};
  return one("parity", {2 * n, 2 * n}, m);
}

Pattern coprime_after_gcd(int64_t n) {
  IndexMap m({n}, {n});
  m.index = {4 * m[0] + 6 * m[1]};
  return one("lattice_4_6", {10 * n}, m);
}

Pattern lattice_6_10_15(int64_t n) {
  IndexMap m({n}, {n, n});
  m.index = {6 * m[0] + 10 * m[1] + 15 * m[2]};
  return one("lattice_6_10_15", {31 * n}, m, 0.05);
}

Pattern lattice_2_equations(int64_t n) {
  IndexMap m({n}, {n, 3});
  m.index = {2 * m[0] + 3 * m[1] + m[2], 4 * m[0] - 2 * m[1] + 6 * m[2] + 2 * n + 1};
  return one("lattice_2_equations", {6 * n, 7 * n + 9}, m, 0.05);
}

Pattern haar(int64_t n) {
  IndexMap m({n}, {2});
  m.index = {2 * m[0] + m[1]};
  return one("haar", {2 * n}, m);
}

Pattern two_reductions(const std::string& name, int64_t n, int64_t a, int64_t b, int64_t c,
                       int64_t target, double allowed_waste) {
  IndexMap m({n}, {a == 4 ? 4 : 3, 3});
  m.index = {a * m[0] + b * m[1] + c * m[2]};
  return one(name, {target}, m, allowed_waste);
}

}  // namespace

std::vector<Pattern> guard_patterns(Size size) {
  const auto s = [size](int64_t small, int64_t large) { return pick(size, small, large); };
  const int64_t reduced = s(12, 256);
  return {
      triangle(s(7, 512)),
      cumulative_sum(s(7, 512)),
      band(s(8, 512), 2),
      diagonals(s(7, 512), 2),
      strictly_upper(s(7, 512)),
      sparse_window(s(6, 256)),
      tetrahedron(s(6, 128)),
      symmetric(s(6, 64)),
      causal_dilated(s(9, 256)),
      modulo_guard(s(12, 512)),
      block_diagonal(s(10, 512)),
      skewed(s(6, 128)),
      parity(s(6, 128)),
      coprime_after_gcd(s(6, 128)),
      lattice_6_10_15(s(4, 32)),
      lattice_2_equations(s(5, 64)),
      haar(s(8, 256)),
      two_reductions("two_reductions", reduced, 1, 2, 3, reduced + 10, 0),
      two_reductions("lattice_4_6_9", reduced, 4, 6, 9, 4 * reduced + 36, 0.05),
  };
}

}  // namespace adjit::domain
