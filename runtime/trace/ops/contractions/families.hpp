// runtime/trace/ops/contractions/families.hpp -- the tables of operators: products summed over
// axes.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> contraction_operators();  // contraction.cpp

}  // namespace adjit::trace
