// autosched/gpu/products/product_tile.cpp -- tiles of products, and how long each would take.
#include "autosched/gpu/products/product_tile.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "autosched/gpu/products/operand_copy.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/shared_memory.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: where no finding is named, a number is a guess.
constexpr double kLeastOfPart = 256;     // terms of a part of a split sum
constexpr double kMostParts = 64;        // of a sum
constexpr int64_t kOtherRegisters = 48;  // of a thread, beside its results and their operands
// Of a thread that leaves out terms: with 128 results, or blocks of 256 threads, ptxas 13.0 spills
// (finding 0109).
constexpr int64_t kMaskRegisters = 64;
constexpr double kBlocksAtOnce = 2;  // of a multiprocessor, at least: one waits, another computes
constexpr double kOtherInstructions = 0.06;  // of the multiply-adds: loads, addresses, loops
// Cycles from one term to the next that a thread's loads of shared memory and a barrier take, where
// no other warp computes meanwhile.
constexpr double kLatency = 40;

// What was measured with tiles like the first and the fourth (kernels by hand, H100, products of
// 1024 to 4096): 0.94 to 1.06 of cuBLAS; like the second, where an operand is transposed on its way
// in: 0.93 to 0.95; with the third, convolutions. The others are for fewer results.
constexpr std::array<ProductTile, 16> kTiles{{
    {128, 128, 16, 8, 8},
    {128, 128, 16, 16, 8},
    {128, 64, 16, 8, 8},
    {64, 64, 16, 8, 8},
    {64, 128, 16, 8, 8},
    {64, 64, 16, 4, 4},
    {128, 32, 16, 8, 4},
    {32, 128, 16, 4, 8},
    {64, 32, 16, 4, 4},
    {32, 64, 16, 4, 4},
    {32, 32, 16, 4, 4},
    {16, 64, 16, 2, 4},
    {16, 32, 16, 2, 4},
    {64, 16, 16, 4, 4},
    {32, 16, 16, 2, 4},
    {16, 16, 16, 1, 4},
}};

struct Sizes {
  double batches = 1, m = 1, n = 1, k = 1, element_bytes = 4;  // of what is multiplied
  int64_t left_bytes = 4, right_bytes = 4, result_bytes = 4;   // of an element
  bool left_kept = false, right_kept = false;  // operands on their way in, in registers
  bool masked = false;                         // some terms are left out
};

// Registers of a thread.
double registers_of(const ProductTile& tile, const Sizes& sizes) {
  const auto results = static_cast<double>(tile.thread_m * tile.thread_n);
  const auto operands = static_cast<double>(tile.thread_m + tile.thread_n);
  const int64_t kept = tile.k * ((sizes.left_kept ? tile.m : 0) + (sizes.right_kept ? tile.n : 0));
  const double of_copies = static_cast<double>(kept) / static_cast<double>(tile.threads());
  const double other = static_cast<double>(kOtherRegisters + (sizes.masked ? kMaskRegisters : 0));
  return (results + operands + of_copies) * sizes.element_bytes / 4 + other;
}

// Whether the emitter's kernels have registers for it (limit_threads in jit/emit/kernel_frame.hpp).
bool has_registers(const ProductTile& tile, const Sizes& sizes, const GpuMachine& machine) {
  constexpr double kMost = 255;  // that an instruction can name
  const double registers = registers_of(tile, sizes);
  return registers <= kMost &&
         kBlocksAtOnce * registers * static_cast<double>(tile.threads()) <= machine.registers;
}

// Of a block's rows in shared memory, with the gap behind each.
int64_t rows_in_shared(int64_t rows, int64_t row, int64_t element_bytes) {
  const int64_t spans[] = {rows, row};
  return rows * shared_extents(spans, element_bytes).back() * element_bytes;
}

int64_t shared_bytes_of(const ProductTile& tile, const Sizes& sizes, const TileUse& use) {
  const int64_t operands = rows_in_shared(tile.k, tile.m, sizes.left_bytes) +
                           rows_in_shared(tile.k, tile.n, sizes.right_bytes);
  const int64_t results =
      use.keeps_results ? rows_in_shared(tile.m, tile.n, sizes.result_bytes) : 0;
  return operand_buffers(use) * operands + results;
}

// Blocks of a multiprocessor for which there is shared memory.
int64_t blocks_with_room(const ProductTile& tile, const Sizes& sizes, const TileUse& use,
                         const GpuMachine& machine) {
  constexpr int64_t kOfSystem = 1024;  // bytes of each block (CUDA's programming guide)
  const int64_t bytes = shared_bytes_of(tile, sizes, use);
  if (bytes > machine.block_shared_bytes) return 0;
  return machine.shared_bytes / (bytes + kOfSystem);
}

double blocks_along(double extent, int64_t tile) {
  return std::ceil(extent / static_cast<double>(tile));
}

// Microseconds of the kernel, and of the one that adds up parts; float64 as if it were as fast as
// float32.
double predicted(const ProductTile& tile, const Sizes& sizes, const TileUse& use,
                 const GpuMachine& machine) {
  const auto parts = static_cast<double>(tile.parts);
  const double rows = blocks_along(sizes.m, tile.m), columns = blocks_along(sizes.n, tile.n);
  const double blocks = sizes.batches * parts * rows * columns;
  const auto results = static_cast<double>(tile.thread_m * tile.thread_n);
  const auto operands = static_cast<double>(tile.thread_m + tile.thread_n);
  const auto threads = static_cast<double>(tile.threads());
  const double registers = registers_of(tile, sizes);
  const double by_registers = std::floor(machine.registers / (registers * threads));
  const auto by_memory = static_cast<double>(blocks_with_room(tile, sizes, use, machine));
  const double resident =
      std::clamp(std::min(by_registers, by_memory), 1.0, std::floor(machine.threads / threads));
  // The busiest multiprocessor.
  const double its_blocks = std::ceil(blocks / machine.multiprocessors);
  const double at_once = std::min(its_blocks, resident);
  const double warps = threads / kWarpThreads * at_once / kWarpSchedulers;  // of a scheduler
  // Loads of four, each of which keeps the memory that a block shares for two cycles.
  const double issue = results * (1 + kOtherInstructions) + operands / 4;
  const double shared = kWarpSchedulers * operands / 4 * 2;
  const double busy = std::max({issue, shared, (issue + kLatency) / std::max(warps, 0.25)});
  const double terms = std::ceil(sizes.k / parts);
  const double cycles = its_blocks * threads / kWarpThreads / kWarpSchedulers * terms * busy;
  const double compute = 1e-3 * cycles / (kClockShare * machine.ghz);
  const double read = sizes.batches * sizes.k * (rows * columns) *
                      static_cast<double>(tile.m + tile.n) * sizes.element_bytes;
  const double written =
      sizes.batches * parts * sizes.m * sizes.n * static_cast<double>(sizes.result_bytes);
  const double memory = 1e-3 * (read + written) / machine.l2_gb;
  double together = std::max(compute, memory) + machine.launch_microseconds;
  if (tile.parts > 1) {
    const double moved = 2 * parts * sizes.batches * sizes.m * sizes.n * sizes.element_bytes;
    together += machine.launch_microseconds + 1e-3 * moved / machine.l2_gb;
  }
  return together;
}

// Whether an operand lies in memory as its copy does: contiguous along m or n.
bool lies_as_copied(const LoweredGraph& graph, const ProductOperand& operand, size_t axis) {
  const std::span<const ExprId> index = graph.pool.read_index(operand.read);
  return graph.pool.is(index.back(), Op::Axis) && graph.pool.axis_number(index.back()) == axis;
}

// Whether what a copy loads waits in registers for its place in shared memory.
bool waits_in_registers(const Program& program, const Stage& stage, const ProductOperand& operand,
                        size_t axis) {
  if (!lies_as_copied(program.graph, operand, axis)) return true;
  if (!may_be_computed_by_blocks(program, operand.tensor, stage)) return false;
  const size_t producer = defining_stages(program.graph)[operand.tensor.value];
  return !program.graph.pool.is(program.graph.stages[producer].bodies.front(), Op::Read);
}

Sizes sizes_of(const Program& program, const Stage& stage, const Product& product) {
  const LoweredGraph& graph = program.graph;
  const auto extent = [&](size_t axis) { return static_cast<double>(stage.domain.extents[axis]); };
  Sizes sizes{1, extent(product.m), extent(product.n), extent(product.k), 4};
  for (const size_t axis : product.batches) sizes.batches *= extent(axis);
  for (const ProductOperand& operand : {product.left, product.right})
    sizes.element_bytes = std::max(sizes.element_bytes,
                                   static_cast<double>(size_of(graph.info(operand.tensor).dtype)));
  const auto bytes = [&](TensorId id) {
    return static_cast<int64_t>(size_of(graph.info(id).dtype));
  };
  sizes.left_bytes = bytes(product.left.tensor);
  sizes.right_bytes = bytes(product.right.tensor);
  sizes.result_bytes = bytes(stage.results.front());
  sizes.masked = !stage.domain.is_box();
  sizes.left_kept = waits_in_registers(program, stage, product.left, product.m);
  sizes.right_kept = waits_in_registers(program, stage, product.right, product.n);
  return sizes;
}

// Parts keep their precision where they are as wide as what adds them up.
bool parts_are_as_wide(const LoweredGraph& graph, const Stage& stage) {
  const DType dtype = graph.info(stage.results.front()).dtype;
  return accumulator_of(dtype) == dtype;
}

// Tiles of all rows, or columns, where these are few.
std::vector<ProductTile> tiles_of_few(const Sizes& sizes) {
  const auto m = static_cast<int64_t>(sizes.m), n = static_cast<int64_t>(sizes.n);
  std::vector<ProductTile> tiles;
  for (const int64_t others : {kLeastBesideFew, 2 * kLeastBesideFew, 4 * kLeastBesideFew}) {
    if (m < kLeastResults && n >= kLeastBesideFew) tiles.push_back({m, others, 16, m, 4});
    if (n < kLeastResults && m >= kLeastBesideFew)
      for (const int64_t rows : {1, 2, 4}) tiles.push_back({others, n, 16, rows, n});
  }
  return tiles;
}

std::vector<ProductTile> tiles_for(const Sizes& sizes) {
  const auto fewest = static_cast<double>(kFewestResults);
  if (sizes.m < fewest || sizes.n < fewest) return {};
  std::vector<ProductTile> tiles(kTiles.begin(), kTiles.end());
  const std::vector<ProductTile> few = tiles_of_few(sizes);
  tiles.insert(tiles.end(), few.begin(), few.end());
  return tiles;
}

}  // namespace

int64_t operand_buffers(const TileUse& use) {
  // Measured by hand: 2 to 4 make no difference; and where results take most of the memory, a
  // guess.
  return use.keeps_results ? 2 : 3;
}

std::vector<ProductTile> product_tiles(const Program& program, const Stage& stage,
                                       const GpuMachine& machine, const TileUse& use) {
  const LoweredGraph& graph = program.graph;
  const std::optional<Product> product = product_of(graph, stage);
  if (!product || stage.domain.extents[product->k] < kLeastProductTerms ||
      std::ranges::count(stage.domain.extents, 0) > 0)
    return {};
  const Sizes sizes = sizes_of(program, stage, *product);
  std::vector<std::pair<double, ProductTile>> timed;
  for (ProductTile tile : tiles_for(sizes)) {
    // A copy covers only the rows that there are: a tile of more rows than the product has would
    // read past it.
    if (sizes.m < static_cast<double>(tile.m) || sizes.n < static_cast<double>(tile.n)) continue;
    if (!has_registers(tile, sizes, machine)) continue;
    // More results of a thread leave fewer threads to hide what others wait for: only for operands
    // that keep registers anyway.
    if (tile.thread_m * tile.thread_n > 64 && !sizes.left_kept && !sizes.right_kept) continue;
    if (blocks_with_room(tile, sizes, use, machine) < (use.keeps_results ? 2 : 1)) continue;
    const double most = use.may_split && parts_are_as_wide(graph, stage)
                            ? std::min(kMostParts, sizes.k / kLeastOfPart)
                            : 1;
    for (tile.parts = 1; tile.parts == 1 || static_cast<double>(tile.parts) <= most;
         tile.parts *= 2) {
      if (stage.domain.extents[product->k] % tile.parts != 0) break;
      timed.emplace_back(predicted(tile, sizes, use, machine), tile);
    }
  }
  std::ranges::stable_sort(timed, {}, [](const auto& one) { return one.first; });
  std::vector<ProductTile> tiles;
  for (const auto& [time, tile] : timed) tiles.push_back(tile);
  return tiles;
}

std::optional<ProductTile> product_tile(const Program& program, const Stage& stage,
                                        const GpuMachine& machine, const TileUse& use) {
  const std::vector<ProductTile> tiles = product_tiles(program, stage, machine, use);
  return tiles.empty() ? std::nullopt : std::optional(tiles.front());
}

std::optional<ProductTile> chosen_tile(const Program& program, const Stage& stage,
                                       const GpuMachine& machine, Choices& choices,
                                       const TileUse& use) {
  constexpr size_t kOffered = 6;
  std::vector<ProductTile> tiles = product_tiles(program, stage, machine, use);
  if (tiles.empty()) return std::nullopt;
  tiles.resize(std::min(tiles.size(), kOffered));
  return tiles[choices.pick(Decision::Tile, program.graph, stage, [&] {
    std::vector<std::string> words;
    for (const ProductTile& tile : tiles) words.push_back(in_words(tile));
    return words;
  })];
}

std::string in_words(const ProductTile& tile) {
  const auto by = [](int64_t a, int64_t b) {
    return std::to_string(a) + " x " + std::to_string(b);
  };
  return by(tile.m, tile.n) + " x " + std::to_string(tile.k) + ", " +
         by(tile.thread_m, tile.thread_n) + " a thread";
}

}  // namespace adjit::sched
