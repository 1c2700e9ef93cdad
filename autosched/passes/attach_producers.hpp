// autosched/passes/attach_producers.hpp -- the order in which producers are attached to a host.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Offers `attach` the stages that make what a host reads, and those that make what each one reads
/// that it takes (returns true for), nearest first: readers are attached before what they read.
/// `producers`: per tensor, the stage that makes it (defining_stages()), or SIZE_MAX. The program
/// is read anew after each.
void attach_producers(const Program& program, std::span<const size_t> producers, size_t host,
                      const std::function<bool(size_t stage)>& attach);

}  // namespace adjit::sched
