// autosched/gpu/products/operand_copy.cpp -- what a block brings into shared memory of an operand.
#include "autosched/gpu/products/operand_copy.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/gpu/products/nearness.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"
#include "autosched/program/shared_memory.hpp"
#include "runtime/expr/integer.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// The stage that computes an operand, or a product; SIZE_MAX: the caller does.
size_t operand_stage(const Program& program, TensorId tensor) {
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

// Microseconds that all blocks take to compute an operand, each what it copies, and that a kernel
// of its own takes, from which they copy it then.
struct Times {
  double by_blocks = 0, by_kernel = 0;
};
Times times_of(const Program& program, size_t stage, const ProductOperand& operand, bool left,
               const ProductTile& tile, const GpuMachine& machine) {
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
  const Stage& producer = graph.stages[operand_stage(program, operand.tensor)];
  const double read = sector_bytes_read(graph, producer);
  // What only moves data is limited by memory: its conditions and addresses are not counted.
  const double work =
      graph.pool.is(producer.bodies.front(), Op::Read)
          ? 0
          : WorkMeter(graph.pool)(producer.bodies).cost / operations_of_microsecond(machine);
  return {all * (1e-3 * read / machine.l2_gb + work),
          machine.launch_microseconds +
              1e-3 * (elements * (read + bytes) / machine.memory_gb + all * bytes / machine.l2_gb)};
}

// Whether the copy is made of what the operand is computed of. Small operands that lie apart are
// read by many blocks: the filters of a convolution, in the order that its adjoint has them.
bool is_computed_by_blocks(const Program& program, size_t stage, const ProductOperand& operand,
                           bool left, const ProductTile& tile) {
  if (!may_be_computed_by_blocks(program, operand.tensor, program.graph.stages[stage]))
    return false;
  const auto* machine = std::get_if<GpuMachine>(&program.target);
  if (machine == nullptr) return true;
  const Times times = times_of(program, stage, operand, left, tile, *machine);
  return times.by_blocks <= times.by_kernel;
}

// What a copy that copy_operand() has made is a copy of.
TensorId tensor_of_copy(const Program& program, TensorId copy) {
  const size_t producer = operand_stage(program, copy);
  if (producer == SIZE_MAX) return {};
  const std::vector<TensorId> read = tensors_read(program.graph, program.graph.stages[producer]);
  return read.size() == 1 ? read.front() : TensorId{};
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

}  // namespace

bool may_be_computed_by_blocks(const Program& program, TensorId tensor, const Stage& reader) {
  const size_t producer = operand_stage(program, tensor);
  if (producer == SIZE_MAX) return false;
  const LoweredGraph& graph = program.graph;
  const Stage& stage = graph.stages[producer];
  const std::vector<size_t>& readers = program.readers[tensor.value];
  const auto reads_it = [&](ExprId read) { return graph.pool.read_tensor(read) == tensor; };
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None &&
         stage.results.size() == 1 && stage.domain.is_box() && is_plain_kernel(program, producer) &&
         (graph.pool.is(stage.bodies.front(), Op::Read) || !reads_by_data(graph, stage)) &&
         std::ranges::find(graph.outputs, tensor) == graph.outputs.end() && readers.size() == 1 &&
         &graph.stages[readers.front()] == &reader &&
         std::ranges::count_if(reads_of(graph, reader), reads_it) == 1;
}

OperandCopy copy_operand(Program program, TensorId result, bool left, const ProductTile& tiles) {
  const int64_t tile = left ? tiles.m : tiles.n;
  size_t stage = operand_stage(program, result);
  const Product product = *product_of(program.graph, program.graph.stages[stage]);
  const ProductOperand& operand = left ? product.left : product.right;
  const size_t along_k = dimension_of(program, stage, operand, product.k);
  const size_t across = dimension_of(program, stage, operand, left ? product.m : product.n);
  Packing packing = packing_of(program, stage, operand, along_k, across, tile);
  // Zeros that nobody reads: else it would be the copy of the other operand, in other loops.
  if (!left && tensor_of_copy(program, product.left.tensor) == operand.tensor)
    packing.padding_after[across] += tile;
  const TensorId tensor = operand.tensor;
  const bool computes = is_computed_by_blocks(program, stage, operand, left, tiles);
  program = pack(std::move(program), stage, tensor, packing);
  stage = operand_stage(program, result);
  const Product now = *product_of(program.graph, program.graph.stages[stage]);
  const TensorId copy = (left ? now.left : now.right).tensor;
  if (computes) {
    const std::array<size_t, 1> made{operand_stage(program, tensor)};
    program = inline_stages(std::move(program), made);
  }
  return {std::move(program), copy};
}

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

}  // namespace adjit::sched
