// autosched/gpu/fuse_epilogues.cpp -- a block's tile of a product, in shared memory for its reader.
#include "autosched/gpu/fuse_epilogues.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include "autosched/gpu/loops/pointwise_reader.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/products/product_loops.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

constexpr TileUse kKept{.keeps_results = true};

// Whether the reader has a loop outside a tile, in which the product can be computed: over batches,
// or over tiles, of which there may be one.
bool has_loop_outside(const Program& program, size_t stage, size_t host, const ProductTile& tile) {
  const Product product = *product_of(program.graph, program.graph.stages[stage]);
  return std::ranges::any_of(nest_of(program, host).loops, [&](const Loop& loop) {
    return loop.axis == product.m   ? loop.trips > tile.m
           : loop.axis == product.n ? loop.trips > tile.n
                                    : true;
  });
}

// The product is computed in its reader's loops over tiles.
Program fused(Program program, size_t stage, size_t host, const ProductTile& tile) {
  const Product product = *product_of(program.graph, program.graph.stages[stage]);
  // Few rows or columns are all of a tile.
  for (const auto& [axis, step] : {std::pair(product.m, tile.m), std::pair(product.n, tile.n)})
    if (step < program.graph.stages[host].domain.extents[axis])
      program = sched::tile(std::move(program), host, axis, std::array<int64_t, 1>{step});
  // Loops of blocks first.
  const std::vector<Loop>& loops = nest_of(program, host).loops;
  std::vector<size_t> order(loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  const auto inside = std::ranges::stable_partition(order, [&](size_t l) {
    return (loops[l].axis != product.m && loops[l].axis != product.n) || loops[l].step > 1;
  });
  const auto depth = static_cast<size_t>(inside.begin() - order.begin());
  program = with_order(std::move(program), host, order);
  return compute_at(std::move(program), stage, host, depth);
}

}  // namespace

Program fuse_epilogues(Program program, const GpuMachine& machine, Choices& choices,
                       Attempts& attempts) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    const Stage& stage = program.graph.stages[s];
    const std::optional<ProductTile> tile = chosen_tile(program, stage, machine, choices, kKept);
    const std::optional<size_t> host = tile ? pointwise_reader(program, s) : std::nullopt;
    if (!host || !has_loop_outside(program, s, *host, *tile)) continue;
    if (!choices.keeps(Decision::Epilogue, program.graph, stage)) continue;
    attempts(program, "epilogue of '" + stage_name(program.graph, stage) + "'",
             [&](Program& p) { p = fused(std::move(p), s, *host, *tile); });
  }
  return program;
}

std::optional<size_t> product_of_epilogue(const Program& program, size_t root) {
  const std::vector<Nest::Attached>& attached = nest_of(program, root).attached;
  if (attached.size() != 1) return std::nullopt;
  const size_t stage = attached.front().nest.stage;
  if (!product_of(program.graph, program.graph.stages[stage])) return std::nullopt;
  return stage;
}

bool computes_tiles(const Program& program, size_t product, const ProductTile& tile) {
  const Product axes = *product_of(program.graph, program.graph.stages[product]);
  const std::vector<int64_t>& spans = nest_of(program, product).spans;
  return spans[axes.m] == tile.m && spans[axes.n] == tile.n;
}

Program epilogue_loops(Program program, size_t root, const ProductTile& tile) {
  const TensorId result = program.graph.stages[root].results.front();
  const size_t product = *product_of_epilogue(program, root);
  const size_t depth = nest_of(program, root).attached.front().depth;
  const TensorId summed = program.graph.stages[product].results.front();
  schedule_product(program, summed, tile, operand_buffers(kKept));
  root = defining_stages(program.graph)[result.value];
  program = thread_loops(std::move(program), root, depth, tile.threads());
  return parallel(std::move(program), root, depth);
}

}  // namespace adjit::sched
