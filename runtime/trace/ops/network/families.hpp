// runtime/trace/ops/network/families.hpp -- the tables of operators: layers and losses.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> loss_operators();            // loss.cpp
std::span<const Operator> classification_operators();  // classification.cpp
std::span<const Operator> network_operators();         // network.cpp

}  // namespace adjit::trace
