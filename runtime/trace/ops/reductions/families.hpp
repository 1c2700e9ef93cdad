// runtime/trace/ops/reductions/families.hpp -- the tables of operators: reductions over axes.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> reduction_operators();      // reduction_table.cpp
std::span<const Operator> cumulative_operators();     // cumulative.cpp
std::span<const Operator> softmax_operators();        // softmax.cpp
std::span<const Operator> normalization_operators();  // normalization.cpp

}  // namespace adjit::trace
