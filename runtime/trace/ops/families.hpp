// runtime/trace/ops/families.hpp -- the tables of operators, one per family file.
#pragma once

#include <span>
#include <string_view>

#include "runtime/trace/ops/operator.hpp"

namespace adjit::trace {

/// The gradient of operators with integer or bool results.
inline constexpr std::string_view kNotAFloat = "none: the result is not a float";

std::span<const Operator> unary_operators();           // unary.cpp
std::span<const Operator> binary_operators();          // binary.cpp
std::span<const Operator> selection_operators();       // selection.cpp
std::span<const Operator> reduction_operators();       // reduction_table.cpp
std::span<const Operator> cumulative_operators();      // cumulative.cpp
std::span<const Operator> contraction_operators();     // contraction.cpp
std::span<const Operator> view_operators();            // view_table.cpp
std::span<const Operator> joining_operators();         // joining.cpp
std::span<const Operator> indexing_operators();        // indexing.cpp
std::span<const Operator> gathering_operators();       // gathering.cpp
std::span<const Operator> padding_operators();         // padding.cpp
std::span<const Operator> triangle_operators();        // triangle.cpp
std::span<const Operator> creation_operators();        // creation.cpp
std::span<const Operator> activation_operators();      // activation.cpp
std::span<const Operator> softmax_operators();         // softmax.cpp
std::span<const Operator> convolution_operators();     // convolution.cpp
std::span<const Operator> pooling_operators();         // pooling.cpp
std::span<const Operator> normalization_operators();   // normalization.cpp
std::span<const Operator> loss_operators();            // loss.cpp
std::span<const Operator> classification_operators();  // classification.cpp
std::span<const Operator> network_operators();         // network.cpp
std::span<const Operator> resampling_operators();      // resampling.cpp
std::span<const Operator> random_operators();          // random.cpp

}  // namespace adjit::trace
