// jit/emit/ir/control.hpp -- branches and loops on values, for functions that may have them.
//
// They leave the builder in another block than they found it in.
#pragma once

#include <functional>

#include "jit/emit/ir/outlined.hpp"

namespace adjit::emit::elementary {

/// What one of the two emits, by a condition that is no vector; both give values of the same types.
Results either(Mask condition, const std::function<Results()>& yes,
               const std::function<Results()>& no);

/// While the condition holds of the values, the next ones; a vector goes on while any lane does.
Results repeated(const Results& first, const std::function<Mask(const Results&)>& condition,
                 const std::function<Results(const Results&)>& next);

}  // namespace adjit::emit::elementary
