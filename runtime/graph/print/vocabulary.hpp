// runtime/graph/print/vocabulary.hpp -- the words of the text notation, shared by its printer and
// its parser.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// Binding strength of infix and prefix operators; larger binds tighter. Infix operators associate
/// to the left, but for the power, which is Python's: -x ** 2 is -(x ** 2), 2 ** 3 ** 2 is 2 ** 9.
inline constexpr int kTernaryPrecedence = 0;
inline constexpr int kUnaryPrecedence = 11;
inline constexpr int kPowerPrecedence = 12;
inline constexpr int kAtomPrecedence = 13;

struct Infix {
  std::string_view spelling;
  Op op;
  int precedence;
  bool swapped;  // a > b is read as b < a
};
/// The infix operator with this spelling; the one that prints `op` (a power prints as pow(a, b)).
/// Null when there is none.
const Infix* infix_from_spelling(std::string_view spelling);
const Infix* infix_of(Op op);

/// The operation called by this name: exp, max, select, fma, ...; Tensor Comprehensions' names
/// (fmax, fabs) included.
std::optional<Op> function_from_name(std::string_view name);
/// dtype_from_name and Tensor Comprehensions' other names: half, int, byte, long.
std::optional<DType> type_from_name(std::string_view name);
/// Words that cannot name a tensor: keywords, functions, types, inf, nan, true, false.
bool is_reserved(std::string_view word);

/// How a combiner is written before '=': "" (None), "+", "*", "max", "argmin", "custom", ...
std::string_view spelling_of(CombinerKind kind);
std::optional<CombinerKind> combiner_from_spelling(std::string_view spelling);
/// "error", "drop", "clip", "wrap".
std::string_view spelling_of(OutOfRange mode);
std::optional<OutOfRange> mode_from_spelling(std::string_view spelling);

/// The dtype of a literal that nothing around it decides.
inline constexpr DType kDefaultFloat = DType::Float32;
inline constexpr DType kDefaultInteger = DType::Int64;

/// Which operands of an operation must have one dtype, so that a literal takes it from the others:
/// [first, count). Empty (first == count) when operands are independent.
size_t first_like_typed(Op op);

}  // namespace adjit::graph
