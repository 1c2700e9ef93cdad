// autosched/gpu/fuse_epilogues.cpp -- a block's tile of a product, in shared memory for its reader.
#include "autosched/gpu/fuse_epilogues.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "autosched/gpu/loops/pointwise_reader.hpp"
#include "autosched/gpu/loops/thread_loops.hpp"
#include "autosched/gpu/product_loops.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/shared_memory.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: a guess.
constexpr int64_t kEpilogueBuffers = 2;  // of each operand: results take most of the memory

// Whether two blocks of a multiprocessor find room for a tile of results and their operands'
// buffers.
bool has_room(const LoweredGraph& graph, const Stage& stage, const ProductTile& tile,
              const GpuMachine& machine) {
  constexpr int64_t kGap = kSharedAlignment;  // behind each row, at most
  const Product product = *product_of(graph, stage);
  const auto width = [&](TensorId id) {
    return static_cast<int64_t>(size_of(graph.info(id).dtype));
  };
  const auto rows = [&](TensorId id, int64_t count, int64_t row) {
    return count * (row * width(id) + kGap);
  };
  const int64_t buffers =
      rows(product.left.tensor, tile.k, tile.m) + rows(product.right.tensor, tile.k, tile.n);
  const int64_t bytes = rows(stage.results.front(), tile.m, tile.n) + kEpilogueBuffers * buffers;
  return bytes <= machine.block_shared_bytes && 2 * bytes <= machine.shared_bytes;
}

}  // namespace

Program fuse_epilogues(Program program, const GpuMachine& machine, Choices& choices) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    const std::optional<ProductTile> tile =
        chosen_tile(program.graph, program.graph.stages[s], machine, choices);
    const std::optional<size_t> host = tile ? pointwise_reader(program, s) : std::nullopt;
    if (!host) continue;
    const Product product = *product_of(program.graph, program.graph.stages[s]);
    if (!has_room(program.graph, program.graph.stages[s], *tile, machine)) continue;
    if (!choices.keeps(Decision::Epilogue, program.graph, program.graph.stages[s])) continue;
    for (const auto& [axis, step] : {std::pair(product.m, tile->m), std::pair(product.n, tile->n)})
      program = sched::tile(std::move(program), *host, axis, std::array<int64_t, 1>{step});
    // Loops of blocks first.
    const std::vector<Loop>& loops = nest_of(program, *host).loops;
    std::vector<size_t> order(loops.size());
    for (size_t l = 0; l < order.size(); ++l) order[l] = l;
    const auto inside = std::ranges::stable_partition(order, [&](size_t l) {
      return (loops[l].axis != product.m && loops[l].axis != product.n) || loops[l].step > 1;
    });
    const auto depth = static_cast<size_t>(inside.begin() - order.begin());
    program = with_order(std::move(program), *host, order);
    program = compute_at(std::move(program), s, *host, depth);
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

Program epilogue_loops(Program program, size_t root, const ProductTile& tile) {
  const TensorId result = program.graph.stages[root].results.front();
  const size_t product = *product_of_epilogue(program, root);
  const size_t depth = nest_of(program, root).attached.front().depth;
  const TensorId summed = program.graph.stages[product].results.front();
  schedule_product(program, summed, tile, kEpilogueBuffers);
  root = defining_stages(program.graph)[result.value];
  program = thread_loops(std::move(program), root, depth, tile.threads());
  return parallel(std::move(program), root, depth);
}

}  // namespace adjit::sched
