// tests/runtime/domain/fibre_test.cpp -- the exact domains of well-known adjoints.
#include <gtest/gtest.h>

#include "visit.hpp"

namespace adjit::domain {
namespace {

std::string fibre_text(const Domain& source, std::span<const Affine> index,
                       std::span<const int64_t> target) {
  const auto pieces = fibre(source, index, target);
  if (!pieces) return "scatter";
  std::string text;
  for (const FibrePiece& piece : *pieces) text += to_text(piece) + "\n";
  return text;
}

std::string pattern_text(const std::string& name) {
  for (const Pattern& pattern : all_patterns(Size::Small)) {
    if (pattern.name != name) continue;
    std::string text;
    for (const IndexMap& map : pattern.maps)
      text += fibre_text(map.source, map.index, pattern.target);
    return text;
  }
  return "no such pattern";
}

// Y[i, c] = sum_r A[i, r] B[r, c]: both adjoints are textually a matmul.
TEST(Fibre, MatmulIsTwoMatmuls) {
  IndexMap m({5, 6}, {7});
  EXPECT_EQ(fibre_text(m.source, std::vector{m[0], m[2]}, std::vector<int64_t>{5, 7}),
            "axes j0:5 j1:7 | t0:6; source (j0, t0, j1)\n");
  EXPECT_EQ(fibre_text(m.source, std::vector{m[2], m[1]}, std::vector<int64_t>{7, 6}),
            "axes j0:7 j1:6 | t0:5; source (t0, j1, j0)\n");
}

// The input's adjoint is a correlation over (o, kh, kw); source axes: n, o, h, w, c, kh, kw.
TEST(Fibre, Conv2dInput) {
  EXPECT_EQ(pattern_text("conv2d"),
            "axes j0:1 j1:2 j2:8 j3:8 | t0:2 t1:3 t2:3; j2 - t1 >= 0; -j2 + t1 + 5 >= 0; "
            "j3 - t2 >= 0; -j3 + t2 + 5 >= 0; source (j0, t0, j2 - t1, j3 - t2, j1, t1, t2)\n");
  EXPECT_EQ(pattern_text("conv2d_padded"),
            "axes j0:1 j1:2 j2:8 j3:8 | t0:2 t1:3 t2:3; j2 - t1 + 1 >= 0; -j2 + t1 + 6 >= 0; "
            "j3 - t2 + 1 >= 0; -j3 + t2 + 6 >= 0; "
            "source (j0, t0, j2 - t1 + 1, j3 - t2 + 1, j1, t1, t2)\n");
}

TEST(Fibre, Conv2dInputStrided) {
  EXPECT_EQ(
      pattern_text("conv2d_stride2"),
      "axes j0:1 j1:2 j2:8 j3:8 | t0:2 t1:2 t2:2; d0 = (j2 + 1) // 2; d1 = (j3 + 1) // 2; "
      "t1 - d0 + 3 >= 0; t2 - d1 + 3 >= 0; "
      "-j2 - 2*t1 + 2*d0 + 1 >= 0; -j3 - 2*t2 + 2*d1 + 1 >= 0; "
      "source (j0, t0, -t1 + d0, -t2 + d1, j1, j2 + 2*t1 - 2*d0 + 1, j3 + 2*t2 - 2*d1 + 1)\n");
  // Stride 4, dilation 2: every other row and column of the input is never read.
  EXPECT_EQ(
      pattern_text("conv2d_stride4_dilation2"),
      "axes j0:1 j1:2 j2:9 j3:9 | t0:2 t1:2 t2:2; "
      "d0 = (j2) // 2; d1 = (d0 + 1) // 2; d2 = (j3) // 2; d3 = (d2 + 1) // 2; "
      "t1 - d1 + 1 >= 0; t2 - d3 + 1 >= 0; "
      "-2*t1 - d0 + 2*d1 + 1 >= 0; -2*t2 - d2 + 2*d3 + 1 >= 0; "
      "j2 - 2*d0 - 1 == 0; j3 - 2*d2 - 1 == 0; "
      "source (j0, t0, -t1 + d1, -t2 + d3, j1, 2*t1 + d0 - 2*d1 + 1, 2*t2 + d2 - 2*d3 + 1)\n");
}

// The weights' adjoint sums over (n, oh, ow) and has no rows without padding.
TEST(Fibre, Conv2dWeights) {
  IndexMap m({2, 4, 6, 6}, {3, 3, 3});
  EXPECT_EQ(
      fibre_text(m.source, std::vector{m[1], m[4], m[5], m[6]}, std::vector<int64_t>{4, 3, 3, 3}),
      "axes j0:4 j1:3 j2:3 j3:3 | t0:2 t1:6 t2:6; "
      "source (t0, j0, t1, t2, j1, j2, j3)\n");
}

TEST(Fibre, Pooling) {
  EXPECT_EQ(pattern_text("pool_tiling"),
            "axes j0:10 j1:10; d0 = (j0) // 2; d1 = (j1) // 2; "
            "source (d0, d1, j0 - 2*d0, j1 - 2*d1)\n");
  EXPECT_EQ(pattern_text("pool_overlapping"),
            "axes j0:9 j1:9 | t0:2 t1:2; d0 = (j0) // 2; d1 = (j1) // 2; "
            "-t0 + d0 >= 0; t0 - d0 + 3 >= 0; -t1 + d1 >= 0; t1 - d1 + 3 >= 0; "
            "-j0 - 2*t0 + 2*d0 + 2 >= 0; -j1 - 2*t1 + 2*d1 + 2 >= 0; "
            "source (-t0 + d0, -t1 + d1, j0 + 2*t0 - 2*d0, j1 + 2*t1 - 2*d1)\n");
}

TEST(Fibre, Layout) {
  EXPECT_EQ(pattern_text("flatten"), "axes j0:3 j1:4 j2:5; source (20*j0 + 5*j1 + j2)\n");
  EXPECT_EQ(pattern_text("unflatten"),
            "axes j0:60; d0 = (j0) // 5; d1 = (d0) // 4; source (d1, d0 - 4*d1, j0 - 5*d0)\n");
  EXPECT_EQ(pattern_text("upsample_nearest"),
            "axes j0:5 j1:5 | t0:3 t1:3; source (3*j0 + t0, 3*j1 + t1)\n");
  EXPECT_EQ(pattern_text("concat_second"), "axes j0:5 j1:6; source (j0, j1 + 5)\n");
  EXPECT_EQ(pattern_text("pad_constant"), "axes j0:6 j1:6; source (j0 + 2, j1 + 2)\n");
  EXPECT_EQ(pattern_text("slice_step3"),
            "axes j0:20; d0 = (j0) // 3; -d0 + 5 >= 0; j0 - 3*d0 - 1 == 0; source (d0)\n");
}

TEST(Fibre, Guards) {
  EXPECT_EQ(pattern_text("cumulative_sum"), "axes j0:7 | t0:7; -j0 + t0 >= 0; source (t0, j0)\n");
  EXPECT_EQ(pattern_text("band"),
            "axes j0:8 j1:3 | t0:5; j0 + t0 - 2 >= 0; -j0 - t0 + 9 >= 0; "
            "source (j0 + t0 - 2, j1, j0)\n");
  EXPECT_EQ(pattern_text("causal_dilated"),
            "axes j0:9 | t0:3; -j0 - 3*t0 + 8 >= 0; j0 - t0 >= 0; source (j0 + 3*t0, t0)\n");
  EXPECT_EQ(pattern_text("circular_conv"),
            "axes j0:10 | t0:4; d0 = (j0 + t0) // 10; source (j0 + t0 - 10*d0, t0)\n");
}

TEST(Fibre, ScalarTargetsAndEmptySets) {
  IndexMap m({3}, {4});
  EXPECT_EQ(fibre_text(m.source, {}, {}), "axes | t0:3 t1:4; source (t0, t1)\n");
  EXPECT_EQ(fibre_text(m.source, std::vector{m[0] + 9}, std::vector<int64_t>{5}), "");
  EXPECT_EQ(fibre_text(m.source, std::vector{m[0]}, std::vector<int64_t>{0}), "");
  IndexMap none({0}, {4});
  EXPECT_EQ(fibre_text(none.source, std::vector{none[0]}, std::vector<int64_t>{5}), "");
  // 2 i + 4 r is never odd.
  EXPECT_EQ(
      fibre_text(m.source, std::vector{2 * m[0] + 4 * m[1], Affine(1)}, std::vector<int64_t>{9, 1}),
      "");
}

// Coefficients whose combinations leave 64 bits: a scatter, not a wrong gather.
TEST(Fibre, OverflowScatters) {
  IndexMap m({1 << 20, 1 << 20}, {1 << 20});
  const int64_t a = (int64_t{1} << 62) - 57, b = (int64_t{1} << 62) - 87;
  const int64_t c = (int64_t{1} << 61) - 1;
  EXPECT_EQ(fibre_text(m.source, std::vector{a * m[0] + b * m[1] + c * m[2]},
                       std::vector<int64_t>{1 << 20}),
            "scatter");
}

}  // namespace
}  // namespace adjit::domain
