// jit/emit/math/inverse_error_function.cpp -- erfinv for machines without a library: polynomials in
// pairs of doubles, of y^2 up to 1/2 and of the square root of -log(1 - y) beyond.
#include <cmath>

#include "jit/emit/ir/control.hpp"
#include "jit/emit/ir/scalar_functions.hpp"
#include "jit/emit/math/elementary.hpp"
#include "jit/emit/math/pairs.hpp"

namespace adjit::emit::elementary {
namespace {

namespace tables = pair_tables;

// Parts of what is below 2^-900 would be subnormal: it is computed larger, and rounded once where
// the digits of a subnormal result end.
Floats erfinv_of_small(Floats y) {
  const Mask tiny = y < 0x1p-900;
  const Floats size = select(tiny, y * 0x1p200, y);
  const Pair square = exact_product(size, size);
  const Pair none{y.constant(0), y.constant(0)};
  const Pair ratio =
      polynomial({select(tiny, none.high, square.high), select(tiny, none.low, square.low)},
                 tables::kErfinvMiddleFirst, tables::kErfinvMiddleRest);
  const Pair value = product(ratio, size);
  const Floats normal = rounded(value);
  const Floats end = y.constant(0x1p-822);
  const Pair raised = exact_sum_ordered(end, value.high);
  const Floats subnormal = (raised.high + (raised.low + value.low)) - end;
  const Mask is_subnormal = normal < 0x1p-822;
  const Floats scaled = select(is_subnormal, subnormal, normal) * 0x1p-200;
  return select(tiny, scaled, normal);
}

template <size_t n, size_t m>
Results tail(Pair root, size_t k, const std::array<tables::Number, n>& first,
             const std::array<double, m>& rest) {
  const Pair t = sum(root, root.high.constant(-tables::kErfinvMiddles[k]));
  return {rounded(polynomial(t, first, rest))};
}

Results erfinv_of_large(Floats y) {
  const Pair log = log_pair(1 - y);  // exact from 1/2 on
  const Pair root = square_root(negated(log));
  const auto below = [&](size_t k) { return root.high < tables::kErfinvEnds[k]; };
  const auto first = [&] {
    return tail(root, 0, tables::kErfinvTail1First, tables::kErfinvTail1Rest);
  };
  const auto second = [&] {
    return tail(root, 1, tables::kErfinvTail2First, tables::kErfinvTail2Rest);
  };
  const auto third = [&] {
    return tail(root, 2, tables::kErfinvTail3First, tables::kErfinvTail3Rest);
  };
  const auto fourth = [&] {
    return tail(root, 3, tables::kErfinvTail4First, tables::kErfinvTail4Rest);
  };
  return either(
      below(1), [&] { return either(below(0), first, second); },
      [&] { return either(below(2), third, fourth); });
}

Results erfinv_of_double(Arguments arguments) {
  const Floats y = arguments[0], size = fabs(y);
  const auto of_others = [&] {
    const auto special = [&] { return Results{select(size == 1, y.infinity(), y.nan())}; };
    return either(size < 1, [&] { return erfinv_of_large(size); }, special);
  };
  const Results value =
      either(size < 0.5, [&] { return Results{erfinv_of_small(size)}; }, of_others);
  return {copysign(value[0], y)};
}

constexpr ScalarFunction kErfinv{"erfinv", 1, erfinv_of_double};

}  // namespace

Floats erfinv(Floats x) {
  if (x.context().features.has_library) return library_call("erfinv", x);
  return in_each_lane(kErfinv, {&x, 1})[0];
}

}  // namespace adjit::emit::elementary
