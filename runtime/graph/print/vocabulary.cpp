// runtime/graph/print/vocabulary.cpp -- the words of the text notation, as tables.
#include "runtime/graph/print/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace adjit::graph {
namespace {

using Word = std::string_view;

constexpr std::array<Infix, 20> kInfixes{{
    {"||", Op::Or, 1, false},         {"&&", Op::And, 2, false},
    {"|", Op::BitOr, 3, false},       {"^", Op::BitXor, 4, false},
    {"&", Op::BitAnd, 5, false},      {"==", Op::Eq, 6, false},
    {"!=", Op::Ne, 6, false},         {"<", Op::Lt, 7, false},
    {"<=", Op::Le, 7, false},         {">", Op::Lt, 7, true},
    {">=", Op::Le, 7, true},          {"<<", Op::ShiftLeft, 8, false},
    {">>", Op::ShiftRight, 8, false}, {"+", Op::Add, 9, false},
    {"-", Op::Sub, 9, false},         {"*", Op::Mul, 10, false},
    {"/", Op::Div, 10, false},        {"//", Op::FloorDiv, 10, false},
    {"%", Op::Mod, 10, false},        {"**", Op::Pow, kPowerPrecedence, false},
}};

constexpr std::array<std::pair<Word, Op>, 7> kFunctionAliases{{
    {"fmax", Op::Max},
    {"fmin", Op::Min},
    {"fabs", Op::Abs},
    {"mod", Op::Mod},
    {"floordiv", Op::FloorDiv},
    {"remainder", Op::Mod},
    {"not", Op::Not},
}};

constexpr std::array<std::pair<Word, DType>, 4> kTypeAliases{{
    {"half", DType::Float16},
    {"int", DType::Int32},
    {"byte", DType::UInt8},
    {"long", DType::Int64},
}};

constexpr std::array<Word, 19> kKeywords{{
    "def",  "where", "in",   "exists",  "let",      "const", "scatter", "scan", "call", "carry",
    "over", "fixed", "from", "combine", "identity", "true",  "false",   "inf",  "nan",
}};

constexpr std::array<Word, 10> kCombiners{
    {"", "+", "*", "max", "min", "argmax", "argmin", "any", "all", "custom"}};
constexpr std::array<Word, 4> kModes{{"error", "drop", "clip", "wrap"}};

bool is_word(Word text) { return std::isalpha(static_cast<unsigned char>(text[0])) != 0; }

}  // namespace

const Infix* infix_from_spelling(Word spelling) {
  const auto at = std::ranges::find(kInfixes, spelling, &Infix::spelling);
  return at == kInfixes.end() ? nullptr : &*at;
}

const Infix* infix_of(Op op) {
  for (const Infix& row : kInfixes)
    if (row.op == op && !row.swapped && row.precedence != kPowerPrecedence) return &row;
  return nullptr;
}

std::optional<Op> function_from_name(Word name) {
  for (const auto& [alias, op] : kFunctionAliases)
    if (alias == name) return op;
  for (int k = 0; k < op_count(); ++k) {
    const Op op = static_cast<Op>(k);
    if (info(op).rule == TypeRule::Leaf || op == Op::Cast) continue;
    if (info(op).name == name && is_word(name)) return op;
  }
  return std::nullopt;
}

std::optional<DType> type_from_name(Word name) {
  for (const auto& [alias, dtype] : kTypeAliases)
    if (alias == name) return dtype;
  return dtype_from_name(name);
}

bool is_reserved(Word word) {
  return std::ranges::find(kKeywords, word) != kKeywords.end() || word == "nan_bits" ||
         function_from_name(word).has_value() || type_from_name(word).has_value() ||
         (combiner_from_spelling(word).has_value() && !word.empty());
}

Word spelling_of(CombinerKind kind) { return kCombiners[static_cast<size_t>(kind)]; }

std::optional<CombinerKind> combiner_from_spelling(Word spelling) {
  const auto at = std::ranges::find(kCombiners, spelling);
  if (at == kCombiners.end()) return std::nullopt;
  return static_cast<CombinerKind>(at - kCombiners.begin());
}

Word spelling_of(OutOfRange mode) { return kModes[static_cast<size_t>(mode)]; }

std::optional<OutOfRange> mode_from_spelling(Word spelling) {
  const auto at = std::ranges::find(kModes, spelling);
  if (at == kModes.end()) return std::nullopt;
  return static_cast<OutOfRange>(at - kModes.begin());
}

size_t first_like_typed(Op op) {
  const OpInfo& row = info(op);
  switch (row.rule) {
    case TypeRule::Same:
    case TypeRule::FloatSame:
    case TypeRule::IntSame:
    case TypeRule::Comparison: return 0;
    case TypeRule::Select: return 1;
    default: return static_cast<size_t>(std::max(row.arity, 0));
  }
}

}  // namespace adjit::graph
