// tests/autosched/program_interpreter.hpp -- runs a program's nests literally, one point at a time:
// the oracle of every move, independent of code generation.
//
// Local buffers are whole tensors, poisoned each time their region is computed again, so that a
// read outside the region gives a wrong result. Parallel loops run backwards, those
// over reduction axes excepted. Every reduction point
// must be visited exactly once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"
#include "runtime/graph/interpret/interpreter.hpp"

namespace adjit::sched {

/// The outputs; `visited`: how many points were executed in all. std::logic_error when a point is
/// visited twice or a scatter leaves its result.
std::vector<Array> interpret(const Program& program, std::span<const Array> inputs,
                             int64_t* visited = nullptr);

}  // namespace adjit::sched
