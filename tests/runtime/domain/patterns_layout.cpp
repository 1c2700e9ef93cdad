// tests/runtime/domain/patterns_layout.cpp -- reshapes, permutations, slices, padding, rolls,
// resampling.
#include "patterns.hpp"

namespace adjit::domain {

namespace {

Pattern transpose(int64_t n) {
  IndexMap m({n, n + 2}, {});
  m.index = {m[1], m[0]};
  return one("transpose", {n + 2, n}, m);
}

Pattern broadcast(int64_t n, int64_t k) {
  IndexMap m({n, k}, {});
  m.index = {m[1]};
  return one("broadcast", {k}, m);
}

Pattern flatten(int64_t a, int64_t b, int64_t c) {
  IndexMap m({a * b * c}, {});
  m.index = {m.floor(m[0], b * c), m.mod(m.floor(m[0], c), b), m.mod(m[0], c)};
  return one("flatten", {a, b, c}, m);
}

Pattern unflatten(int64_t a, int64_t b, int64_t c) {
  IndexMap m({a, b, c}, {});
  m.index = {b * c * m[0] + c * m[1] + m[2]};
  return one("unflatten", {a * b * c}, m);
}

/// (6 k, 4) viewed as (8 k, 3).
Pattern incompatible_reshape(int64_t k) {
  IndexMap m({6 * k, 4}, {});
  const Affine flat = 4 * m[0] + m[1];
  m.index = {m.floor(flat, 3), m.mod(flat, 3)};
  return one("reshape_incompatible", {8 * k, 3}, m);
}

/// Transposed, then reshaped with factors that do not nest.
Pattern transposed_reshape(int64_t k) {
  const int64_t a = 6 * k, b = 5, c = 4;
  IndexMap m({b * c, a}, {});
  const Affine flat = a * m[0] + m[1];
  m.index = {m.mod(flat, c), m.floor(flat, c)};
  return one("reshape_transposed", {c, a * b}, m);
}

Pattern pixel_shuffle(int64_t c, int64_t n, int64_t u) {
  IndexMap m({c, n * u, n * u}, {});
  m.index = {u * u * m[0] + u * m.mod(m[1], u) + m.mod(m[2], u), m.floor(m[1], u),
             m.floor(m[2], u)};
  return one("pixel_shuffle", {c * u * u, n, n}, m);
}

Pattern pixel_unshuffle(int64_t c, int64_t n, int64_t u) {
  IndexMap m({c * u * u, n, n}, {});
  m.index = {m.floor(m[0], u * u), u * m[1] + m.mod(m.floor(m[0], u), u),
             u * m[2] + m.mod(m[0], u)};
  return one("pixel_unshuffle", {c, n * u, n * u}, m);
}

Pattern head_split(int64_t s, int64_t d) {
  IndexMap m({2, 4, s, d}, {});
  m.index = {m[0], m[2], d * m[1] + m[3]};
  return one("head_split", {2, s, 4 * d}, m);
}

Pattern concat(int64_t n) {
  IndexMap m({n, 2 * n + 1}, {});
  m.at_least_zero(m[1] - n);
  m.index = {m[0], m[1] - n};
  return one("concat_second", {n, n + 1}, m);
}

Pattern split(int64_t n) {
  IndexMap m({n, n}, {});
  m.index = {m[0], m[1] + n / 2};
  return one("split", {n, 2 * n + 1}, m);
}

Pattern slice(const std::string& name, int64_t n, int64_t outputs, int64_t first, int64_t step) {
  IndexMap m({outputs}, {});
  m.index = {step * m[0] + first};
  return one(name, {n}, m);
}

Pattern constant_padding(int64_t n, int64_t p) {
  IndexMap m({n + 2 * p, n + 2 * p}, {});
  m.within(m[0] - p, n);
  m.within(m[1] - p, n);
  m.index = {m[0] - p, m[1] - p};
  return one("pad_constant", {n, n}, m);
}

/// Part 0, 1 or 2 (before, inside, behind) of reflect padding along `axis`; returns the index
/// there.
Affine reflected(IndexMap& m, size_t axis, int64_t part, int64_t n, int64_t p) {
  const Affine i = m[axis];
  if (part == 0) {
    m.at_least_zero(p - 1 - i);
    return p - i;
  }
  if (part == 1) {
    m.within(i - p, n);
    return i - p;
  }
  m.at_least_zero(i - (n + p));
  return 2 * (n - 1) + p - i;
}

Pattern reflect(int64_t n, int64_t p) {
  Pattern pattern{"pad_reflect", {n}, {}};
  for (int64_t part = 0; part < 3; ++part) {
    IndexMap m({n + 2 * p}, {});
    m.index = {reflected(m, 0, part, n, p)};
    pattern.maps.push_back(m);
  }
  return pattern;
}

Pattern reflect_2d(int64_t n, int64_t p) {
  Pattern pattern{"pad_reflect_2d", {n, n}, {}};
  for (int64_t part = 0; part < 9; ++part) {
    IndexMap m({n + 2 * p, n + 2 * p}, {});
    const Affine row = reflected(m, 0, part / 3, n, p), column = reflected(m, 1, part % 3, n, p);
    m.index = {row, column};
    pattern.maps.push_back(m);
  }
  return pattern;
}

Pattern edge_padding(int64_t n, int64_t p) {
  Pattern pattern{"pad_edge", {n}, {}};
  for (int64_t part = 0; part < 3; ++part) {
    IndexMap m({n + 2 * p}, {});
    const Affine index = reflected(m, 0, part, n, p);
    m.index = {part == 0 ? Affine(0) : part == 1 ? index : Affine(n - 1)};
    pattern.maps.push_back(m);
  }
  return pattern;
}

/// Padding that mirrors with the border repeated: part 0, 1, 2 as above.
Pattern symmetric_padding(int64_t n, int64_t p) {
  Pattern pattern{"pad_symmetric", {n}, {}};
  for (int64_t part = 0; part < 3; ++part) {
    IndexMap m({n + 2 * p}, {});
    const Affine index = reflected(m, 0, part, n, p);
    m.index = {part == 0 ? index - 1 : part == 1 ? index : index + 1};
    pattern.maps.push_back(m);
  }
  return pattern;
}

Pattern wrap_padding(int64_t n, int64_t p) {
  IndexMap m({n + 2 * p}, {});
  m.index = {m.mod(m[0] - p, n)};
  return one("pad_wrap", {n}, m);
}

Pattern diagonal(int64_t n) {
  IndexMap m({n}, {});
  m.index = {m[0], m[0]};
  return one("diagonal", {n, n}, m);
}

Pattern trace(int64_t n) {
  IndexMap m({}, {n});
  m.index = {m[0], m[0]};
  return one("trace", {n, n}, m);
}

Pattern diagonal_embedding(int64_t n) {
  IndexMap m({n, n}, {});
  m.zero(m[0] - m[1] - 1);
  m.index = {m[0]};
  return one("diagonal_embedding", {n}, m);
}

Pattern resample(const std::string& name, int64_t outputs, int64_t n, int64_t p, int64_t q) {
  IndexMap m({outputs}, {});
  m.index = {m.floor(p * m[0], q)};
  return one(name, {n}, m);
}

Pattern upsample_2d(int64_t n, int64_t u) {
  IndexMap m({n * u, n * u}, {});
  m.index = {m.floor(m[0], u), m.floor(m[1], u)};
  return one("upsample_nearest", {n, n}, m);
}

Pattern roll(int64_t n) {
  IndexMap m({n}, {});
  m.index = {m.mod(m[0] + 3, n)};
  return one("roll", {n}, m);
}

Pattern tile(int64_t n) {
  IndexMap m({3 * n}, {});
  m.index = {m.mod(m[0], n)};
  return one("tile", {n}, m);
}

/// Windows of w next to each other, and windows of w + 2 that overlap.
Pattern window_partition(int64_t w, int64_t windows) {
  const int64_t n = w * windows;
  IndexMap m({windows * windows, w, w}, {});
  m.index = {w * m.floor(m[0], windows) + m[1], w * m.mod(m[0], windows) + m[2]};
  return one("window_partition", {n, n}, m);
}

Pattern overlapping_windows(int64_t w, int64_t windows) {
  const int64_t n = w * windows + 2;
  IndexMap m({windows * windows, w + 2, w + 2}, {});
  m.index = {w * m.floor(m[0], windows) + m[1], w * m.mod(m[0], windows) + m[2]};
  return one("overlapping_windows", {n, n}, m);
}

Pattern window_merge(int64_t w, int64_t windows) {
  const int64_t n = w * windows;
  IndexMap m({n, n}, {});
  m.index = {windows * m.floor(m[0], w) + m.floor(m[1], w), m.mod(m[0], w), m.mod(m[1], w)};
  return one("window_merge", {windows * windows, w, w}, m);
}

/// Rolled by s, then partitioned into windows of w.
Pattern shifted_windows(int64_t w, int64_t windows, int64_t s) {
  const int64_t n = w * windows;
  IndexMap m({windows, windows, w, w}, {});
  m.index = {m.mod(w * m[0] + m[2] + s, n), m.mod(w * m[1] + m[3] + s, n)};
  return one("shifted_windows", {n, n}, m);
}

}  // namespace

std::vector<Pattern> layout_patterns(Size size) {
  const auto s = [size](int64_t small, int64_t large) { return pick(size, small, large); };
  const int64_t sliced = s(20, 1000);
  return {
      transpose(s(9, 512)),
      broadcast(s(5, 512), s(6, 384)),
      flatten(s(3, 64), s(4, 32), s(5, 48)),
      unflatten(s(3, 64), s(4, 32), s(5, 48)),
      incompatible_reshape(s(1, 32)),
      transposed_reshape(s(1, 8)),
      pixel_shuffle(s(2, 16), s(3, 32), 2),
      pixel_unshuffle(s(2, 16), s(3, 32), 2),
      head_split(s(4, 32), s(3, 64)),
      concat(s(5, 128)),
      split(s(5, 128)),
      slice("slice_step3", sliced, (sliced - 2) / 3, 1, 3),
      slice("slice_step_minus2", sliced, (sliced - 1) / 2, sliced - 1, -2),
      constant_padding(s(6, 512), 2),
      reflect(s(7, 512), 3),
      reflect_2d(s(6, 56), 2),
      edge_padding(s(6, 512), 3),
      symmetric_padding(s(6, 512), 3),
      wrap_padding(s(7, 512), 3),
      diagonal(s(6, 512)),
      trace(s(6, 512)),
      diagonal_embedding(s(6, 512)),
      upsample_2d(s(5, 56), 3),
      resample("upsample_7_3", s(14, 140), s(6, 60), 3, 7),
      resample("downsample_7_3", s(3, 30), s(7, 70), 7, 3),
      roll(s(9, 512)),
      tile(s(4, 32)),
      window_partition(s(2, 7), s(3, 8)),
      overlapping_windows(s(2, 7), s(3, 8)),
      window_merge(s(2, 7), s(3, 8)),
      shifted_windows(s(2, 7), s(3, 8), s(1, 3)),
  };
}

}  // namespace adjit::domain
