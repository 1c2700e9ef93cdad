// tests/runtime/domain/patterns_convolution.cpp -- contractions, convolutions, pooling, and their
// unfoldings.
#include "patterns.hpp"

namespace adjit::domain {

namespace {

struct SlidingWindow {
  int64_t kernel, stride = 1, padding = 0, dilation = 1;
  int64_t outputs(int64_t n) const {
    return (n + 2 * padding - dilation * (kernel - 1) - 1) / stride + 1;
  }
  Affine at(const Affine& output, const Affine& tap) const {
    return output * stride + tap * dilation - padding;
  }
};

/// X[n, c, at(h, p), at(w, q)] over axes n, o, h, w | c, p, q, zero padding as guards.
Pattern conv2d(const std::string& name, Size size, int64_t extent, SlidingWindow window) {
  const int64_t n = size == Size::Large ? 2 : 1;
  const int64_t channels = pick(size, 2, 64), filters = pick(size, 2, 128);
  const int64_t out = window.outputs(extent);
  IndexMap m({n, filters, out, out}, {channels, window.kernel, window.kernel});
  const Affine row = window.at(m[2], m[5]), column = window.at(m[3], m[6]);
  if (window.padding > 0) {
    m.within(row, extent);
    m.within(column, extent);
  }
  m.index = {m[0], m[4], row, column};
  return {name, {n, channels, extent, extent}, {m}};
}

/// X[at(i, k)] over i | k with zero padding, and the weights' access W[k] over the same points.
Pattern conv1d(const std::string& name, int64_t extent, SlidingWindow window, bool weights) {
  IndexMap m({window.outputs(extent)}, {window.kernel});
  const Affine at = window.at(m[0], m[1]);
  if (window.padding > 0) m.within(at, extent);
  m.index = {weights ? m[1] : at};
  return {name, {weights ? window.kernel : extent}, {m}};
}

/// Every stride, dilation, padding and kernel up to 4, one dimension.
std::vector<Pattern> conv1d_sweep(Size size) {
  const int64_t extent = pick(size, 13, 1000);
  std::vector<Pattern> all;
  for (int64_t stride = 1; stride <= 4; ++stride)
    for (int64_t dilation = 1; dilation <= 4; ++dilation)
      for (int64_t padding : {0, 2})
        for (int64_t kernel : {2, 3, 4}) {
          std::string name = "conv1d_";
          for (int64_t part : {kernel, stride, dilation, padding}) name += std::to_string(part);
          const SlidingWindow window{kernel, stride, padding, dilation};
          all.push_back(conv1d(name, extent, window, false));
          all.push_back(conv1d(name + "_weights", extent, window, true));
        }
  return all;
}

/// X[at(h, p), at(w, q)] over h, w | p, q.
Pattern pool2d(const std::string& name, int64_t extent, SlidingWindow window) {
  const int64_t out = window.outputs(extent);
  IndexMap m({out, out}, {window.kernel, window.kernel});
  m.index = {window.at(m[0], m[2]), window.at(m[1], m[3])};
  return {name, {extent, extent}, {m}};
}

Pattern conv3d(Size size) {
  const SlidingWindow window{3, 2, 1, 1};
  const int64_t c = pick(size, 1, 16), o = pick(size, 1, 32);
  const int64_t n = size == Size::Large ? 16 : 5, out = window.outputs(n);
  IndexMap m({o, out, out, out}, {c, 3, 3, 3});
  m.index = {m[4], window.at(m[1], m[5]), window.at(m[2], m[6]), window.at(m[3], m[7])};
  return {"conv3d_stride2", {c, n, n, n}, {m}};
}

Pattern grouped_conv(Size size) {
  const int64_t groups = 2, c = pick(size, 2, 32), o = pick(size, 2, 32), n = pick(size, 6, 28);
  IndexMap m({groups * o, n, n}, {c, 3, 3});
  m.index = {c * m.floor(m[0], o) + m[3], m[1] + m[4] - 1, m[2] + m[5] - 1};
  return {"conv2d_grouped", {groups * c, n, n}, {m}};
}

/// Y[h, w] = sum X[(h + p - d k) / s, ...] where divisible and in range.
Pattern transposed_conv(const std::string& name, Size size, int64_t s, int64_t d) {
  const int64_t n = pick(size, 5, 56), k = 3, p = 1, out = (n - 1) * s - 2 * p + d * (k - 1) + 1;
  IndexMap m({out, out}, {k, k});
  for (size_t axis = 0; axis < 2; ++axis) {
    const Affine position = m[axis] + p - d * m[2 + axis];
    m.zero(m.mod(position, s));
    m.index.push_back(m.floor(position, s));
  }
  return {name, {n, n}, {m}};
}

/// Y[m, l] with m = (c, k1, k2) and l = (oh, ow) flattened: all // and %.
Pattern im2col(const std::string& name, int64_t channels, int64_t n, SlidingWindow window) {
  const int64_t out = window.outputs(n), k = window.kernel;
  IndexMap m({channels * k * k, out * out}, {});
  m.index = {m.floor(m[0], k * k), window.at(m.floor(m[1], out), m.mod(m.floor(m[0], k), k)),
             window.at(m.mod(m[1], out), m.mod(m[0], k))};
  return {name, {channels, n, n}, {m}};
}

/// The fold: X[k * K + l, ((h + p - k) / s) * OW + (w + p - l) / s] where divisible and in range.
Pattern col2im(Size size) {
  const int64_t n = pick(size, 6, 28), k = 3, s = 2, p = 1, out = SlidingWindow{k, s, p}.outputs(n);
  IndexMap m({n, n}, {k, k});
  std::vector<Affine> at;
  for (size_t d = 0; d < 2; ++d) {
    const Affine position = m[d] + p - m[2 + d];
    m.zero(m.mod(position, s));
    at.push_back(m.floor(position, s));
    m.within(at.back(), out);
  }
  m.index = {k * m[2] + m[3], out * at[0] + at[1]};
  return {"col2im", {k * k, out * out}, {m}};
}

/// Convolution on a flattened image with guards on each coordinate.
Pattern flat_conv(Size size) {
  const int64_t n = pick(size, 6, 28);
  IndexMap m({n, n}, {3, 3});
  const Affine row = m[0] + m[2] - 1, column = m[1] + m[3] - 1;
  m.within(row, n);
  m.within(column, n);
  m.index = {n * row + column};
  return {"conv_flat_guard", {n * n}, {m}};
}

/// floor(i * N / M) <= r < ceil((i + 1) * N / M)
Pattern adaptive_pool(Size size) {
  const int64_t n = pick(size, 10, 100), outputs = pick(size, 4, 7);
  IndexMap m({outputs}, {n});
  m.at_least_zero(m[1] - m.floor(n * m[0], outputs));
  m.at_least_zero(m.floor(n * m[0] + (2 * n - 1) - (n - outputs), outputs) - 1 - m[1]);
  m.index = {m[1]};
  return {"adaptive_pool", {n}, {m}};
}

Pattern matmul(Size size) {
  const int64_t n = pick(size, 5, 512), c = pick(size, 6, 384), k = pick(size, 7, 768);
  IndexMap m({n, c}, {k});
  m.index = {m[0], m[2]};
  return {"matmul", {n, k}, {m}};
}

Pattern toeplitz(Size size) {
  const int64_t n = pick(size, 6, 4096);
  IndexMap m({n + 4}, {5});
  m.index = {m[0] - m[1]};
  return {"toeplitz", {n}, {m}};
}

Pattern circular(const std::string& name, int64_t n, int64_t outputs, int64_t stride,
                 int64_t tap_step) {
  IndexMap m({outputs}, {4});
  m.index = {m.mod(stride * m[0] + tap_step * m[1], n)};
  return {name, {n}, {m}};
}

/// X[floor((2i + 3r) / 4)]
Pattern fractional_conv(Size size) {
  const int64_t n = pick(size, 10, 256);
  IndexMap m({n}, {4});
  m.index = {m.floor(2 * m[0] + 3 * m[1], 4)};
  return {"fractional_conv", {(2 * n + 12) / 4 + 1}, {m}};
}

}  // namespace

std::vector<Pattern> convolution_patterns(Size size) {
  const int64_t image = pick(size, 8, 56), pooled = pick(size, 9, 112);
  const int64_t circle = pick(size, 10, 512);
  std::vector<Pattern> all{
      matmul(size),
      toeplitz(size),
      conv2d("conv2d", size, image, {3}),
      conv2d("conv2d_padded", size, image, {3, 1, 1}),
      conv2d("conv2d_stride2", size, image, {3, 2, 1}),
      conv2d("conv2d_stride2_dilation3", size, pick(size, 11, 57), {3, 2, 3, 3}),
      conv2d("conv2d_stride4_dilation2", size, image + 1, {3, 4, 1, 2}),
      grouped_conv(size),
      conv3d(size),
      transposed_conv("transposed_conv_stride1", size, 1, 1),
      transposed_conv("transposed_conv_stride2", size, 2, 1),
      transposed_conv("transposed_conv_stride3_dilation2", size, 3, 2),
      pool2d("pool_overlapping", pooled, {3, 2}),
      pool2d("pool_gaps", pooled, {2, 3}),
      pool2d("pool_tiling", pooled + pooled % 2, {2, 2}),
      adaptive_pool(size),
      im2col("im2col", pick(size, 2, 32), pick(size, 6, 28), {3, 1, 1}),
      im2col("im2col_stride2_dilation2", pick(size, 2, 32), pick(size, 9, 28), {3, 2, 1, 2}),
      col2im(size),
      flat_conv(size),
      circular("circular_conv", circle, circle, 1, -1),
      circular("circular_conv_stride2_dilation3", circle, circle / 2, 2, 3),
      fractional_conv(size),
  };
  const std::vector<Pattern> sweep = conv1d_sweep(size);
  all.insert(all.end(), sweep.begin(), sweep.end());
  return all;
}

}  // namespace adjit::domain
