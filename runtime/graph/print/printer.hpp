// runtime/graph/print/printer.hpp -- graphs and stages as text notation: a superset of Tensor
// Comprehensions' language.
//
// What is printed parses to the same graph (runtime/graph/parse/text_module.hpp): parse(print(g))
// prints the same text and has the same content hash.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// The names axes print with: i, j, k, ... by position, reduction axes with r_ before them.
std::vector<std::string> default_axis_names(const Domain& domain);

/// The same for the axes of a stage: a scatter has no reduction axes.
std::vector<std::string> axis_names(const Stage& stage);

/// What is printed of a constant of more than a few dozen elements: all its bytes, or how many they
/// are. Elided text is for people, it does not parse.
enum class LongConstants : uint8_t { Whole, Elided };

/// Prints in canonical form: tensors by name, axes i, j, k, ... and reduction axes r_*; shapes
/// concrete.
std::string print(const Graph& graph, LongConstants constants = LongConstants::Whole);
/// One stage of a graph, as a line (or lines) of that text.
std::string print_stage(const Graph& graph, const Stage& stage);
/// "float(4, 6) A"; a scalar is "float s".
std::string declaration(const TensorInfo& info, const std::string& name);
/// The names that tensors print with, by TensorId: their own, or with a suffix where the notation
/// reserves the word or two are equal.
std::vector<std::string> printed_tensor_names(const Graph& graph);
/// One expression, with these names for its axes.
std::string print_expr(const Graph& graph, ExprId expr, std::span<const std::string> axis_names);

}  // namespace adjit::graph
