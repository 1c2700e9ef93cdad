// autosched/gpu/fuse_epilogues.hpp -- products, and what is done to their results, in one kernel.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>

#include "autosched/decisions/attempts.hpp"
#include "autosched/decisions/choices.hpp"
#include "autosched/gpu/products/product_tile.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Computes each product that one stage alone reads, point by point (a bias, an activation), tile
/// by tile in that stage's kernel: in shared memory, if that is enough for it. Each is an attempt
/// of its own.
Program fuse_epilogues(Program program, const GpuMachine& machine, Choices& choices,
                       Attempts& attempts);
/// With the decisions' own answers, none of which is refused.
inline Program fuse_epilogues(Program program, const GpuMachine& machine) {
  Choices own;
  Attempts sure;
  return fuse_epilogues(std::move(program), machine, own, sure);
}
/// The product that is attached to the root of a kernel, alone; nullopt: none is.
std::optional<size_t> product_of_epilogue(const Program& program, size_t root);
/// Whether fuse_epilogues() has put such a product there: tile by tile, not row by row.
bool computes_tiles(const Program& program, size_t product, const ProductTile& tile);
/// The loops of such a kernel, before any of them is scheduled.
Program epilogue_loops(Program program, size_t root, const ProductTile& tile);

}  // namespace adjit::sched
