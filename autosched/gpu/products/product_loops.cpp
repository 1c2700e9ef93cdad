// autosched/gpu/products/product_loops.cpp -- operands that a block stages, and the loops around
// its tile.
#include "autosched/gpu/products/product_loops.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"
#include "autosched/program/shared_memory.hpp"
#include "runtime/expr/integer.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

constexpr int64_t kLanes = 4;  // of a register tile, at most: 16 bytes of float32
// Neighbouring threads of a warp take so many of the tiles along n, so that what a quarter of a
// warp loads at once lies in different banks.
constexpr int64_t kWarpAlong = 8;
// Of an operand that is copied across: elements that follow each other where it comes from, a
// sector of float32, beside those that do where it goes.
constexpr int64_t kSectorElements = 8;

size_t producer_of(const Program& program, TensorId tensor) {
  return defining_stages(program.graph)[tensor.value];
}

// The dimension of an operand that an axis of the stage moves.
size_t dimension_of(const Program& program, size_t stage, const ProductOperand& operand,
                    size_t axis) {
  const ExprPool& pool = program.graph.pool;
  const IndexMap map =
      index_map(pool, pool.read_index(operand.read), program.graph.stages[stage].domain);
  for (size_t d = 0; d < map.forms.size(); ++d)
    if (map.forms[d]->coefficient(axis) != 0) return d;
  invariant(false, "an operand that an axis of its product does not move");
  return 0;
}

// An operand's copy: its batches, then k, then m or n with zeros up to whole tiles.
Packing packing_of(const Program& program, size_t stage, const ProductOperand& operand,
                   size_t along_k, size_t across, int64_t tile) {
  const std::vector<int64_t>& shape = program.graph.info(operand.tensor).shape;
  Packing packing;
  for (size_t d = 0; d < shape.size(); ++d)
    if (d != along_k && d != across) packing.dimensions.push_back({d, 1, 0});
  packing.dimensions.push_back({along_k, 1, 0});
  packing.dimensions.push_back({across, 1, 0});
  packing.padding_before.assign(shape.size(), 0);
  packing.padding_after.assign(shape.size(), 0);
  packing.padding_after[across] = ceil_div(shape[across], tile) * tile - shape[across];
  packing.read = read_number(program.graph, program.graph.stages[stage], operand.read);
  return packing;
}

// The element of a read, counted from its tensor's first one, at a point of the read's domain.
int64_t element_at(const LoweredGraph& graph, TensorId tensor, const IndexMap& map,
                   std::vector<int64_t> point) {
  for (const Division& division : map.domain.divisions)
    point.push_back(floor_div(evaluate(division.numerator, point), division.divisor));
  const std::vector<int64_t>& shape = graph.info(tensor).shape;
  int64_t element = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    element = element * shape[d] + evaluate(*map.forms[d], point);
  return element;
}

constexpr int64_t kNearPoints = 16;  // at which nearness is looked at

// How near what a copy reads lies to what it reads at the next point along an axis, at some points
// all over it: elements of a sector that both have. Fused axes are divided, so that some lie apart.
int64_t nearness_along(const LoweredGraph& graph, const Stage& copy, size_t axis) {
  // Fractions that extents of powers of two, and of images, do not divide: 3/115, 10/115, ...
  constexpr int64_t kApart = 7, kParts = 115;
  const std::vector<ExprId> reads = reads_of(graph, copy);
  if (reads.size() != 1) return 0;
  const IndexMap map = index_map(graph.pool, graph.pool.read_index(reads.front()), copy.domain);
  if (!map.is_affine()) return 0;
  int64_t nearness = 0;
  for (int64_t k = 0; k < kNearPoints; ++k) {
    std::vector<int64_t> here;
    for (const int64_t extent : copy.domain.extents)
      here.push_back(extent / kParts * (kApart * k + 3) +
                     extent % kParts * (kApart * k + 3) / kParts);
    std::vector<int64_t> next = here;
    if (++next[axis] >= copy.domain.extents[axis]) continue;
    const TensorId tensor = graph.pool.read_tensor(reads.front());
    const int64_t apart =
        std::abs(element_at(graph, tensor, map, next) - element_at(graph, tensor, map, here));
    nearness += std::max<int64_t>(0, kSectorElements - apart);
  }
  return nearness;
}

// Bytes of sectors that are read for each byte of what a stage only brings into another shape.
double sectors_read(const LoweredGraph& graph, const Stage& shaping) {
  int64_t nearest = 0;
  for (size_t axis = 0; axis < shaping.domain.rank(); ++axis)
    nearest = std::max(nearest, nearness_along(graph, shaping, axis));
  return static_cast<double>(kSectorElements) -
         static_cast<double>(nearest) / static_cast<double>(kNearPoints);
}

// Whether a stage only brings a tensor into another shape, for this reader alone: copies do that as
// well. What is computed is not copied asynchronously, and would be once for each block.
bool is_shaped_for(const Program& program, TensorId tensor, size_t reader) {
  const size_t producer = producer_of(program, tensor);
  if (producer == SIZE_MAX) return false;
  const Stage& stage = program.graph.stages[producer];
  const std::vector<TensorId>& outputs = program.graph.outputs;
  const std::vector<size_t>& readers = program.readers[tensor.value];
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None &&
         stage.results.size() == 1 && program.graph.pool.is(stage.bodies.front(), Op::Read) &&
         std::ranges::find(outputs, tensor) == outputs.end() &&
         readers == std::vector<size_t>{reader};
}

// Whether a kernel of its own takes longer to bring an operand into its shape than all blocks that
// read it take to do so, each for itself. Small operands that lie apart are read by many: the
// filters of a convolution, in the order that its adjoint has them.
bool is_best_shaped_by_blocks(const Program& program, size_t stage, const ProductOperand& operand,
                              bool left, const ProductTile& tile) {
  const auto* machine = std::get_if<GpuMachine>(&program.target);
  if (machine == nullptr) return true;
  const LoweredGraph& graph = program.graph;
  const Product product = *product_of(graph, graph.stages[stage]);
  const auto extent = [&](size_t axis) { return graph.stages[stage].domain.extents[axis]; };
  const size_t other = left ? product.n : product.m;
  double elements = 1,
         blocks = static_cast<double>(ceil_div(extent(other), left ? tile.n : tile.m));
  for (const int64_t e : graph.info(operand.tensor).shape) elements *= static_cast<double>(e);
  double all = blocks * static_cast<double>(extent(product.k)) *
               static_cast<double>(extent(left ? product.m : product.n));
  for (const size_t batch : product.batches) all *= static_cast<double>(extent(batch));
  const auto bytes = static_cast<double>(size_of(graph.info(operand.tensor).dtype));
  const double apart = sectors_read(graph, graph.stages[producer_of(program, operand.tensor)]);
  const double by_blocks = 1e-3 * all * bytes * apart / machine->l2_gb;
  const double by_kernel =
      machine->launch_microseconds +
      1e-3 * bytes * (elements * (apart + 1) / machine->memory_gb + all / machine->l2_gb);
  return by_blocks <= by_kernel;
}

// What a copy that stage_operand() has made is a copy of.
TensorId tensor_of_copy(const Program& program, TensorId copy) {
  const size_t producer = producer_of(program, copy);
  if (producer == SIZE_MAX) return {};
  const std::vector<TensorId> read = tensors_read(program.graph, program.graph.stages[producer]);
  return read.size() == 1 ? read.front() : TensorId{};
}

struct Staged {
  Program program;
  TensorId copy;
};

// The stage reads a copy of the operand, which is computed from what the operand is made of.
Staged stage_operand(Program program, TensorId result, bool left, const ProductTile& tiles) {
  const int64_t tile = left ? tiles.m : tiles.n;
  size_t stage = producer_of(program, result);
  const Product product = *product_of(program.graph, program.graph.stages[stage]);
  const ProductOperand& operand = left ? product.left : product.right;
  const size_t along_k = dimension_of(program, stage, operand, product.k);
  const size_t across = dimension_of(program, stage, operand, left ? product.m : product.n);
  Packing packing = packing_of(program, stage, operand, along_k, across, tile);
  // Zeros that nobody reads: else it would be the copy of the other operand, in other loops.
  if (!left && tensor_of_copy(program, product.left.tensor) == operand.tensor)
    packing.padding_after[across] += tile;
  const TensorId tensor = operand.tensor;
  const bool shapes = is_shaped_for(program, tensor, stage) &&
                      is_best_shaped_by_blocks(program, stage, operand, left, tiles);
  program = pack(std::move(program), stage, tensor, packing);
  stage = producer_of(program, result);
  const Product now = *product_of(program.graph, program.graph.stages[stage]);
  const TensorId copy = (left ? now.left : now.right).tensor;
  if (shapes) {
    const std::array<size_t, 1> made{producer_of(program, tensor)};
    program = inline_stages(std::move(program), made);
  }
  return {std::move(program), copy};
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

// Threads of a copy, from the inside.
class CopyThreads {
 public:
  CopyThreads(Program& program, size_t copy, int64_t threads)
      : program_(program), copy_(copy), left_(threads) {}

  // So many along an axis, or as many as its serial loop has trips and as are left.
  void along(size_t axis, int64_t wanted) {
    int64_t trips = 1;
    for (const Loop& loop : nest_of(program_, copy_).loops)
      if (loop.axis == axis && loop.kind == LoopKind::Serial) trips = loop.trips;
    wanted = std::min({wanted, left_, trips});
    if (wanted < 2) return;
    program_ = threads(std::move(program_), copy_, axis, wanted);
    left_ /= wanted;
    for (const Loop& loop : nest_of(program_, copy_).loops)
      if (loop.axis == axis && loop.kind == LoopKind::Thread &&
          std::ranges::find(variables_, loop.variable) == variables_.end())
        variables_.push_back(loop.variable);
  }
  // Serial loops go outside.
  void order() {
    const Nest& nest = nest_of(program_, copy_);
    const auto rank = [&](size_t l) -> std::ptrdiff_t {
      const auto found = std::ranges::find(variables_, nest.loops[l].variable);
      if (nest.loops[l].kind == LoopKind::Serial) return -std::ssize(variables_) - 1;
      return found == variables_.end() ? 1 : -(found - variables_.begin());
    };
    std::vector<size_t> order(nest.loops.size());
    for (size_t l = 0; l < order.size(); ++l) order[l] = l;
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return rank(a) < rank(b); });
    program_ = with_order(std::move(program_), copy_, order);
  }

 private:
  Program& program_;
  const size_t copy_;
  int64_t left_;
  std::vector<uint32_t> variables_;  // of its loops, innermost first
};

// How many threads of a warp store in the same bank at once, at most, where `along` of them follow
// each other down a copy, `lanes` rows each, and the others along its rows.
int64_t stores_of_a_bank(int64_t along, int64_t lanes, int64_t row_bytes, int64_t element_bytes) {
  constexpr int64_t kBankBytes = 4, kBanks = 32;
  const int64_t at_once = kWarpThreads * kBankBytes / std::max(element_bytes, kBankBytes);
  std::array<std::vector<int64_t>, kBanks> words;
  for (int64_t thread = 0; thread < at_once; ++thread) {
    const int64_t byte = thread % along * lanes * row_bytes + thread / along * element_bytes;
    for (int64_t word = byte / kBankBytes; word * kBankBytes < byte + element_bytes; ++word) {
      std::vector<int64_t>& of_bank = words[static_cast<size_t>(word % kBanks)];
      if (std::ranges::find(of_bank, word) == of_bank.end()) of_bank.push_back(word);
    }
  }
  size_t most = 0;
  for (const std::vector<int64_t>& of_bank : words) most = std::max(most, of_bank.size());
  return static_cast<int64_t>(most);
}

// Threads of a warp that follow each other down a copy which is loaded in vectors of so many rows:
// as few as load whole sectors, more where that brings stores into other banks.
int64_t threads_down(const Program& program, size_t copy, int64_t lanes) {
  const Stage& stage = program.graph.stages[copy];
  const auto bytes = static_cast<int64_t>(size_of(program.graph.info(stage.results.front()).dtype));
  const std::span<const int64_t> spans =
      std::span(nest_of(program, copy).spans).first(stage.domain.output_rank);
  const int64_t row = shared_extents(spans, bytes).back() * bytes;
  const int64_t sector = std::max<int64_t>(1, kSectorBytes / (lanes * bytes));
  int64_t best = sector;
  for (const int64_t along : {2 * sector, 4 * sector})
    if (stores_of_a_bank(along, lanes, row, bytes) < stores_of_a_bank(best, lanes, row, bytes))
      best = along;
  return best;
}

// Threads that follow each other read what does; where that is across the copy, vectors that they
// store apart, or else sectors of it.
Program copy_loops(Program program, size_t copy, int64_t threads) {
  const Stage& stage = program.graph.stages[copy];
  const size_t across = stage.domain.rank() - 1, along_k = across - 1;
  const bool is_across =
      nearness_along(program.graph, stage, along_k) > nearness_along(program.graph, stage, across);
  const std::vector<int64_t> spans = nest_of(program, copy).spans;
  const size_t first = is_across ? along_k : across;
  const int64_t lanes = is_across
                            ? lanes_loaded_along(program.graph, stage, along_k, spans[along_k])
                            : lanes_along(program.graph, stage, across, spans[across]);
  const int64_t down = lanes > 1 ? threads_down(program, copy, lanes) : kSectorElements;
  if (lanes > 1) program = vectorize(std::move(program), copy, first, lanes);
  CopyThreads share(program, copy, threads);
  if (is_across) {
    share.along(along_k, down);
    share.along(across, kWarpThreads / down);
  }
  share.along(first, threads);
  share.along(is_across ? across : along_k, threads);
  share.order();
  return program;
}

}  // namespace

size_t schedule_product(Program& program, TensorId result, const ProductTile& tile,
                        int64_t buffers) {
  auto [first, left] = stage_operand(std::move(program), result, true, tile);
  auto [staged, right] = stage_operand(std::move(first), result, false, tile);
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
