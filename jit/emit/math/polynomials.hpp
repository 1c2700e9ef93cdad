// jit/emit/math/polynomials.hpp -- coefficients of vector_math, lowest order first.
//
// Printed by polynomials.py, which says what each one approximates; in front of each its
// error over its interval, relative to the function that it serves.
#pragma once

#include <array>

#include "runtime/process/rooms.hpp"

namespace adjit::emit::polynomials {

// 2^-31.1
inline constexpr std::array kF32Exp{0x1.0000000000000p-1,  0x1.5555540000000p-3,
                                    0x1.5554f80000000p-5,  0x1.1112da0000000p-7,
                                    0x1.6d3a480000000p-10, 0x1.9e6e0e0000000p-13};
// 2^-60.85
inline constexpr std::array kF64Exp{
    0x1.0000000000000p-1,  0x1.5555555555559p-3,  0x1.5555555555558p-5,  0x1.111111110f6ffp-7,
    0x1.6c16c16c174bep-10, 0x1.a01a01afafa49p-13, 0x1.a01a01990f2cdp-16, 0x1.71ddf8b9e9a6fp-19,
    0x1.27e505641f342p-22, 0x1.af5e94cbe1257p-26, 0x1.1f2500b7b8ac3p-29};
// 2^-29.19
inline constexpr std::array kF32ExpStep{0x1.0002260000000p-1, 0x1.55564c0000000p-3};
// 2^-28.31
inline constexpr std::array kF32Exp2{0x1.62e4300000000p-1,  0x1.ebfbdc0000000p-3,
                                     0x1.c6af7c0000000p-5,  0x1.3b2de00000000p-7,
                                     0x1.5f08380000000p-10, 0x1.416b820000000p-13};
// 2^-57.56
inline constexpr std::array kF64Exp2{
    0x1.62e42fefa39efp-1,  0x1.ebfbdff82c59cp-3,  0x1.c6b08d704a0d4p-5,  0x1.3b2ab6fba12ecp-7,
    0x1.5d87fe78b3db8p-10, 0x1.4309130b98052p-13, 0x1.ffcbfbf64ba54p-17, 0x1.62bfcf45c9f1dp-20,
    0x1.b526171ef5ec6p-24, 0x1.e60ecde039ba5p-28, 0x1.e7fa90071ae2ep-32};
// 2^-27.29
inline constexpr std::array kF32Log{
    0x1.5555000000000p-2, -0x1.ffff9e0000000p-3, 0x1.99d2cc0000000p-3, -0x1.557a900000000p-3,
    0x1.1ea6240000000p-3, -0x1.f749740000000p-4, 0x1.1f7f080000000p-3, -0x1.fc36460000000p-4};
// 2^-27.24
inline constexpr std::array kF32Log1p{
    0x1.5555a40000000p-2, -0x1.00004a0000000p-2, 0x1.99699e0000000p-3, -0x1.54ec8c0000000p-3,
    0x1.2876520000000p-3, -0x1.0d9d4e0000000p-3, 0x1.ade1500000000p-4, -0x1.744ea00000000p-5};
// 2^-27.86
inline constexpr std::array kF32Log2{
    0x1.ae02f60000000p-26, -0x1.7154760000000p-1, 0x1.ec6ff60000000p-2, -0x1.7154540000000p-2,
    0x1.27a55c0000000p-2,  -0x1.eca25a0000000p-3, 0x1.9d208e0000000p-3, -0x1.6b1f800000000p-3,
    0x1.a000a60000000p-3,  -0x1.6e5f2e0000000p-3};
// 2^-27.84
inline constexpr std::array kF32Log10{
    -0x1.1f742a0000000p-27, -0x1.bcb7b20000000p-3, 0x1.287a120000000p-3, -0x1.bcb6f40000000p-4,
    0x1.63fdec0000000p-4,   -0x1.28a5180000000p-4, 0x1.f17e580000000p-5, -0x1.b45e080000000p-5,
    0x1.f4bdb60000000p-5,   -0x1.bbdfac0000000p-5};
// 2^-59.29
inline constexpr std::array kF64Log{
    0x1.5555555555593p-1, 0x1.999999997f9fep-2, 0x1.2492494226d5ap-2, 0x1.c71c51e214f69p-3,
    0x1.746645cdbde8dp-3, 0x1.39a1239b4b56ep-3, 0x1.2f0a88684c1bep-3};
// 2^-66.28
inline constexpr std::array kF64LogSecond{
    0x1.9999999999b31p-2, 0x1.2492492457b67p-2, 0x1.c71c722d94bf4p-3, 0x1.745ce9d2a8ae6p-3,
    0x1.3b1eef30a6b55p-3, 0x1.0f7f9d3bdd7cap-3, 0x1.0e458be2bbbbfp-3};
// 2^-27.68
inline constexpr std::array kF32Tanh{-0x1.5555320000000p-2, 0x1.1106f60000000p-3,
                                     -0x1.b8365c0000000p-5, 0x1.5202f80000000p-6,
                                     -0x1.7551980000000p-8};
// 2^-31.62
inline constexpr std::array kF32Sinh{0x1.5555560000000p-3, 0x1.1110e00000000p-7,
                                     0x1.a022bc0000000p-13, 0x1.756c1e0000000p-19};
// 2^-61.77
inline constexpr std::array kF64Sinh{
    0x1.5555555555556p-3,  0x1.111111111101ep-7,  0x1.a01a01a03726ap-13, 0x1.71de3a3b06941p-19,
    0x1.ae646ff5557c0p-26, 0x1.6116f46a01e49p-33, 0x1.b5c8b33707186p-41};
// 2^-27.91
inline constexpr std::array kF32Sin{-0x1.5555460000000p-3, 0x1.1107780000000p-7,
                                    -0x1.9954040000000p-13};
// 2^-57.61
inline constexpr std::array kF64Sin{-0x1.5555555555548p-3,  0x1.111111110f730p-7,
                                    -0x1.a01a019be9253p-13, 0x1.71de355531f83p-19,
                                    -0x1.ae5e4bdec1312p-26, 0x1.5d8ba19aeb07bp-33};
// 2^-32.99
inline constexpr std::array kF32Cos{0x1.55554a0000000p-5, -0x1.6c0c2a0000000p-10,
                                    0x1.99e9240000000p-16};
// 2^-63.94
inline constexpr std::array kF64Cos{0x1.555555555554bp-5,  -0x1.6c16c16c15015p-10,
                                    0x1.a01a019c8f21dp-16, -0x1.27e4f7f18b95bp-22,
                                    0x1.1ee9dbc8d30f3p-29, -0x1.8fa6802e099abp-37};
// 2^-27.62
inline constexpr std::array kF32Asin{0x1.5555c80000000p-3, 0x1.3302040000000p-4,
                                     0x1.747bbe0000000p-5, 0x1.8c3dd00000000p-6,
                                     0x1.595d080000000p-5};
// 2^-59.86
inline constexpr std::array kF64Asin{
    0x1.5555555555577p-3, 0x1.333333332e130p-4, 0x1.6db6db72127b1p-5, 0x1.f1c71a94ea4f0p-6,
    0x1.6e8bdee146dc0p-6, 0x1.1c49f049beeecp-6, 0x1.ca1f8f409078dp-7, 0x1.75857ad433cc8p-7,
    0x1.613cde9609212p-7, 0x1.e5f0c86d9dcc0p-9, 0x1.639dd9cce96a2p-6, -0x1.57ff68435d22ep-6,
    0x1.0b4751b01f8c1p-5};
// 2^-28.37
inline constexpr std::array kF32Atan{
    -0x1.55553e0000000p-2, 0x1.9991e40000000p-3,  -0x1.2420840000000p-3,
    0x1.c08c180000000p-4,  -0x1.5808060000000p-4, 0x1.da24800000000p-5,
    -0x1.fd6f000000000p-6, 0x1.640ffc0000000p-7,  -0x1.d32bf40000000p-10};
// 2^-57.03
inline constexpr std::array kF64Atan{
    -0x1.5555555555526p-2, 0x1.99999999955aep-3,  -0x1.249249237f375p-3,  0x1.c71c717fcc3a6p-4,
    -0x1.745d11aeedd50p-4, 0x1.3b1366a7daad5p-4,  -0x1.110e51b20ad03p-4,  0x1.e1bbab281d1c3p-5,
    -0x1.ae5e70ca05154p-5, 0x1.82da4ed98ab25p-5,  -0x1.59a0c6943c1a7p-5,  0x1.2c2337b7498dbp-5,
    -0x1.e9c5d1fb5d280p-6, 0x1.67e56c66ccceep-6,  -0x1.c6bbbeecdb8aap-7,  0x1.d645398964fc0p-8,
    -0x1.786d42c94ba8dp-9, 0x1.b0fefc9e0019ep-11, -0x1.3c3b5b9dc13e5p-13, 0x1.b68187f569625p-17};
// 2^-25.81
inline constexpr std::array kF32Erf{0x1.06eba60000000p-3, -0x1.8126e40000000p-2,
                                    0x1.ce19e60000000p-4, -0x1.b681ae0000000p-6,
                                    0x1.46fbaa0000000p-8, -0x1.38febe0000000p-11};
// 2^-56.19
inline constexpr std::array kF64Erf{
    0x1.06eba8214db69p-3,  -0x1.812746b037a21p-2,  0x1.ce2f21a045320p-4,  -0x1.b82ce3132d425p-6,
    0x1.565bcd245a50fp-8,  -0x1.c02db75bc85b0p-11, 0x1.f9a37661408e7p-14, -0x1.f4d6c0db26dc9p-17,
    0x1.ba07e74627127p-20, -0x1.5fa41a424c534p-23, 0x1.f2e6ab0c57fd0p-27, -0x1.040ffd7022bb2p-30};
// 2^-32.18
inline constexpr std::array kF32LogErfc{
    0x1.0748140000000p-3, 0x1.456e720000000p-1,   0x1.af4a5a0000000p-4,   -0x1.740e620000000p-6,
    0x1.82d3c00000000p-9, -0x1.dfa19e0000000p-15, -0x1.71f0c00000000p-15, 0x1.43491e0000000p-18};
// 2^-25.47
inline constexpr std::array kF32Erfcx{
    0x1.46e80e0000000p+0,   -0x1.7bf60c0000000p-4, -0x1.5408280000000p-3, 0x1.4ffc2c0000000p-3,
    -0x1.bc0aa00000000p-5,  -0x1.081b1e0000000p-7, 0x1.1ab4980000000p-7,  0x1.57db240000000p-10,
    -0x1.4076d80000000p-10, -0x1.9e576e0000000p-12};
// 2^-53.7
inline constexpr std::array kF64Erfcx{
    0x1.3ba5916e9fd7fp+0,   -0x1.1df1ad154a28fp-3,  0x1.f7f5df66fb8cdp-7,   0x1.16ecefcfa5469p-4,
    -0x1.9ddb23c3dd27dp-4,  0x1.7fee004e1073dp-4,   -0x1.0fb06dff307bcp-4,  0x1.3079edf69cb7cp-5,
    -0x1.096238609417bp-6,  0x1.49c6728a138b6p-8,   -0x1.8d4ab519b0083p-11, -0x1.a1df2e94a5e99p-13,
    0x1.3be1d8675e10ap-13,  -0x1.9957b3c755ca5p-16, -0x1.78c4cd5a9e99ap-17, 0x1.7f1539a4ece77p-18,
    0x1.46fda46eaafd7p-22,  -0x1.b9c99ddb2ce9bp-21, 0x1.0e40ec9c88dabp-24,  0x1.c9f4f6e2001a0p-24,
    -0x1.587772ed691c8p-27, -0x1.7bf22f1d12edbp-27, -0x1.6ddead1cb01c7p-31};

}  // namespace adjit::emit::polynomials
