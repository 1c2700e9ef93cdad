// tests/jit/emit/math/pairs_test.cpp -- arithmetic on pairs, against numbers of four times the
// digits.
#include "jit/emit/math/pairs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/jit/emit/lane_formula.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

__extension__ typedef __float128 Quad;
namespace pairs = emit::elementary;

struct PairSamples {
  std::vector<double> x, y;
  PairSamples() {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> mantissa(1, 2), exponent(-40, 40);
    for (int k = 0; k < 4000; ++k) {
      x.push_back(mantissa(random) * std::exp2(std::floor(exponent(random))));
      y.push_back(mantissa(random) * std::exp2(std::floor(exponent(random))));
    }
  }
};

// Of pairs x + y 2^-60 and y + x 2^-70, renormalised.
Pair first_of(Floats x, Floats y) { return exact_sum(x, y * 0x1p-140); }
Pair second_of(Floats x, Floats y) { return exact_sum(y, x * 0x1p-150); }

using OnPairs = std::function<Pair(Pair, Pair)>;
using OnQuads = std::function<Quad(Quad, Quad)>;

void expect_digits(const OnPairs& formula, const OnQuads& exact, double bits) {
  const PairSamples s;
  const auto part = [&](bool high) {
    return evaluate<double>(
        [&](Floats x, Floats y) {
          const Pair value = formula(first_of(x, y), second_of(x, y));
          return high ? value.high : value.low;
        },
        s.x, s.y, {.lanes = 4});
  };
  const std::vector<double> high = part(true), low = part(false);
  for (size_t k = 0; k < s.x.size(); ++k) {
    const Quad right =
        exact(Quad{s.x[k]} + Quad{s.y[k] * 0x1p-140}, Quad{s.y[k]} + Quad{s.x[k] * 0x1p-150});
    const auto error = static_cast<double>((Quad{high[k]} + Quad{low[k]} - right) / right);
    ASSERT_LE(std::fabs(error), std::exp2(-bits)) << s.x[k] << ", " << s.y[k];
  }
}

TEST(Pairs, SumsProductsAndInverses) {
  expect_digits([](Pair a, Pair b) { return pairs::sum(a, b); },
                [](Quad a, Quad b) { return a + b; }, 102);
  expect_digits([](Pair a, Pair b) { return pairs::sum(a, b.high); },
                [](Quad a, Quad b) { return a + Quad{static_cast<double>(b)}; }, 102);
  expect_digits([](Pair a, Pair b) { return pairs::product(a, b); },
                [](Quad a, Quad b) { return a * b; }, 102);
  expect_digits([](Pair a, Pair b) { return pairs::product(a, b.high); },
                [](Quad a, Quad b) { return a * Quad{static_cast<double>(b)}; }, 102);
  expect_digits([](Pair a, Pair) { return pairs::reciprocal(a); },
                [](Quad a, Quad) { return 1 / a; }, 102);
  expect_digits([](Pair a, Pair) { return pairs::negated(pairs::reciprocal(a.high)); },
                [](Quad a, Quad) { return -1 / Quad{static_cast<double>(a)}; }, 102);
}

TEST(Pairs, SquareRoots) {
  const OnPairs squared = [](Pair a, Pair) {
    const Pair root = pairs::square_root(a);
    return pairs::product(root, root);
  };
  expect_digits(squared, [](Quad a, Quad) { return a; }, 100);
}

TEST(Pairs, Polynomials) {
  using emit::pair_tables::Number;
  static constexpr std::array kFirst{Number{1, 0x1p-60}, Number{0.5, 0x1p-70}};
  static constexpr std::array kRest{0x1p-30, 0x1p-40};
  expect_digits(
      [](Pair, Pair b) {
        const Floats size = b.high * 0x1p-42;
        return pairs::polynomial({size, size.constant(0)}, kFirst, kRest);
      },
      [](Quad, Quad b) {
        const Quad x = Quad{static_cast<double>(b)} * 0x1p-42;
        return 1 + Quad{0x1p-60} + x * (0.5 + Quad{0x1p-70} + x * (0x1p-30 + x * 0x1p-40));
      },
      80);
}

TEST(Pairs, Logarithms) {
  const std::vector<double> x{1, 1 + 0x1p-52, 1 - 0x1p-53, 0.7, 1.4, 1e-300, 1e300, 3}, none(8);
  const auto log = [&](bool high) {
    return evaluate<double>(
        [&](Floats a, Floats) {
          const Pair value = pairs::log_pair(Pair{a, a * 0x1p-60});
          return high ? value.high : value.low;
        },
        x, none, {.lanes = 4});
  };
  const std::vector<double> high = log(true), low = log(false);
  for (size_t k = 0; k < x.size(); ++k) {
    const long double right = std::log(1.0L * x[k]) + std::log1p(0x1p-60L);
    EXPECT_LE(std::fabs(high[k] + (low[k] - right)), 0x1p-60L * std::fabs(right)) << x[k];
  }
}

}  // namespace
}  // namespace adjit::testing
