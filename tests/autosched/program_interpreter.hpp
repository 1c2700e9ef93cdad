// tests/autosched/program_interpreter.hpp -- runs a program's nests literally, one point at a time:
// the oracle of every move, independent of code generation.
//
// Local buffers are whole tensors, poisoned each time their region is computed again, so that a
// read outside the region gives a wrong result. Parallel loops run backwards, those
// over reduction axes excepted. Every reduction point must be visited exactly once.
//
// What a block of threads runs goes by phases: attached nests of the block, each to its end between
// two barriers, then every thread's part of the rest, in an order that `seed` gives. No thread may
// write what another one writes or reads in the same phase, nor read what another one has for
// itself: that is a race (thread_memory.hpp). Threads of a reduction have accumulators of their
// own, which are combined at the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"
#include "runtime/graph/interpret/interpreter.hpp"

namespace adjit::sched {

/// The outputs; `visited`: how many points were executed in all. std::logic_error when a point is
/// visited twice, a scatter leaves its result, or two threads race.
std::vector<Array> interpret(const Program& program, std::span<const Array> inputs,
                             int64_t* visited = nullptr, uint32_t seed = 1);

}  // namespace adjit::sched
