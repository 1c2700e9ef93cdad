// jit/emit/ir/scalar_functions.hpp -- functions of the module on one double, with branches and
// loops, called for each lane: for machines that have no C library.
#pragma once

#include <string_view>

#include "jit/emit/ir/outlined.hpp"

namespace adjit::emit::elementary {

struct ScalarFunction {
  std::string_view name;
  size_t results;
  /// Of doubles that are no vectors. It may branch, loop and read constant_table()s.
  Results (*body)(Arguments);
};

/// The function's results for each lane of float or double arguments: what it gives for floats is
/// rounded to floats. It stands in the module once.
Results in_each_lane(const ScalarFunction& function, Arguments arguments);

/// Numbers of the module that nobody writes, in memory for constants; made once for a name.
llvm::GlobalVariable* constant_table(llvm::IRBuilder<>& builder, std::string_view name,
                                     llvm::Constant* numbers);

}  // namespace adjit::emit::elementary
