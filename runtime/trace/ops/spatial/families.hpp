// runtime/trace/ops/spatial/families.hpp -- the tables of operators: windows and sizes of images.
#pragma once

#include <span>

#include "runtime/trace/ops/call/operator.hpp"

namespace adjit::trace {

std::span<const Operator> convolution_operators();  // convolution.cpp
std::span<const Operator> pooling_operators();      // pooling.cpp
std::span<const Operator> resampling_operators();   // resampling.cpp

}  // namespace adjit::trace
