// runtime/graph/print/expression_printer.hpp -- scalar expressions as text, with `let` for what is
// shared or long.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// The names that an expression's leaves print with.
struct LeafNames {
  std::span<const std::string> tensors;                    // by TensorId
  const std::unordered_set<std::string>* taken = nullptr;  // the same as a set; not null
  std::vector<std::string> axes;                           // by axis number
  std::vector<std::string> arguments;                      // by argument number
};

/// Several expressions that are printed together and share their lets.
struct PrintedExpressions {
  std::vector<std::string> lets;   // "let t0 = A(i) + B(i);"
  std::vector<std::string> roots;  // one per root
};

/// Linear in distinct nodes: a sub-expression that is used twice and longer than a few characters,
/// or that makes a line too long, is named once. `let_prefix` begins the names of lets ("t" gives
/// t0, t1, ...).
PrintedExpressions print_expressions(const Graph& graph, std::span<const ExprId> roots,
                                     const LeafNames& names, std::string_view let_prefix);

/// A literal of that value that reads back to the same bits: shortest decimal, nan_bits(0x...) for
/// unusual NaNs. Float literals always carry a point or an exponent (or are inf or nan).
std::string literal_text(const Node& constant);

}  // namespace adjit::graph
