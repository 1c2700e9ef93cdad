// runtime/trace/ops/elementwise/families.hpp -- the tables of operators: functions of elements.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> unary_operators();       // unary.cpp
std::span<const Operator> binary_operators();      // binary.cpp
std::span<const Operator> selection_operators();   // selection.cpp
std::span<const Operator> activation_operators();  // activation.cpp

}  // namespace adjit::trace
