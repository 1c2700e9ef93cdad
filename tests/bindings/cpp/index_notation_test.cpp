// tests/bindings/cpp/index_notation_test.cpp -- compute, reductions, scatter, reads by data.
#include "tests/bindings/cpp/support.hpp"

namespace adjit_test {
namespace {

using adjit::Array;
using adjit::Axis;
using adjit::DType;
using adjit::Expr;
using adjit::Tensor;
using adjit::Trace;

TEST(IndexNotation, GradientOfAConvolution) {
  const Trace t("conv");
  const Tensor x = t.input("x", DType::Float64, {2, 6, 5}),
               w = t.input("w", DType::Float64, {3, 2, 3, 2});
  const Axis c = t.axis(2, "c"), r = t.axis(3, "r"), s = t.axis(2, "s");
  const Tensor y = t.compute({3, 4, 4}, [&](Axis o, Axis i, Axis j) {
    return sum(x(c, i + r, j + s) * w(o, c, r, s), {c, r, s});
  });
  const Tensor reference = adjit::nn::conv2d(expand_dims(x, 0), w);
  const adjit::Computation f = t.finish({sum(tanh(y)), max(abs(reference[0] - y))});
  const std::vector<double> image = random_numbers(60, 1), kernel = random_numbers(36, 2);
  const auto got = f.compile(context())(adjit::ConstView(image, {2, 6, 5}),
                                        adjit::ConstView(kernel, {3, 2, 3, 2}));
  EXPECT_LT(got[1].item<double>(), 1e-12);

  const Trace again("conv");
  const Tensor x2 = again.input("x", DType::Float64, {2, 6, 5});
  const Tensor w2 = again.input("w", DType::Float64, {3, 2, 3, 2});
  const Axis c2 = again.axis(2), r2 = again.axis(3), s2 = again.axis(2);
  const Tensor y2 = again.compute({3, 4, 4}, [&](Axis o, Axis i, Axis j) {
    return tanh(sum(x2(c2, i + r2, j + s2) * w2(o, c2, r2, s2), {c2, r2, s2}));
  });
  expect_slopes(again.finish({sum(y2)}), {image, kernel});
}

TEST(IndexNotation, ConditionsFloorsAndSeveralResults) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float64, {7});
  const Axis i = t.axis(7, "i");
  const std::vector<Tensor> both =
      compute(i, {select(i >= 2 && !(i == 4), x(i - 2), 0.0) * 2, x(floordiv(i, 2)) - x(6 - i)});
  const Tensor half = t.compute({7}, [&](Axis k) { return k % 3; });
  EXPECT_EQ(both.size(), 2u);
  EXPECT_EQ(half.shape(), (adjit::Shape{7}));
  const adjit::Computation f = t.finish({both[0], both[1], half.astype(DType::Int64)});
  const Array at = Array::of<double>({7}, {1, 2, 3, 4, 5, 6, 7});
  const auto got = f.compile(context())(at);
  EXPECT_EQ(got[0].elements<double>()[1], 0);
  EXPECT_EQ(got[0].elements<double>()[3], 4);
  EXPECT_EQ(got[0].elements<double>()[4], 0);
  EXPECT_EQ(got[1].elements<double>()[5], 3 - 2);
  EXPECT_EQ(got[2].elements<int64_t>()[5], 2);
}

TEST(IndexNotation, EveryReducerOverGuardedPoints) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float64, {5});
  const Axis i = t.axis(5, "i"), o = t.axis(1);
  const Expr odd = i % 2 == 1;
  const std::vector<Tensor> made =
      compute(o, {sum(x(i), i, odd), prod(x(i), i, odd), adjit::max(x(i), i),
                  adjit::min(x(i), i, odd), any(x(i) > 4.0, i), all(x(i) > 1.0, i), argmax(x(i), i),
                  argmin(x(i), {i}), adjit::max(x(i), i, {}, adjit::Ties::First)});
  std::vector<Tensor> outputs;
  for (const Tensor& tensor : made) outputs.push_back(tensor.astype(DType::Float64));
  const auto got = t.finish(outputs).compile(context())(Array::of<double>({5}, {3, 1, 4, 2, 4}));
  const double wanted[] = {3, 2, 4, 1, 0, 0, 2, 1, 4};
  for (size_t k = 0; k < std::size(wanted); ++k) EXPECT_EQ(got[k].item<double>(), wanted[k]) << k;
}

TEST(IndexNotation, CustomReducersOnPairs) {
  // Mean and sum of squared deviations, merged as Chan et al. merge them: (count, mean, deviation).
  const Trace t;
  const Tensor x = t.input("x", DType::Float64, {6});
  const Axis i = t.axis(6), o = t.axis(1);
  const Expr zero = x(i) * 0.0;
  const auto merged = adjit::reduce(
      {zero + 1.0, x(i), zero},
      [](const std::vector<Expr>& a, const std::vector<Expr>& b) {
        const Expr n = a[0] + b[0], safe = maximum(n, 1.0), d = b[1] - a[1];
        return std::vector<Expr>{n, a[1] + d * b[0] / safe,
                                 a[2] + b[2] + d * d * a[0] * b[0] / safe};
      },
      {0.0, 0.0, 0.0}, i);
  const adjit::Computation f = t.finish(compute(o, {merged.begin(), merged.end()}));
  const auto got = f.compile(context())(Array::of<double>({6}, {1, 2, 3, 4, 5, 9}));
  EXPECT_NEAR(got[1].item<double>(), 4, 1e-12);
  EXPECT_NEAR(got[2].item<double>(), 40, 1e-12);
  EXPECT_ERROR(
      adjit::reduce({zero}, [](auto& a, auto&) { return a; }, {0.0, 1.0}, i), adjit::Error, "");
}

TEST(IndexNotation, ScattersToComputedPositions) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float64, {6}), at = t.input("at", DType::Int32, {6});
  const Tensor start = t.input("start", DType::Float64, {3});
  const Axis i = t.axis(6, "i");
  const Tensor counts = adjit::scatter({3}, i, {at(i)}, x(i), {.initial = start});
  const Tensor best = adjit::scatter({3}, i, {at(i)}, x(i), {.combine = "max", .condition = i < 5});
  const adjit::Computation f = t.finish({counts, best});
  const Array values = Array::of<double>({6}, {1, 2, 3, 4, 5, 6});
  const Array places = Array::of<int32_t>({6}, {0, 1, 0, 2, 1, 2});
  const Array from = Array::of<double>({3}, {10, 20, 30});
  const auto got = f.compile(context())(values, places, from);
  EXPECT_EQ(got[0].elements<double>()[0], 14);
  EXPECT_EQ(got[0].elements<double>()[2], 40);
  EXPECT_EQ(got[1].elements<double>()[2], 4);
  EXPECT_ERROR(adjit::scatter({3, 3}, i, {at(i)}, x(i)), adjit::Error, "");
}

TEST(IndexNotation, ReadsByDataHaveAMode) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float32, {3}), at = t.input("at", DType::Int32, {2});
  const Axis i = t.axis(2, "i");
  const Tensor strict = compute(i, x(at(i)));
  const Tensor clipped = compute(i, x.at({at(i)}, adjit::IndexMode::Clip));
  const Tensor dropped = compute(i, x.at({at(i)}, adjit::IndexMode::Drop));
  const Tensor wrapped = compute(i, x.at({at(i)}, adjit::IndexMode::Wrap));
  const adjit::Executable run = t.finish({clipped, dropped, wrapped, strict}).compile(context());
  const Array values = Array::of<float>({3}, {5, 6, 7});
  const auto inside = run(values, Array::of<int32_t>({2}, {2, 0}));
  for (const Array& result : inside) EXPECT_EQ(result.elements<float>()[0], 7);
  EXPECT_ERROR(run(values, Array::of<int32_t>({2}, {1, 4})), adjit::BoundsError, "4");

  const Trace lax;
  const Tensor y = lax.input("x", DType::Float32, {3}), to = lax.input("at", DType::Int32, {2});
  const Axis j = lax.axis(2);
  const auto got = lax.finish({compute(j, y.at({to(j)}, adjit::IndexMode::Clip)),
                               compute(j, y.at({to(j)}, adjit::IndexMode::Drop)),
                               compute(j, y.at({to(j)}, adjit::IndexMode::Wrap))})
                       .compile(context())(values, Array::of<int32_t>({2}, {1, 4}));
  EXPECT_EQ(got[0].elements<float>()[1], 7);
  EXPECT_EQ(got[1].elements<float>()[1], 0);
  EXPECT_EQ(got[2].elements<float>()[1], 6);
}

TEST(IndexNotation, MistakesNameTheLine) {
  const Trace t, other;
  const Tensor x = t.input("x", DType::Float32, {3});
  const Axis i = t.axis(4, "i"), far = other.axis(3);
  const std::string line = "index_notation_test.cpp:" + std::to_string(__LINE__ + 1);
  EXPECT_ERROR(compute(i, x(i)), adjit::BoundsError, line);
  EXPECT_ERROR(x(i, i), adjit::ShapeError, "");
  EXPECT_ERROR(x(far), adjit::InvalidError, "another trace");
  EXPECT_ERROR(i + far, adjit::InvalidError, "different traces");
  EXPECT_ERROR(t.axis(3, 1), adjit::Error, "");
  EXPECT_ERROR(adjit::apply_expr("frobnicate", {i}), adjit::InvalidError, "frobnicate");
  EXPECT_EQ((i + 1).dtype(), DType::Int64);
  EXPECT_EQ((i + 1).astype(DType::Float32).dtype(), DType::Float32);
}

}  // namespace
}  // namespace adjit_test
