// jit/engine/inspect.hpp -- what a request would be compiled to, for people and for tuners.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "jit/engine/compiler.hpp"
#include "jit/engine/request.hpp"

namespace adjit::engine {

/// What the parts of the schedule that is compiled are predicted to cost, what was refused of the
/// one that was wanted, and what the best alternatives to the default schedule would, where that is
/// compiled and memory is not limited (autosched/search/explain.hpp).
std::string explain(const Compiler& compiler, const Request& request);

/// A schedule worth measuring.
struct Proposal {
  std::string schedule_json, changes;
  double predicted = 0;  // microseconds
};
/// What compiling takes first, then the default schedule where that is another, then those that are
/// predicted to be the fastest, then random ones drawn from `seed`; at most `count`, all different.
std::vector<Proposal> proposals(const Compiler& compiler, const Request& request, size_t count,
                                uint64_t seed);

/// Of a program's kernels for the request's layouts, in order.
std::string llvm_text(const Compiler& compiler, const Request& request, const Program& program);
std::string assembly_text(const Compiler& compiler, const Request& request, const Program& program);
/// Of the program that is compiled for the request.
std::string llvm_text(const Compiler& compiler, const Request& request);
std::string assembly_text(const Compiler& compiler, const Request& request);

}  // namespace adjit::engine
