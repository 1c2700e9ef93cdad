// jit/emit/ir/outlined.hpp -- functions of the module with a branch, called from code that has
// none.
//
// A formula that is good enough for nearly all arguments, and a longer one for the others, is two
// functions: the first computes the short formula and, for vectors with a lane that it does not
// serve, gives what the second one returns. Inlined they would split their caller's basic block.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jit/emit/ir/lanes.hpp"

namespace adjit::emit::elementary {

using Arguments = std::span<const Floats>;  // all of one type
using Results = std::vector<Floats>;        // as many as `results`, of the arguments' type

struct Quick {
  Results results;
  Mask doubtful;  // lanes whose results are of no use
};

struct Outlined {
  std::string_view name;
  size_t results;
  Quick (*quick)(Arguments);
  /// Of any lanes; those that are not doubtful must get the bits that they get in `quick`, so that
  /// a result depends on nothing but its arguments. It may branch.
  Results (*exact)(Arguments);
};

/// Result k of a call at the builder's position. Calls of one value in a block, for its different
/// results, are one call.
Floats outlined_result(const Outlined& outlined, Arguments arguments, unsigned k);

/// An internal function of the module with the attributes of the one that calls it, never inlined:
/// of so many arguments of a type, and results of the same.
llvm::Function* empty_function(const llvm::Function& calling, llvm::Module& module,
                               const std::string& symbol, llvm::Type* type, size_t arguments,
                               size_t results);
/// Ends such a function.
void return_all(llvm::IRBuilder<>& builder, const Results& results);

/// Whether the mask has a lane: i1.
llvm::Value* any_lane(Mask mask);
/// `values`, or where a lane of the mask is set what `otherwise` emits, behind a branch; the
/// builder goes on in another block.
Results unless_any(Mask mask, const Results& values, const std::function<Results()>& otherwise);
/// Lane by lane.
Results mixed(Mask mask, const Results& yes, const Results& no);

}  // namespace adjit::emit::elementary
