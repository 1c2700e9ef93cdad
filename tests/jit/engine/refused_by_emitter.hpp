// tests/jit/engine/refused_by_emitter.hpp -- a legal schedule whose code would be too long.
#pragma once

namespace adjit::testing {

inline constexpr const char* kLongBody =
    "def main(float(9, 9, 9, 35) x) -> (y) {\n"
    "  y(i, j, k, l) = exp(sin(x(i, j, k, l)) * tanh(x(i, j, k, l))) + lgamma(x(i, j, k, l))\n}";
inline constexpr const char* kUnrolled =
    R"([{"move": "vectorize", "stage": "y", "axis": 3, "lanes": 16},)"
    R"( {"move": "unroll", "stage": "y", "axis": 0, "factor": 8},)"
    R"( {"move": "unroll", "stage": "y", "axis": 1, "factor": 8},)"
    R"( {"move": "unroll", "stage": "y", "axis": 2, "factor": 8}])";

}  // namespace adjit::testing
