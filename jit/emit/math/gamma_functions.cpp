// jit/emit/math/gamma_functions.cpp -- log gamma and digamma for machines without a library, in
// pairs of doubles: near their zeros and poles large terms cancel.
//
// Up to 16 the argument is moved to 2 + t with |t| <= 1/2 by gamma's recurrence, and a polynomial
// in t does; beyond, Stirling's series does. Negative arguments are reflected.
#include <llvm/IR/Constants.h>

#include <array>

#include "jit/emit/ir/control.hpp"
#include "jit/emit/ir/scalar_functions.hpp"
#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/pairs.hpp"

namespace adjit::emit::elementary {
namespace {

namespace tables = pair_tables;

constexpr double kSeriesFrom = 16.5;
// Below, log gamma and digamma are -log(x) and -1 / x.
constexpr double kTiny = 0x1p-60;

Results as_results(Pair x) { return {x.high, x.low}; }
Pair as_pair(const Results& results, size_t first = 0) {
  return {results[first], results[first + 1]};
}
Pair one_alone(Floats x) { return {x, x.constant(0)}; }

Mask is_pole(Floats x) {
  const Mask whole = trunc(x) == x;
  return (x <= 0) & whole;
}

// How far x is from the nearest integer, exactly.
Floats fraction_of(Floats x) { return x - round(x); }

/// log gamma is log(factor) + rest: results 0, 1 and 2, 3.
Results log_gamma(Pair factor, Pair rest) { return {factor.high, factor.low, rest.high, rest.low}; }

// gamma(x) = (x - 1) (x - 2) ... gamma(2 + t), or gamma(2 + t) / x, or gamma(2 + t) / (x (1 + x)).
Results log_gamma_by_recurrence(Floats x) {
  const Results moved = repeated(
      {x, x.constant(1), x.constant(0)}, [](const Results& v) { return v[0] >= 2.5; },
      [](const Results& v) {
        const Floats less = v[0] - 1;
        const Pair factor = product(as_pair(v, 1), less);
        return Results{less, factor.high, factor.low};
      });
  const Floats y = moved[0];
  const Mask below_half = y < 0.5, below = y < 1.5;
  const Floats near_one = y - 1, near_two = y - 2;
  const Floats t = select(below_half, y, select(below, near_one, near_two));
  const Floats second = select(below_half, y, 0);
  const Pair divisor = sum(exact_product(second, second), y);
  const Pair inverse = reciprocal(divisor);
  const Pair factor{select(below, inverse.high, moved[1]), select(below, inverse.low, moved[2])};
  const Pair slope = polynomial(one_alone(t), tables::kLogGammaFirst, tables::kLogGammaRest);
  return log_gamma(factor, product(slope, t));
}

// (x - 1/2) log(x) - x + log(2 pi) / 2 + 1 / (12 x) - 1 / (360 x^3) + ...
Results log_gamma_by_series(Floats x) {
  static constexpr std::array kSeries{1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                      1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};
  const Pair log = log_pair(x);
  const auto moderate = [&] {
    const Floats inverse = 1 / x;
    const Floats series = inverse * polynomial(inverse * inverse, kSeries);
    const Pair small = sum(pair_of(x, tables::kHalfLogOfTwoPi), series);
    const Pair main = sum(product(log, x - 0.5), -x);
    return as_results(sum(main, small));
  };
  // The rest is below notice, and products of numbers that are smaller do not overflow.
  const auto large = [&] {
    const Pair main = product(sum(log, x.constant(-1)), x * 0x1p-20);
    return as_results(one_alone(rounded(main) * 0x1p20));
  };
  const Pair value = as_pair(either(x > 0x1p60, large, moderate));
  return log_gamma(one_alone(x.constant(1)), value);
}

// gamma(-x) is pi / (x sin(pi x) gamma(x)) but for its sign.
Floats reflected_log_gamma(Floats x, const Results& of_positive) {
  const Floats fraction = fraction_of(x);
  const Pair square = exact_product(fraction, fraction);
  const Pair sinc = polynomial(square, tables::kSincFirst, tables::kSincRest);
  const Pair sine = product(sinc, fabs(fraction));  // of pi x, divided by pi
  const Pair whole = product(product(sine, x), as_pair(of_positive));
  return -rounded(sum(log_pair(whole), as_pair(of_positive, 2)));
}

/// The numbers of kGammaZeros for an x below -2.
struct Zero {
  Mask near;
  Floats distance;
  Results numbers;
};

Zero zero_beside(Floats x) {
  constexpr int kNumbers = 8;
  constexpr size_t kZeros = tables::kGammaZeros.size() / kNumbers;
  const LaneContext& context = x.context();
  llvm::IRBuilder<>& b = context.builder;
  const Floats interval = floor(x + x) - 4;
  const Mask listed = (interval >= 0) & (interval < static_cast<double>(kZeros));
  const Floats row = select(listed, interval, 0);
  llvm::GlobalVariable* table = constant_table(
      b, "gamma_zeros",
      llvm::ConstantDataArray::get(b.getContext(), llvm::ArrayRef(tables::kGammaZeros)));
  llvm::Value* first =
      b.CreateMul(b.CreateFPToSI(row.value(), b.getInt64Ty()), b.getInt64(kNumbers));
  Results numbers;
  for (int k = 0; k < kNumbers; ++k) {
    llvm::Value* at =
        b.CreateInBoundsGEP(b.getDoubleTy(), table, b.CreateAdd(first, b.getInt64(k)));
    numbers.emplace_back(context, b.CreateAlignedLoad(b.getDoubleTy(), at, llvm::Align(8)));
  }
  const Floats distance = x - numbers[0];
  const Mask near = listed & (fabs(distance) < numbers[kNumbers - 1]);
  return {near, distance, numbers};
}

Floats log_gamma_of_negative(Floats x, const Results& of_positive) {
  const Zero zero = zero_beside(x);
  const auto expansion = [&] {
    const Results& n = zero.numbers;
    Floats value = n[6];
    for (size_t k = 6; k-- > 1;) value = multiply_add(value, zero.distance, n[k]);
    return Results{value};
  };
  return either(zero.near, expansion,
                [&] { return Results{reflected_log_gamma(x, of_positive)}; })[0];
}

Results lgamma_of_double(Arguments arguments) {
  const Floats x = arguments[0], size = fabs(x);
  const Mask finite = size < x.infinity();
  const Mask regular = finite & (size >= kTiny) & !is_pole(x);
  const auto of_regular = [&] {
    const Results of_positive = either(
        size < kSeriesFrom, [&] { return log_gamma_by_recurrence(size); },
        [&] { return log_gamma_by_series(size); });
    const auto of_negative = [&] { return Results{log_gamma_of_negative(size, of_positive)}; };
    const auto of_itself = [&] {
      const Floats rest = of_positive[2];  // may be infinite
      const Pair whole = sum(log_pair(as_pair(of_positive)), as_pair(of_positive, 2));
      return Results{select(rest < x.infinity(), rounded(whole), rest)};
    };
    return either(x < 0, of_negative, of_itself);
  };
  const auto of_others = [&] {
    const Floats special = select(is_nan(x), x, x.infinity());
    return Results{select(size < kTiny, -log(size), special)};
  };
  return either(regular, of_regular, of_others);
}

// Of 1 + x for x >= 0: digamma(2 + t) and the sum of 1 / x, 1 / (x - 1), ..., or less 1 / (1 + x).
Pair digamma_by_recurrence(Floats x) {
  const Results moved = repeated(
      {x, x.constant(0), x.constant(0)}, [](const Results& v) { return v[0] >= 1.5; },
      [](const Results& v) {
        const Pair more = sum(as_pair(v, 1), reciprocal(v[0]));
        return Results{v[0] - 1, more.high, more.low};
      });
  const Floats y = moved[0];
  const Mask below_half = y < 0.5;
  const Floats near_one = y - 1;
  const Floats t = select(below_half, y, near_one);
  const Pair inverse = reciprocal(exact_sum_ordered(y.constant(1), y));
  const Pair terms{select(below_half, -inverse.high, moved[1]),
                   select(below_half, -inverse.low, moved[2])};
  return sum(polynomial(one_alone(t), tables::kDigammaFirst, tables::kDigammaRest), terms);
}

// log(x) + 1 / (2 x) - 1 / (12 x^2) + 1 / (120 x^4) - ... of 1 + x.
Pair digamma_by_series(Floats x) {
  static constexpr std::array kSeries{-1.0 / 12,  1.0 / 120,     -1.0 / 252, 1.0 / 240,
                                      -1.0 / 132, 691.0 / 32760, -1.0 / 12,  3617.0 / 8160};
  const Floats inverse = 1 / x;
  const Floats square = inverse * inverse;
  const Floats series = square * polynomial(square, kSeries);
  const Pair half = product(reciprocal(x), x.constant(0.5));
  return sum(sum(log_pair(x), half), series);
}

Results digamma_of_double(Arguments arguments) {
  const Floats x = arguments[0], size = fabs(x);
  const Mask finite = size < x.infinity();
  const Mask regular = finite & (size >= kTiny) & !is_pole(x);
  const auto of_regular = [&] {
    const Pair above = as_pair(either(
        size < kSeriesFrom, [&] { return as_results(digamma_by_recurrence(size)); },
        [&] { return as_results(digamma_by_series(size)); }));
    // pi cot(pi x) is 1 / f + f C(f^2).
    const auto of_negative = [&] {
      const Floats f = fraction_of(size);
      const Pair square = exact_product(f, f);
      const Pair rest =
          product(polynomial(square, tables::kCotangentFirst, tables::kCotangentRest), f);
      return Results{rounded(sum(sum(above, rest), reciprocal(f)))};
    };
    return either(x < 0, of_negative,
                  [&] { return Results{rounded(sum(above, negated(reciprocal(x))))}; });
  };
  const auto of_others = [&] {
    const Floats special = select(x == x.infinity(), x, x.nan());
    return Results{select(size < kTiny, -1 / x, special)};
  };
  return either(regular, of_regular, of_others);
}

constexpr ScalarFunction kLgamma{"lgamma", 1, lgamma_of_double},
    kDigamma{"digamma", 1, digamma_of_double};

}  // namespace

Floats lgamma(Floats x) {
  if (x.context().features.has_library) return library_call("lgamma", x);
  return in_each_lane(kLgamma, {&x, 1})[0];
}

Floats digamma(Floats x) {
  if (x.context().features.has_library) return library_call("digamma", x);
  return in_each_lane(kDigamma, {&x, 1})[0];
}

}  // namespace adjit::emit::elementary
