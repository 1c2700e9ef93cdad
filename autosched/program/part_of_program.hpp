// autosched/program/part_of_program.hpp -- some stages of a program as one of their own.
#pragma once

#include <span>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Stages of a program (ascending, each alone in its kernel; of kind Compute, none running on), as
/// a program with plain nests: what they read of others is an input, what others or the caller read
/// of them an output. What is decided for its stages, in their order here, can be done to those of
/// the program: a search over many changes copies a small program instead of all of it. Linear in
/// the stages.
Program part_of(const Program& program, std::span<const size_t> stages);

}  // namespace adjit::sched
