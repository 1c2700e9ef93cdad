// examples/heat_rod.cpp -- how well each piece of a rod conducts, found from its temperatures.
//
// A rod of 32 cells is heated at one end and watched. The forward model is an explicit scheme of
// the heat equation, one scan over time in index notation; its gradient with respect to the 31
// conductivities between cells runs backwards through all steps. Gradient descent with Barzilai and
// Borwein's step length finds the conductivities again. No noise: the misfit may go to zero.
#include <adjit/adjit.hpp>
#include <cmath>
#include <cstdio>
#include <vector>

namespace {

using adjit::Axis;
using adjit::Computation;
using adjit::DType;
using adjit::Tensor;
using adjit::Trace;

constexpr int64_t kCells = 32, kSteps = 1000;
using Numbers = std::vector<double>;

/// (temperatures, conductivities) -> (temperatures a step later, the same to be stacked).
Computation step() {
  const Trace t("step");
  const Tensor u = t.input("u", DType::Float64, {kCells});
  const Tensor k = t.input("k", DType::Float64, {kCells - 1});
  const Tensor next = t.compute({kCells}, [&](Axis i) {
    const adjit::Expr right = select(i < kCells - 1, k(i) * (u(i + 1) - u(i)), 0.0);
    const adjit::Expr left = select(i > 0, k(i - 1) * (u(i) - u(i - 1)), 0.0);
    return select(i == 0, 1.0, u(i) + right - left);  // the heated end stays at 1
  });
  return t.finish({next, next});
}

/// The temperatures of all cells after every step, from a cold rod.
Tensor watched(const Trace& t, const Tensor& k) {
  const Tensor cold = t.apply("zeros", {{"shape", {kCells}}, {"dtype", DType::Float64}});
  return scan(step(), {cold}, {}, {k}, {.steps = kSteps}).stacked[0];
}

double product(const Numbers& a, const Numbers& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Numbers difference(Numbers a, const Numbers& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

}  // namespace

int main() {
  const adjit::Context context;

  const Trace forward("rod");
  const Tensor k_in = forward.input("k", DType::Float64, {kCells - 1});
  const adjit::Executable rod = forward.finish({watched(forward, k_in)}).compile(context);
  const Trace objective("misfit");
  const Tensor k_try = objective.input("k", DType::Float64, {kCells - 1});
  const Tensor seen = objective.input("seen", DType::Float64, {kSteps, kCells});
  const adjit::Executable misfit = objective.finish({sum(square(watched(objective, k_try) - seen))})
                                       .gradient({0}, 0, true)
                                       .compile(context);

  Numbers truth;
  for (int64_t i = 0; i + 1 < kCells; ++i)
    truth.push_back(0.3 + 0.1 * std::sin(0.4 * static_cast<double>(i)));
  const adjit::Array measured = std::move(rod(adjit::ConstView(truth, {kCells - 1}))[0]);
  const auto evaluate = [&](const Numbers& k, Numbers& slope) {
    const auto made = misfit(adjit::ConstView(k, {kCells - 1}), measured);
    const auto elements = made[1].elements<double>();
    slope.assign(elements.begin(), elements.end());
    return made[0].item<double>();
  };

  Numbers k(truth.size(), 0.3), slope;
  const double before = evaluate(k, slope);

  const double kStep = 1e-5;
  Numbers above = k, below = k, unused;
  above[10] += kStep, below[10] -= kStep;
  const double slope_here = slope[10];
  const double change = (evaluate(above, unused) - evaluate(below, unused)) / (2 * kStep);

  double length = 1e-4, after = before;
  for (int iteration = 0; iteration < 2000; ++iteration) {
    Numbers next = k, next_slope;
    for (size_t i = 0; i < k.size(); ++i)  // inside what the explicit scheme is stable for
      next[i] = std::fmin(std::fmax(k[i] - length * slope[i], 0.05), 0.49);
    after = evaluate(next, next_slope);
    const Numbers moved = difference(next, k), turned = difference(next_slope, slope);
    const double curvature = product(moved, turned);
    if (curvature > 0) length = product(moved, moved) / curvature;
    k = next, slope = next_slope;
  }
  double worst = 0;
  for (size_t i = 0; i < k.size(); ++i) worst = std::fmax(worst, std::fabs(k[i] - truth[i]));

  std::printf("misfit before %.4g, after %.4g\n", before, after);
  std::printf("slope of one conductivity: derived %.8g, measured %.8g\n", slope_here, change);
  std::printf("largest error of a conductivity: %.2g of %.2g at first\n", worst, 0.1);
  const bool right = after < 1e-4 * before && worst < 1e-3 &&
                     std::fabs(slope_here - change) < 1e-6 * (1 + std::fabs(change));
  return right ? 0 : 1;
}
