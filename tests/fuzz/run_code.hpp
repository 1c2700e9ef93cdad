// tests/fuzz/run_code.hpp -- a computation compiled, and run on arrays as a caller may hold them.
#pragma once

#include <string>
#include <vector>

#include "jit/engine/engine.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/fuzz/counts.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

/// Raises ErrorCode::Internal where moves refused what a default schedule wanted (fallbacks.hpp).
void refuse_fallbacks(const std::vector<std::string>& fallbacks);

/// The outputs for these inputs, whose layouts are drawn and become the request's. The default
/// schedule must go without fallbacks.
std::vector<Array> run_code(Engine& engine, Request& request, const std::vector<Array>& inputs,
                            Random& random, FuzzCounts& counts);

}  // namespace adjit::testing
