// runtime/expr/op.hpp -- the operations of scalar expressions: one table, one row each.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/process/rooms.hpp"

namespace adjit::expr {

/// How the dtype of a node follows from its operands.
enum class TypeRule : uint8_t {
  Leaf,        // given when the node is made
  Same,        // all operands have one dtype; it is the result's
  FloatSame,   // as Same, and it must be a float type
  IntSame,     // as Same, and it must be an integer type or bool
  Comparison,  // operands have one dtype; the result is bool
  Logical,     // bool to bool
  FloatTest,   // float to bool
  Select,      // (bool, T, T) to T
  Cast,        // any to the dtype given
};

/// X(enumerator, name in text notation, arity, type rule). Arity -1: variable.
// clang-format off
#define ADJIT_OPS(X)                          \
  X(Constant,  "constant",  0, Leaf)          \
  X(Axis,      "axis",      0, Leaf)          \
  X(Argument,  "argument",  0, Leaf)          \
  X(Read,      "read",     -1, Leaf)          \
  X(Neg,       "-",         1, Same)          \
  X(Abs,       "abs",       1, Same)          \
  X(Sign,      "sign",      1, Same)          \
  X(Not,       "!",         1, Logical)       \
  X(BitNot,    "~",         1, IntSame)       \
  X(Exp,       "exp",       1, FloatSame)     \
  X(Exp2,      "exp2",      1, FloatSame)     \
  X(Expm1,     "expm1",     1, FloatSame)     \
  X(Log,       "log",       1, FloatSame)     \
  X(Log2,      "log2",      1, FloatSame)     \
  X(Log10,     "log10",     1, FloatSame)     \
  X(Log1p,     "log1p",     1, FloatSame)     \
  X(Sqrt,      "sqrt",      1, FloatSame)     \
  X(Rsqrt,     "rsqrt",     1, FloatSame)     \
  X(Sin,       "sin",       1, FloatSame)     \
  X(Cos,       "cos",       1, FloatSame)     \
  X(Tan,       "tan",       1, FloatSame)     \
  X(Asin,      "asin",      1, FloatSame)     \
  X(Acos,      "acos",      1, FloatSame)     \
  X(Atan,      "atan",      1, FloatSame)     \
  X(Sinh,      "sinh",      1, FloatSame)     \
  X(Cosh,      "cosh",      1, FloatSame)     \
  X(Tanh,      "tanh",      1, FloatSame)     \
  X(Asinh,     "asinh",     1, FloatSame)     \
  X(Acosh,     "acosh",     1, FloatSame)     \
  X(Atanh,     "atanh",     1, FloatSame)     \
  X(Sigmoid,   "sigmoid",   1, FloatSame)     \
  X(Erf,       "erf",       1, FloatSame)     \
  X(Erfc,      "erfc",      1, FloatSame)     \
  X(Erfinv,    "erfinv",    1, FloatSame)     \
  X(Lgamma,    "lgamma",    1, FloatSame)     \
  X(Digamma,   "digamma",   1, FloatSame)     \
  X(Floor,     "floor",     1, FloatSame)     \
  X(Ceil,      "ceil",      1, FloatSame)     \
  X(Trunc,     "trunc",     1, FloatSame)     \
  X(Round,     "round",     1, FloatSame)     \
  X(IsNan,     "isnan",     1, FloatTest)     \
  X(IsInf,     "isinf",     1, FloatTest)     \
  X(Add,       "+",         2, Same)          \
  X(Sub,       "-",         2, Same)          \
  X(Mul,       "*",         2, Same)          \
  X(Div,       "/",         2, FloatSame)     \
  X(FloorDiv,  "//",        2, Same)          \
  X(Mod,       "%",         2, Same)          \
  X(Fmod,      "fmod",      2, Same)          \
  X(Min,       "min",       2, Same)          \
  X(Max,       "max",       2, Same)          \
  X(Pow,       "pow",       2, Same)          \
  X(Atan2,     "atan2",     2, FloatSame)     \
  X(Hypot,     "hypot",     2, FloatSame)     \
  X(Polygamma, "polygamma", 2, FloatSame)     \
  X(And,       "&&",        2, Logical)       \
  X(Or,        "||",        2, Logical)       \
  X(BitAnd,    "&",         2, IntSame)       \
  X(BitOr,     "|",         2, IntSame)       \
  X(BitXor,    "^",         2, IntSame)       \
  X(ShiftLeft, "<<",        2, IntSame)       \
  X(ShiftRight,">>",        2, IntSame)       \
  X(Eq,        "==",        2, Comparison)    \
  X(Ne,        "!=",        2, Comparison)    \
  X(Lt,        "<",         2, Comparison)    \
  X(Le,        "<=",        2, Comparison)    \
  X(Fma,       "fma",       3, Same)          \
  X(Select,    "select",    3, Select)        \
  X(Cast,      "cast",      1, Cast)
// clang-format on

enum class Op : uint8_t {
#define ADJIT_OP_ENUMERATOR(id, name, arity, rule) id,
  ADJIT_OPS(ADJIT_OP_ENUMERATOR)
#undef ADJIT_OP_ENUMERATOR
};

struct OpInfo {
  std::string_view id;    // enumerator, e.g. "FloorDiv"
  std::string_view name;  // text notation, e.g. "//"
  int arity;              // -1: variable
  TypeRule rule;
};
const OpInfo& info(Op op);
int op_count();

/// Semantics, in one place (the interpreter and the emitter implement exactly this):
///  - integers wrap modulo 2^bits; FloorDiv and Mod floor, Fmod truncates; integer division by zero
///  gives 0
///    (Mod and Fmod by zero too), so that no expression traps;
///  - float Mod is a - b*floor(a/b); Round rounds half to even;
///  - Min and Max propagate NaN; Sign(0) = 0, Sign(NaN) = NaN; IEEE elsewhere;
///  - shifts by a negative amount or by at least the width give 0 (ShiftRight of a negative: -1,
///  arithmetic);
///  - integer Pow by a negative exponent gives 0 except for bases 1 and -1;
///  - Cast float to integer truncates and saturates (NaN gives 0); to bool is != 0; from bool is 0
///  or 1;
///  - Select evaluates to one operand; the other never contributes, NaN or not;
///  - Polygamma(n, x) is the n-th derivative of Digamma (polygamma.hpp); none with respect to n;
///  - Fma rounds once.

}  // namespace adjit::expr
