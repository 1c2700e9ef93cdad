// autosched/gpu/columns/companions.hpp -- stages that go through what a reduction goes through.
//
// Example: dx(i, j) = dy(i, j) * w(j) is a companion of dw(j) = sum over r of dy(r, j) * x(r, j):
// at the indices r, j it reads the element of dy that the sum reads.
#pragma once

#include <optional>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// At which indices, forms over the axes of `like`, `stage` reads an element of a tensor of at
/// least so many elements where `like` does. nullopt: at none that say where along each of its
/// axes.
std::optional<std::vector<Affine>> indices_like(const LoweredGraph& graph, const Stage& stage,
                                                const Stage& like, double elements);

/// Whether a contraction's only reader, point by point, is this stage: it may compute it tile by
/// tile (fuse_epilogues.hpp). `producers`: defining_stages.
bool is_epilogue(const Program& program, const std::vector<size_t>& producers, size_t stage);

/// Pointwise stages of as many points as a reduction, ascending, that are kernels by themselves, do
/// not need it, and read a tensor of as many elements where it does (indices_like), or that it
/// reads. Epilogues stay where they are.
std::vector<size_t> companions_of(const Program& program, size_t reduction);

}  // namespace adjit::sched
