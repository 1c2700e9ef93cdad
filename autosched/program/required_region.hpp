// autosched/program/required_region.hpp -- which part of a tensor one iteration of a nest's outer
// loops reads.
//
// Example: C = A B tiled by i/12, j/32 around k; one iteration of the loops [i/12, j/32] reads of B
// the region with origin [0, v1] and spans [K, 32], where v1 is the variable of j/32.
#pragma once

#include <span>
#include <vector>

#include "autosched/program/nests.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

struct Region {
  std::vector<Affine> base;    // per dimension, over the variables of the enclosing loops
  std::vector<int64_t> spans;  // per dimension, at most the extent
  bool operator==(const Region&) const = default;
};

/// The region of the results of `producer` (a stage) that is read inside the host's loops [0,
/// depth): by the host's body and by nests attached to it at `depth` or deeper. Where the origins
/// of two reads differ in more than a constant, and for indices with // or % or data in them, a
/// dimension is taken whole (base 0). Nothing read: spans 0.
Region read_region(const Program& program, const NestPath& host, size_t depth, size_t producer);
/// The same of any tensor, an input for example.
Region read_region(const Program& program, const NestPath& host, size_t depth, TensorId tensor);
/// The region of a stage's results that is read there, and that the host would read at `indices`,
/// a form over the host's axes for each dimension.
Region region_at(const Program& program, const NestPath& host, size_t depth, size_t stage,
                 std::span<const Affine> indices);

/// The reads in the bodies (and targets) of a stage.
std::vector<ExprId> reads_of(const Graph& graph, const Stage& stage);

/// One serial loop for each axis of which the region has more than one point, numbered from
/// variable_count.
Nest placed_nest(const LoweredGraph& graph, size_t stage, const Region& region,
                 uint32_t& variable_count);
/// The region of the output axes at which a nest is placed.
Region placed_region(const Program& program, const Nest& nest);

/// For every nest attached in a kernel, from hosts to what is attached to them: whether it covers
/// what is read.
bool regions_cover_reads(const Program& program, size_t kernel, std::string* which = nullptr);

/// Whether every local tensor is read only by the host that its nest is attached to, and by nests
/// attached there at the same depth or deeper.
bool locals_stay_inside(const Program& program, std::string* which = nullptr);

/// How many tasks of a GPU's kernel go through the same iteration of its root's loops [0, depth) at
/// once, and so through what is attached there; 1: each has its own, or they run in turn. 1 for
/// processors: their schedules have tasks that store the same values of a channel.
int64_t tasks_sharing(const Program& program, const Nest& root, size_t depth);

}  // namespace adjit::sched
