#!/usr/bin/env python3
"""Derives the tables of the functions that a machine without a C library gets, and prints pair_tables.hpp.

    python3 jit/emit/math/pair_tables.py > jit/emit/math/pair_tables.hpp

A row of POLYNOMIALS is a Chebyshev fit (at 60 digits) of so many coefficients, the first of which are pairs of
doubles and the others doubles: behind them a term is so small that its rounding does not show. In front of each
stands its error relative to the largest value of the target. Needs mpmath.
"""

import sys
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise

import mpmath as mp

mp.mp.dps = 60
QUARTER = (0, mp.mpf(1) / 4)
HALF = (-mp.mpf(1) / 2, mp.mpf(1) / 2)


def sinc(z):  # sin(pi f) / (pi f), z = f^2
    f = mp.sqrt(z)
    return mp.sin(mp.pi * f) / (mp.pi * f) if z else mp.mpf(1)


def cotangent(z):  # (pi cot(pi f) - 1 / f) / f, z = f^2
    f = mp.sqrt(z)
    return (mp.pi * mp.cot(mp.pi * f) - 1 / f) / f if z > mp.mpf("1e-40") else -(mp.pi**2) / 3


def log_gamma(t):  # log(gamma(2 + t)) / t
    return mp.loggamma(2 + t) / t if abs(t) > mp.mpf("1e-40") else mp.psi(0, 2)


def digamma(t):  # of 2 + t
    return mp.psi(0, 2 + t)


def erfinv_middle(z):  # erfinv(y) / y, z = y^2
    y = mp.sqrt(z)
    return mp.erfinv(y) / y if z > mp.mpf("1e-40") else mp.sqrt(mp.pi) / 2


def inverse_erfc(q):
    """x with erfc(x) = q, by Newton's method on its logarithm from the asymptotic value."""
    x = mp.sqrt(-mp.log(q))
    for _ in range(200):
        step = (mp.log(mp.erfc(x)) - mp.log(q)) / (
            -2 / mp.sqrt(mp.pi) * mp.exp(-x * x) / mp.erfc(x)
        )
        x -= step
        if abs(step) < mp.mpf("1e-55"):
            return x
    raise ArithmeticError(q)


# erfinv(1 - e^(-r^2)) about the middles of intervals of r, which reach from y = 1/2 to y = 1 - 2^-53.
ENDS = ["0.83", "1.36", "2.2", "3.6", "6.07"]
MIDDLES = [(mp.mpf(a) + mp.mpf(b)) / 2 for a, b in pairwise(ENDS)]


def erfinv_tail(k):
    middle = mp.mpf(float(MIDDLES[k]))
    return lambda t: inverse_erfc(mp.exp(-((middle + t) ** 2)))


def tail_row(k):
    half = (mp.mpf(ENDS[k + 1]) - mp.mpf(ENDS[k])) / 2 * mp.mpf("1.002")
    return (f"ErfinvTail{k + 1}", erfinv_tail(k), TAIL_COUNTS[k], 7, (-half, half))


TAIL_COUNTS = [20, 20, 20, 21]

# name, target, number of coefficients, of them pairs, interval
POLYNOMIALS = [
    ("Sinc", sinc, 13, 5, QUARTER),
    ("Cotangent", cotangent, 19, 6, QUARTER),
    ("LogGamma", log_gamma, 23, 6, HALF),
    ("Digamma", digamma, 24, 6, HALF),
    ("ErfinvMiddle", erfinv_middle, 18, 5, QUARTER),
    *(tail_row(k) for k in range(len(MIDDLES))),
]


def pair(value):
    high = float(value)
    return high, float(value - mp.mpf(high))


def fit(k):
    _, target, count, pairs, interval = POLYNOMIALS[k]
    coefficients = mp.chebyfit(target, interval, count)[::-1]
    kept = [mp.fsum(pair(c)) if n < pairs else mp.mpf(float(c)) for n, c in enumerate(coefficients)]
    lo, hi = interval
    points = [lo + (hi - lo) * j / 400 for j in range(401)]
    values = [target(t) for t in points]
    error = max(abs(mp.polyval(kept[::-1], t) - v) for t, v in zip(points, values))
    return coefficients, -mp.log(error / max(abs(v) for v in values), 2)


def gamma_zero(half):
    """The zero of log(|gamma(-a)|) for a in (half / 2, half / 2 + 1/2), half >= 4."""
    whole = mp.mpf((half + 1) // 2)  # the pole beside it
    side = -1 if half % 2 else 1
    equation = lambda a: mp.log(abs(mp.gamma(-a)))
    inner, outer = mp.mpf("1e-30"), mp.mpf(1) / 2  # its distance, in a logarithmic scale
    for _ in range(400):
        middle = mp.sqrt(inner * outer)
        # Beside the pole the function is positive.
        if equation(whole + side * middle) > 0:
            inner = middle
        else:
            outer = middle
    return whole + side * inner, inner


# Zeros of -2 - 1/2 .. -17: beyond, no double is near one.
ZEROS = range(4, 34)
ZERO_TERMS = 6


def zero_row(half):
    """a, the value there, coefficients of (x - a)^1 .. in lgamma(-x), and how far they serve."""
    zero, distance = gamma_zero(half)
    a = mp.mpf(float(zero))
    value = mp.log(abs(mp.gamma(-a)))
    # The derivatives of lgamma(-x) are those of psi.
    terms = [(-1) ** k * mp.psi(k - 1, -a) / mp.factorial(k) for k in range(1, ZERO_TERMS)]
    return [a, value, *terms, distance * mp.ldexp(1, -11)]


def hexadecimal(value):
    return float(value).hex()


def print_array(name, kind, values):
    print(f"inline constexpr std::array<{kind}, {len(values)}> k{name}{{")
    print("    " + ",\n    ".join(values) + "};")


def main():
    with ProcessPoolExecutor() as pool:
        fits = list(pool.map(fit, range(len(POLYNOMIALS))))
        zeros = list(pool.map(zero_row, ZEROS))
    print(
        "// jit/emit/math/pair_tables.hpp -- coefficients and constants of functions without a library."
    )
    print("//")
    print(
        "// Printed by pair_tables.py, which says what each one is. Of a polynomial, lowest order first, the"
    )
    print("// first coefficients are pairs; in front of each its error.")
    print("#pragma once\n\n#include <array>\n#include <cstdint>\n")
    print('#include "runtime/process/rooms.hpp"\n\nnamespace adjit::emit::pair_tables {\n')
    print("/// A number as the double nearest to it and the rest.")
    print("struct Number {\n  double high, low;\n};\n")
    for (name, _, _, pairs, _), (coefficients, bits) in zip(POLYNOMIALS, fits):
        print(f"// 2^-{mp.nstr(bits, 4)}")
        sys.stderr.write(f"{name} 2^-{mp.nstr(bits, 4)}\n")
        first = [pair(c) for c in coefficients[:pairs]]
        print_array(f"{name}First", "Number", [f"Number{{{h.hex()}, {l.hex()}}}" for h, l in first])
        print_array(f"{name}Rest", "double", [hexadecimal(c) for c in coefficients[pairs:]])
    print("/// log(2 pi) / 2")
    high, low = pair(mp.log(2 * mp.pi) / 2)
    print(f"inline constexpr Number kHalfLogOfTwoPi{{{high.hex()}, {low.hex()}}};")
    print("/// The middles of the intervals of kErfinvTail1 .. 4 and the ends between them.")
    print_array("ErfinvMiddles", "double", [hexadecimal(m) for m in MIDDLES])
    print_array("ErfinvEnds", "double", [hexadecimal(mp.mpf(e)) for e in ENDS[1:-1]])
    print(
        "/// Of the zero of lgamma(-a) in each half interval from 2 on: the double a next to it, the value"
    )
    print(
        "/// there, five coefficients of powers of the distance from a, and the distance up to which they"
    )
    print("/// serve.")
    print_array("GammaZeros", "double", [hexadecimal(v) for row in zeros for v in row])
    print("/// The bits of 2 / pi, 64 of them in front of the point.")
    with mp.workprec(1400):
        bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** (32 * 38)))
    listed = [0, 0] + [(bits >> (32 * (37 - k))) & 0xFFFFFFFF for k in range(38)]
    print_array("TwoOverPi", "uint32_t", [hex(w) for w in listed])
    print("\n}  // namespace adjit::emit::pair_tables")


if __name__ == "__main__":
    main()
