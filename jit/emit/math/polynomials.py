#!/usr/bin/env python3
"""Derives the polynomials of vector_math and prints polynomials.hpp.

    python3 jit/emit/math/polynomials.py > jit/emit/math/polynomials.hpp

Each row of TABLE is a weighted minimax fit: the polynomial P of the given length that minimises the largest
|weight(t) * (P(t) - target(t))| over the interval (Remez exchange at 60 digits). Coefficients are rounded to the
element type one after another, lowest order first, and the rest is fitted again each time. Needs mpmath.
"""

import struct
import sys
from concurrent.futures import ProcessPoolExecutor

import mpmath as mp

mp.mp.dps = 60


def rounded(value, kind):
    if kind == "f64":
        return mp.mpf(float(value))
    return mp.mpf(struct.unpack("f", struct.pack("f", float(value)))[0])


def chebyshev_points(count, lo, hi):
    return [(lo + hi) / 2 - (hi - lo) / 2 * mp.cos(mp.pi * k / (count - 1)) for k in range(count)]


def horner(coefficients, t):
    value = mp.mpf(0)
    for c in reversed(coefficients):
        value = value * t + c
    return value


def remez(target, weight, first, count, lo, hi):
    """Coefficients of t^first .. t^(first+count-1) and the largest weighted error."""
    grid = chebyshev_points(max(300, 16 * count), lo, hi)
    values = [target(t) for t in grid]
    # Divided by t^first: alternation is that of an ordinary polynomial with a weight of one sign.
    signs = [-1 if t < 0 and first % 2 else 1 for t in grid]
    weights = [sign * abs(weight(t)) for sign, t in zip(signs, grid)]
    nodes = [round(k * (len(grid) - 1) / count) for k in range(count + 1)]
    for _ in range(30):
        rows, right = [], []
        for sign, n in enumerate(nodes):
            t = grid[n]
            inverse = mp.mpf(1) / weights[n] if weights[n] != 0 else mp.mpf(10) ** 40
            rows.append([t ** (first + k) for k in range(count)] + [(-1) ** sign * inverse])
            right.append(values[n])
        solution = mp.lu_solve(mp.matrix(rows), mp.matrix(right))
        coefficients, level = list(solution)[:count], abs(solution[count])
        errors = [
            w * (t**first * horner(coefficients, t) - v) for t, w, v in zip(grid, weights, values)
        ]
        extrema, k = [], 0
        while k < len(errors):  # the largest error of each run of one sign
            best, positive = k, errors[k] >= 0
            while k < len(errors) and (errors[k] >= 0) == positive:
                if abs(errors[k]) > abs(errors[best]):
                    best = k
                k += 1
            extrema.append(best)
        while len(extrema) > count + 1:
            if len(extrema) == count + 2:
                del extrema[0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1]
                continue
            weakest = min(
                range(len(extrema) - 1),
                key=lambda k: max(abs(errors[extrema[k]]), abs(errors[extrema[k + 1]])),
            )
            del extrema[weakest : weakest + 2]
        largest = max(abs(e) for e in errors)
        if len(extrema) < count + 1 or extrema == nodes or largest < level * mp.mpf("1.001"):
            break
        nodes = extrema
    return coefficients, largest


def fit(row):
    name, kind, target, weight, count, lo, hi = row
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    fixed, largest = [], None
    for first in range(count):
        done = list(fixed)
        rest = lambda t: target(t) - horner(done, t)
        free, _ = remez(rest, weight, first, count - first, lo, hi)
        fixed.append(rounded(free[0], kind))
    grid = chebyshev_points(2000, lo, hi)
    largest = max(abs(weight(t) * (horner(fixed, t) - target(t))) for t in grid)
    return name, kind, fixed, -mp.log(largest, 2) if largest else mp.inf


def odd_tail(function):
    """f(x) = x + x^3 P(x^2), as a function of x^2, with the weight that makes the error relative to f."""

    def target(z):
        if z < mp.mpf("1e-30"):
            return mp.taylor(function, 0, 3)[3]
        x = mp.sqrt(z)
        return (function(x) - x) / (x * z)

    def weight(z):
        x = mp.sqrt(z)
        return z * x / function(x) if z else mp.mpf(0)

    return target, weight


def small(z, value, otherwise):
    return value if abs(z) < mp.mpf("1e-40") else otherwise()


def exp_tail(r):  # e^r = 1 + r + r^2 P(r)
    return small(r, mp.mpf(1) / 2, lambda: (mp.expm1(r) - r) / r**2)


def exp2_tail(r):  # 2^r = 1 + r P(r)
    return small(r, mp.log(2), lambda: mp.expm1(r * mp.log(2)) / r)


def log_tail(f):  # log(1 + f) = f - f^2 / 2 + f^3 P(f)
    return small(f, mp.mpf(1) / 3, lambda: (mp.log1p(f) - f + f**2 / 2) / f**3)


def log_tail_to(base):  # log_base(1 + f) = f h + f P(f), h the float nearest to 1 / log(base)
    factor = 1 / mp.log(base)
    high = rounded(factor, "f32")
    return lambda f: small(f, factor - high, lambda: mp.log1p(f) * factor / f - high)


def atanh_tail(z):  # 2 atanh(s) = 2 s + s z P(z), z = s^2
    return small(z, mp.mpf(2) / 3, lambda: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z)


def atanh_second_tail(z):  # 2 atanh(s) = 2 s + 2/3 s z + s z^2 P(z)
    return small(z, mp.mpf(2) / 5, lambda: (atanh_tail(z) - mp.mpf(2) / 3) / z)


def cos_tail(z):  # cos(x) = 1 - z / 2 + z^2 P(z)
    return small(z, mp.mpf(1) / 24, lambda: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2)


def erf_scaled(z):  # erf(x) = x + x P(z)
    return small(z, 2 / mp.sqrt(mp.pi), lambda: mp.erf(mp.sqrt(z)) / mp.sqrt(z)) - 1


def log_erfc(t):  # erfc(t) = e^(-t - t P(t))
    return -mp.log(mp.erfc(t)) / t - 1


def erfcx_mapped(k):
    """(1 + 2a) e^(a^2) erfc(a) as a function of t = (a - k) / (a + k)."""

    def target(t):
        a = k * (1 + t) / (1 - t)
        return (1 + 2 * a) * mp.exp(a * a) * mp.erfc(a)

    return target


LN2_HALF = "0.3467"
asin_tail, asin_weight = odd_tail(mp.asin)
atan_tail, atan_weight = odd_tail(mp.atan)
sinh_tail, sinh_weight = odd_tail(mp.sinh)
tanh_tail, tanh_weight = odd_tail(mp.tanh)
sin_tail, sin_weight = odd_tail(mp.sin)

_K = mp.mpf(2)
_K_F64 = mp.mpf(4)
erfcx_f32, erfcx_f64 = erfcx_mapped(_K), erfcx_mapped(_K_F64)


def exp_weight(r):
    return r**2 / mp.expm1(r) if r else mp.mpf(0)


def exp_step_weight(r):
    return r**2 / mp.exp(r)


def exp2_weight(r):
    return r / 2**r


def log_weight(f):
    return f**3 / mp.log1p(f) if f else mp.mpf(0)


def log_weight_to(base):
    return lambda f: small(f, mp.log(base), lambda: f * mp.log(base) / mp.log1p(f))


log2_tail, log2_weight = log_tail_to(2), log_weight_to(2)
log10_tail, log10_weight = log_tail_to(10), log_weight_to(10)


def atanh_weight(z):
    return z / 2


def atanh_second_weight(z):
    return z**2 / 2


def cos_weight(z):
    return z**2 / mp.cos(mp.sqrt(z))


def erf_weight(z):
    return 1 / (1 + erf_scaled(z))


def log_erfc_weight(t):  # relative error of 1 - e^(-t - t P)
    return t * mp.erfc(t) / mp.erf(t)


def erfcx_weight_f32(t):
    return 1 / erfcx_f32(t)


def erfcx_weight_f64(t):
    return 1 / erfcx_f64(t)


# name, element type, target, weight, number of coefficients, interval
TABLE = [
    ("kExp", "f32", exp_tail, exp_weight, 6, "-" + LN2_HALF, LN2_HALF),
    ("kExp", "f64", exp_tail, exp_weight, 11, "-" + LN2_HALF, LN2_HALF),
    ("kExpStep", "f32", exp_tail, exp_step_weight, 2, "-0.0218", "0.0218"),
    ("kExp2", "f32", exp2_tail, exp2_weight, 6, "-0.5001", "0.5001"),
    ("kExp2", "f64", exp2_tail, exp2_weight, 11, "-0.5001", "0.5001"),
    ("kLog", "f32", log_tail, log_weight, 8, "-0.3301", "0.3401"),
    ("kLog1p", "f32", log_tail, log_weight, 8, "-0.25", "0.5"),
    ("kLog2", "f32", log2_tail, log2_weight, 10, "-0.3301", "0.3401"),
    ("kLog10", "f32", log10_tail, log10_weight, 10, "-0.3301", "0.3401"),
    ("kLog", "f64", atanh_tail, atanh_weight, 7, "0", "0.02945"),
    ("kLogSecond", "f64", atanh_second_tail, atanh_second_weight, 7, "0", "0.02945"),
    ("kTanh", "f32", tanh_tail, tanh_weight, 5, "0", "0.3906"),
    ("kSinh", "f32", sinh_tail, sinh_weight, 4, "0", "1"),
    ("kSinh", "f64", sinh_tail, sinh_weight, 7, "0", "1"),
    ("kSin", "f32", sin_tail, sin_weight, 3, "0", "0.6169"),
    ("kSin", "f64", sin_tail, sin_weight, 6, "0", "0.6169"),
    ("kCos", "f32", cos_tail, cos_weight, 3, "0", "0.6169"),
    ("kCos", "f64", cos_tail, cos_weight, 6, "0", "0.6169"),
    ("kAsin", "f32", asin_tail, asin_weight, 5, "0", "0.25"),
    ("kAsin", "f64", asin_tail, asin_weight, 13, "0", "0.25"),
    ("kAtan", "f32", atan_tail, atan_weight, 9, "0", "1"),
    ("kAtan", "f64", atan_tail, atan_weight, 20, "0", "1"),
    ("kErf", "f32", erf_scaled, erf_weight, 6, "0", "0.8608"),
    ("kErf", "f64", erf_scaled, erf_weight, 12, "0", "0.8608"),
    ("kLogErfc", "f32", log_erfc, log_erfc_weight, 8, "0.927", "4.0"),
    ("kErfcx", "f32", erfcx_f32, erfcx_weight_f32, 10, "-1", "0.69"),
    ("kErfcx", "f64", erfcx_f64, erfcx_weight_f64, 23, "-1", "0.75"),
]


def main():
    only = sys.argv[1:]
    rows = [k for k, row in enumerate(TABLE) if not only or row[0] in only]
    with ProcessPoolExecutor() as pool:
        fits = list(pool.map(fit_row, rows))
    print("// jit/emit/math/polynomials.hpp -- coefficients of vector_math, lowest order first.")
    print("//")
    print(
        "// Printed by polynomials.py, which says what each one approximates; in front of each its"
    )
    print("// error over its interval, relative to the function that it serves.")
    print("#pragma once\n\n#include <array>\n")
    print('#include "runtime/process/rooms.hpp"\n\nnamespace adjit::emit::polynomials {\n')
    for name, kind, coefficients, bits in fits:
        print(f"// 2^-{mp.nstr(bits, 4)}")
        print(f"inline constexpr std::array k{kind.upper()}{name[1:]}{{")
        print("    " + ",\n    ".join(float(c).hex() for c in coefficients) + "};")
        sys.stderr.write(f"{name} {kind} 2^-{mp.nstr(bits, 4)}\n")
    print("\n}  // namespace adjit::emit::polynomials")


def fit_row(k):
    return fit(TABLE[k])


if __name__ == "__main__":
    main()
