// runtime/trace/ops/indexing/families.hpp -- the tables of operators: elements by index.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> indexing_operators();   // indexing.cpp
std::span<const Operator> gathering_operators();  // gathering.cpp

}  // namespace adjit::trace
