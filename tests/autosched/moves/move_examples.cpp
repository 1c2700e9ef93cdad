// tests/autosched/moves/move_examples.cpp -- an example of every move.
#include "tests/autosched/moves/move_examples.hpp"

namespace adjit::testing {
namespace {

constexpr std::string_view kProduct = R"(def product(float(12, 16) a, float(16, 24) b) -> (c) {
  c(i, j) +=! a(i, k) * b(k, j)
})";

constexpr std::string_view kSoftmax = R"(def softmax(float(8, 16) x) -> (y) {
  m(i) max=! x(i, k)
  e(i, j) = exp(x(i, j) - m(i))
  s(i) +=! e(i, k)
  y(i, j) = e(i, j) / s(i)
})";

constexpr std::string_view kTwice = R"(def twice(float(8) x) -> (y) {
  u(i) = 2.0 * x(i)
  y(i) = exp(u(i)) + u(i)
})";

constexpr MoveExample kExamples[] = {
    {kProduct, "[]", R"({"move": "tile", "stage": "c", "axis": 0, "steps": [6, 2]})"},
    {kProduct, "[]", R"({"move": "reorder", "stage": "c", "order": [0, 2, 1]})"},
    {kProduct, "[]", R"({"move": "vectorize", "stage": "c", "axis": 1, "lanes": 8})"},
    {kProduct, R"([{"move": "vectorize", "stage": "c", "axis": 1, "lanes": 8}])",
     R"({"move": "unroll", "stage": "c", "axis": 0, "factor": 4})"},
    {kProduct, R"([{"move": "tile", "stage": "c", "axis": 0, "steps": [6]}])",
     R"({"move": "parallel", "stage": "c", "loops": 1})"},
    {kSoftmax, R"([{"move": "parallel", "stage": "s", "loops": 1}])",
     R"({"move": "threads", "stage": "s", "axis": 1, "count": 8})", true},
    {kTwice, "[]", R"({"move": "store_nontemporal", "stage": "y"})"},
    {kSoftmax, "[]", R"({"move": "prefetch", "stage": "s", "axis": 0})"},
    {kSoftmax, "[]", R"({"move": "compute_at", "stage": "s", "host": "y", "depth": 1})"},
    {R"(def gradients(float(8, 16) x, float(8, 16) g) -> (dx, dw) {
  dx(i, j) = g(i, j) * exp(x(i, j))
  dw(j) +=! g(k, j)
})",
     R"([{"move": "reorder", "stage": "dw", "order": [1, 0]}])",
     R"({"move": "compute_with", "stage": "dx", "host": "dw", "depth": 1,
 "indices": [[0, 1, 0], [1, 0, 0]]})"},
    {R"(def total(float(64, 32) x) -> (s) {
  u(k, j) = x(k, j)
  s(j) +=! u(k, j)
})",
     R"([{"move": "tile", "stage": "s", "axis": 1, "steps": [8]},
 {"move": "reorder", "stage": "s", "order": [1, 0, 2]},
 {"move": "compute_at", "stage": "u", "host": "s", "depth": 1},
 {"move": "threads", "stage": "s", "axis": 0, "count": 32},
 {"move": "threads", "stage": "u", "axis": 1, "count": 32}])",
     R"({"move": "pipeline", "stage": "u", "buffers": 3})", true},
    {kSoftmax, R"([{"move": "compute_at", "stage": "s", "host": "y", "depth": 1}])",
     R"({"move": "interleave", "stage": "y", "depth": 1, "rows": 4})"},
    {kTwice, "[]", R"({"move": "inline", "stages": ["u"]})"},
    {kTwice, "[]", R"({"move": "recompute", "stages": ["u"]})"},
    {R"(def again(float(6, 9) x) -> (y, z) {
  u(i, j) = exp(x(i, j))
  y(i) +=! u(i, k)
  z(i, j) = u(i, j) / y(i)
})",
     "[]", R"({"move": "rematerialize", "stage": "u", "reader": "z"})"},
    {R"(def early(float(6, 6) x, float(6, 6) w) -> (y, u, z) {
  a(i, j) +=! x(i, k) * w(k, j)
  b(i, j) +=! a(i, k) * w(k, j)
  y(i) max=! b(i, k)
  u(i) +=! b(i, k)
  z(i) +=! a(i, k)
})",
     "[]", R"({"move": "eager_outputs"})"},
    {R"(def window(float(10) x, float(3) w) -> (y) {
  y(i) +=! x(i + k) * w(k) where i in 0:8, k in 0:3
})",
     "[]", R"({"move": "unroll_reduction", "stage": "y"})"},
    {R"(def bins(float(16, 3) x, float(16) w, int64(16) n) -> (y) {
  y(j, k) +=! select(n(r_i) + r_o == k, x(r_i, j) * select(r_o == 0, 1.0 - tanh(w(r_i)), tanh(w(r_i))), 0.0)
    where j in 0:3, k in 0:4, r_i in 0:16, r_o in 0:2
})",
     "[]", R"({"move": "factor_out", "stage": "y", "axis": 3})"},
    {R"(def total(float(64) x) -> (s) {
  s() +=! x(k)
})",
     "[]", R"({"move": "rfactor", "stage": "s", "axis": 0, "parts": 4})"},
    {R"(def histogram(float(12) x, int64(12) n) -> (h) {
  scatter float(4) h(n(i)) +=[drop] x(i) where i in 0:12
})",
     "[]", R"({"move": "privatize_scatter", "stage": "h", "axis": 0, "parts": 3})"},
    {R"(def prefix(float(12, 3) x) -> (y) {
  y(i, j) +=! x(r_k, j) where i in 0:12, j in 0:3, r_k in 0:12, r_k <= i
})",
     "[]", R"({"move": "split_running", "stage": "y", "parts": 3})"},
    {R"(def table(float(8, 3) g, int64(8) n) -> (d) {
  scatter float(5, 3) d(n(p), c) +=[drop] g(p, c) where p in 0:8, c in 0:3
})",
     "[]", R"({"move": "invert", "stage": "d", "chunk": 8, "piece": 16})"},
    {R"(def bins(float(12, 6) x, int64(12, 6) n) -> (h) {
  scatter float(3, 4) h(n(i, j), j // 2 + p) +=[drop] x(i, j) where i in 0:12, j in 0:6, p in 0:2
})",
     "[]", R"({"move": "scatter_to_gather", "stage": "h"})"},
    {R"(def image(float(2, 3, 10) x, int64(2, 10) n) -> (h) {
  scatter float(2, 3, 4) h(b, c, n(b, i)) +=[drop] x(b, c, i) where b in 0:2, c in 0:3, i in 0:10
})",
     "[]", R"({"move": "scatter_layout", "stage": "h", "dimension": 1, "width": 4})"},
    {R"(def rows(float(7, 4) d, int64(7, 3) n, float(3) w) -> (h) {
  scatter float(5, 4) h(n(i, k), c) +=[drop] d(i, c) * w(k) where i in 0:7, c in 0:4, k in 0:3
})",
     "[]", R"({"move": "scatter_accumulate", "stage": "h"})"},
    {R"(def rows(float(9, 4) x, int64(7) n, float(7, 2) w) -> (y) {
  y(i) +=! x(max(min(n(i) + k, 8), 0), c) * w(i, k) where i in 0:7, c in 0:4, k in 0:2
})",
     "[]", R"({"move": "gather_reduce", "stage": "y", "operand": "x"})"},
    {R"(def recurrence(float(8) a, float(5, 8) x) -> (c) {
  scan (c) = step[5](carry float(8) s = a, over float(8) v = x) -> (t) {
    u(i) = exp(v(i))
    t(i) = s(i) + u(i)
  }
})",
     "[]",
     R"({"move": "schedule_scan", "stage": "c", "moves": [{"move": "inline", "stages": ["u"]}]})"},
    {R"(def stretched(float(6, 8) x) -> (y) {
  y(i, j) = x(i, j // 2) where i in 0:6, j in 0:16
})",
     "[]", R"({"move": "split_residues", "stage": "y", "axis": 1, "modulus": 2, "inside": true})"},
    {R"(def taps(float(2, 8) x, float(3) w) -> (y) {
  y(p, q) +=! x(p, q - r) * w(2 * r + p) where p in 0:2, q in 0:8, r in 0:2, 2 * r + p <= 2, q >= r
})",
     "[]", R"({"move": "split_points", "stage": "y", "axis": 0})"},
    {kProduct, "[]",
     R"({"move": "pack", "stage": "c", "operand": "b", "dimensions": [[1, 8, 0], [0, 1, 0], [1, 1, 8]],
 "before": [], "after": [], "instead_of_rows": false, "widen": false, "read": 0})"},
    {R"(def moments(float(6, 9) x) -> (a, b) {
  a(i) +=! x(i, k)
  b(i) +=! x(i, k) * x(i, k)
})",
     "[]", R"({"move": "fuse_siblings", "stages": ["a", "b"]})"},
    {R"(def pairs(float(6, 7) d, float(7, 2) a, float(6, 2) b) -> (u, v) {
  u(i, k) +=! exp(-d(i, r)) * a(r, k)
  v(i, k) +=! exp(-d(r, i)) * b(r, k) where i in 0:7, k in 0:2, r in 0:6
})",
     "[]", R"({"move": "materialize_common", "stages": ["u", "v"], "axes": [[0, 2], [2, 0]]})"},
    {R"(def convolution(float(4, 9) x, float(6, 4, 3) w) -> (y) {
  y(o, i) +=! w(o, c, k) * x(c, i + k - 1)
    where o in 0:6, i in 0:9, c in 0:4, k in 0:3, i + k >= 1, i + k <= 9
})",
     "[]", R"({"move": "materialize", "stage": "y", "factors": [1]})"},
    {R"(def blocks(float(12, 5) x) -> (m) {
  e(i, j) = exp(x(i, j))
  m(i) max=! e(i, k)
})",
     "[]", R"({"move": "split_axis", "stages": ["e", "m"], "axes": [0, 0], "steps": [4]})"},
    {R"(def batch(float(3, 5, 7) x, float(7, 4) w) -> (p) {
  p(i, j, k) +=! x(i, j, r) * w(r, k)
})",
     "[]", R"({"move": "fuse_axes", "stage": "p", "axis": 0})"},
    {kProduct, "[]", R"({"move": "transpose_output", "stage": "c", "axis": 0})"},
    {R"(def columns(float(4, 8) x) -> (y) {
  t(i, j) = exp(x(i, j))
  y(j) +=! t(k, j)
})",
     "[]", R"({"move": "pad_leading_dimension", "stage": "t", "gap": 2})"},
    {R"(def reshaped(float(6, 4) x) -> (y) {
  c(i, j) = exp(x(i, j))
  y(b, r, j) = c(3 * b + r, j) where b in 0:2, r in 0:3, j in 0:4
})",
     "[]", R"({"move": "alias_reshape", "stage": "y"})"},
    {R"(def chain(float(6, 7) x) -> (b, c) {
  a(i, j) = exp(x(i, j))
  c(i) max=! x(i, k)
  b(i) +=! a(i, k)
})",
     "[]", R"({"move": "make_adjacent", "stages": ["a", "b"]})"},
    {R"(def late(float(6, 7) x) -> (a, b) {
  a(i) +=! x(i, k)
  b(i) max=! x(i, k)
})",
     "[]", R"({"move": "postpone", "stage": "a", "other": "b"})"},
};

}  // namespace

std::span<const MoveExample> move_examples() { return kExamples; }

}  // namespace adjit::testing
