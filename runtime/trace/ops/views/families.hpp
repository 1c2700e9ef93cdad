// runtime/trace/ops/views/families.hpp -- the tables of operators: other views of elements.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> view_operators();      // view_table.cpp
std::span<const Operator> joining_operators();   // joining.cpp
std::span<const Operator> padding_operators();   // padding.cpp
std::span<const Operator> triangle_operators();  // triangle.cpp

}  // namespace adjit::trace
