// runtime/trace/ops/creation/families.hpp -- the tables of operators: tensors from nothing.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> creation_operators();  // creation.cpp
std::span<const Operator> random_operators();    // random.cpp

}  // namespace adjit::trace
