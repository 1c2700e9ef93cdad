// autosched/gpu/loops/pointwise_reader.hpp -- who alone reads what a stage computes, point by
// point.
#pragma once

#include <cstddef>
#include <optional>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Whether a stage without a reduction computes each of its results of one element of a tensor, at
/// the same place, and of all of them.
bool reads_point_by_point(const LoweredGraph& graph, const Stage& stage, TensorId tensor);

/// The stage that alone reads the first result of a stage that is a kernel by itself, at its own
/// points, all of them, and without a reduction: it may compute them in its own loops. nullopt:
/// there is none, it is no kernel by itself, or the caller wants the result, too.
std::optional<size_t> pointwise_reader(const Program& program, size_t stage);

}  // namespace adjit::sched
