// autosched/gpu/products/product_loops.cpp -- the loops around a block's tile, and its threads'.
#include "autosched/gpu/products/product_loops.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "autosched/gpu/products/operand_copy.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

constexpr int64_t kLanes = 4;  // of a register tile, at most: 16 bytes of float32
// Neighbouring threads of a warp take so many of the tiles along n, so that what a quarter of a
// warp loads at once lies in different banks.
constexpr int64_t kWarpAlong = 8;

size_t producer_of(const Program& program, TensorId tensor) {
  return defining_stages(program.graph)[tensor.value];
}

// Where a loop of a product's nest goes: batches and blocks, what a block does in step, threads,
// outer ones of both axes first, the terms of a thread; the tile stays.
std::vector<size_t> order_of(const Nest& nest, const Product& product, const ProductTile& tile) {
  const auto rank = [&](const Loop& loop) -> std::tuple<int, int64_t, size_t> {
    if (loop.kind == LoopKind::Thread) {
      const bool along_m = loop.axis == product.m;
      const int64_t inner = along_m ? tile.thread_m : tile.thread_n;
      return {4, loop.step == inner ? 1 : 0, along_m ? 0 : 1};
    }
    if (loop.kind != LoopKind::Serial) return {6, 0, 0};
    if (loop.axis == product.m) return {1, 0, 0};
    if (loop.axis == product.n) return {2, 0, 0};
    if (loop.axis != product.k) return {0, 0, loop.axis};
    return {loop.step >= tile.k ? 3 : 5, 0, 0};
  };
  std::vector<size_t> order(nest.loops.size());
  for (size_t l = 0; l < order.size(); ++l) order[l] = l;
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return rank(nest.loops[a]) < rank(nest.loops[b]); });
  return order;
}

// Threads along an axis: those of a warp that follow each other, and all others.
Program share_axis(Program program, size_t stage, size_t axis, int64_t threads,
                   int64_t neighbours) {
  neighbours = std::min(threads, neighbours);
  if (threads == 1) return program;
  program = sched::threads(std::move(program), stage, axis, neighbours);
  if (threads > neighbours)
    program = sched::threads(std::move(program), stage, axis, threads / neighbours);
  return program;
}

// How many terms are written out: half of a buffer (a guess), where k may end. Where a thread has
// more than 64 results, ptxas 13.0 turns them over in registers at the end of each loop over some
// terms, as many moves as a tenth of the multiply-adds, and spills some: all of a buffer, or few.
int64_t unrolled_terms(int64_t all, const ProductTile& tile) {
  constexpr int64_t kManyResults = 64;
  if (tile.thread_m * tile.thread_n <= kManyResults) return tile.k / 2;
  return all % tile.k == 0 ? tile.k : tile.k / 4;
}

Program register_tile(Program program, size_t stage, const Product& product,
                      const ProductTile& tile) {
  const auto unrolled = [&](size_t axis, int64_t factor) {
    if (factor > 1) program = unroll(std::move(program), stage, axis, factor);
  };
  const int64_t lanes = std::gcd(kLanes, tile.thread_n);
  if (lanes > 1) program = vectorize(std::move(program), stage, product.n, lanes);
  unrolled(product.n, tile.thread_n / lanes);
  unrolled(product.k, unrolled_terms(program.graph.stages[stage].domain.extents[product.k], tile));
  unrolled(product.m, tile.thread_m);
  struct Step {
    size_t axis;
    int64_t points;
  };
  for (const Step& step :
       {Step{product.n, tile.n}, Step{product.m, tile.m}, Step{product.k, tile.k}}) {
    // Few rows or columns are a thread's, all of them, and so may a buffer's terms be.
    const std::vector<Loop>& loops = nest_of(program, stage).loops;
    const bool steps_over = std::ranges::any_of(loops, [&](const Loop& loop) {
      return loop.axis == step.axis && loop.kind == LoopKind::Serial && loop.step < step.points;
    });
    if (steps_over)
      program = sched::tile(std::move(program), stage, step.axis, std::array{step.points});
  }
  const int64_t along_n = std::min(kWarpAlong, tile.n / tile.thread_n);
  program = share_axis(std::move(program), stage, product.m, tile.m / tile.thread_m,
                       kWarpThreads / along_n);
  return share_axis(std::move(program), stage, product.n, tile.n / tile.thread_n, along_n);
}

}  // namespace

size_t schedule_product(Program& program, TensorId result, const ProductTile& tile,
                        int64_t buffers) {
  auto [first, left] = copy_operand(std::move(program), result, true, tile);
  auto [staged, right] = copy_operand(std::move(first), result, false, tile);
  program = std::move(staged);
  const size_t stage = producer_of(program, result);
  const Product product = *product_of(program.graph, program.graph.stages[stage]);
  program = register_tile(std::move(program), stage, product, tile);
  const std::vector<size_t> order = order_of(nest_of(program, stage), product, tile);
  program = with_order(std::move(program), stage, order);
  const std::vector<Loop>& loops = nest_of(program, stage).loops;
  size_t depth = 0;
  while (loops[depth].axis != product.k) ++depth;
  for (const TensorId copy : {left, right}) {
    const size_t at = producer_of(program, copy);
    program = compute_at(std::move(program), at, stage, depth + 1);
  }
  for (const TensorId copy : {left, right}) {
    const size_t at = producer_of(program, copy);
    program = copy_loops(std::move(program), at, tile.threads());
    program = pipeline(std::move(program), at, buffers);
  }
  return depth;
}

Program product_loops(Program program, size_t stage, const ProductTile& tile) {
  const TensorId result = program.graph.stages[stage].results.front();
  const size_t depth = schedule_product(program, result, tile, operand_buffers({}));
  stage = producer_of(program, result);
  return parallel(std::move(program), stage, depth);
}

Program split_product(Program program, size_t stage, const ProductTile& tile) {
  if (tile.parts < 2) return program;
  const Product product = *product_of(program.graph, program.graph.stages[stage]);
  return rfactor(std::move(program), stage, product.k, tile.parts);
}

}  // namespace adjit::sched
