// autosched/gpu/kernel_loops.cpp -- which loops the kernels of a GPU have.
#include "autosched/gpu/kernel_loops.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <utility>

#include "autosched/gpu/cost/cost.hpp"
#include "autosched/gpu/fuse_epilogues.hpp"
#include "autosched/gpu/loops/block_loops.hpp"
#include "autosched/gpu/loops/flat_loops.hpp"
#include "autosched/gpu/loops/pointwise_reader.hpp"
#include "autosched/gpu/loops/register_tile.hpp"
#include "autosched/gpu/loops/running_loops.hpp"
#include "autosched/gpu/products/product.hpp"
#include "autosched/gpu/products/product_loops.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/part_of_program.hpp"
#include "autosched/program/segments.hpp"
#include "autosched/program/shared_memory.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

bool fits_in_blocks(const Program& program, size_t root, const GpuMachine& machine) {
  const Kernel& kernel = program.kernels[find_nest(program, root)->kernel];
  return shared_bytes(program, kernel) <= machine.block_shared_bytes;
}

size_t kernel_of(const Program& program, size_t root) { return find_nest(program, root)->kernel; }

// Blocks of twice as many threads, where these are predicted to be clearly faster: fewer run at
// once, so that L2 has what each goes through several times.
Program with_wide_blocks(const Program& program, Program made, size_t root,
                         const GpuMachine& machine, bool from_memory) {
  constexpr double kClearly = 0.9;  // a guess
  const int64_t threads = 2 * block_threads(made.kernels[kernel_of(made, root)]);
  if (threads != 2 * kMostThreads || threads > machine.block_threads ||
      nest_of(program, root).attached.empty())
    return made;
  const auto microseconds = [&](const Program& p) {
    return predict_kernel(p, kernel_of(p, root), machine, from_memory).microseconds;
  };
  Program wide = block_loops(program, root, machine, threads);
  const bool faster =
      fits_in_blocks(wide, root, machine) && microseconds(wide) < kClearly * microseconds(made);
  return faster ? wide : made;
}

// Fewer threads of a block, down to a warp, than `made` of `program` has.
Program with_chosen_threads(const Program& program, Program made, size_t root,
                            const GpuMachine& machine, Choices& choices) {
  const int64_t threads = block_threads(made.kernels[kernel_of(made, root)]);
  std::vector<int64_t> offered{threads};
  while (offered.size() < 3 && offered.back() / 2 >= kWarpThreads)
    offered.push_back(offered.back() / 2);
  const size_t taken =
      choices.pick(Decision::BlockThreads, program.graph, program.graph.stages[root], [&] {
        std::vector<std::string> words;
        for (const int64_t count : offered) words.push_back(std::to_string(count) + " threads");
        return words;
      });
  return taken == 0 ? made : block_loops(program, root, machine, offered[taken]);
}

// Whether a stage may be looked at as a program of its own, and have tiles: loops over segments are
// gone through whole.
bool is_plain(const Program& program, size_t stage) {
  const Stage& s = program.graph.stages[stage];
  return s.kind == StageKind::Compute && !running_of(program.graph, s) &&
         !segments_of(program.graph.pool, s) && is_alone(program, stage);
}

}  // namespace

KernelLoops::KernelLoops(const Program& program, const GpuMachine& machine, Choices& choices)
    : machine_(machine),
      choices_(choices),
      from_memory_(leaves_l2(program, machine)),
      sums_(program.graph.tensors.size(), false) {
  for (const Stage& stage : program.graph.stages)
    if (stage.domain.reduction_rank() > 0 && stage.results.size() == 1)
      sums_[stage.results.front().value] = true;
}

std::optional<Program> KernelLoops::product_tiles(const Program& program, size_t root) {
  const bool alone = nest_of(program, root).attached.empty();
  const std::optional<size_t> product = alone ? root : product_of_epilogue(program, root);
  if (!product) return std::nullopt;
  const TileUse use{.keeps_results = !alone};
  const Stage& stage = program.graph.stages[*product];
  const std::optional<ProductTile> usual = product_tile(program, stage, machine_, use);
  if (!usual || (!alone && !computes_tiles(program, *product, *usual))) return std::nullopt;
  const std::optional<ProductTile> tile = chosen_tile(program, stage, machine_, choices_, use);
  if (!tile || (!alone && !computes_tiles(program, *product, *tile))) return std::nullopt;
  const TensorId result = program.graph.stages[root].results.front();
  Program made = alone ? product_loops(program, root, *tile) : epilogue_loops(program, root, *tile);
  const size_t now = defining_stages(made.graph)[result.value];
  return fits_in_blocks(made, now, machine_) ? std::optional(std::move(made)) : std::nullopt;
}

// A kernel's tasks are blocks' where threads have something to share and there is memory for it,
// else each is a thread's.
Program KernelLoops::usual_loops(Program program, size_t root, Choices& choices) {
  const Stage& stage = program.graph.stages[root];
  const bool alone = nest_of(program, root).attached.empty();
  if (const auto threads = running_threads_of(program.graph, stage); threads && alone)
    return running_loops(std::move(program), root, *threads);
  const bool shares =
      stage.kind == StageKind::Compute &&
      (!alone || block_share(program.graph, stage, machine_).kind != BlockShare::Kind::None);
  for (int64_t most = kMostThreads; shares && most >= kWarpThreads; most /= 2)
    if (Program made = block_loops(program, root, machine_, most);
        fits_in_blocks(made, root, machine_)) {
      made = with_wide_blocks(program, std::move(made), root, machine_, from_memory_);
      return with_chosen_threads(program, std::move(made), root, machine_, choices);
    }
  return flat_loops(std::move(program), root, machine_, choices);
}

// Of a kernel to which nothing is attached.
Program KernelLoops::loops_alone(Program program, size_t root, Choices& choices) {
  if (!is_plain(program, root)) return usual_loops(std::move(program), root, choices);
  const Program part = part_of(program, std::array{root});
  Choices unasked;
  const std::optional<TileShape> shape =
      register_tile(part, usual_loops(part, 0, unasked), machine_, from_memory_);
  const Stage& stage = program.graph.stages[root];
  // A product's tile has been asked for.
  const auto wanted = [&] {
    return product_tile(program, stage, machine_) ||
           choices.pick(Decision::Tile, program.graph, stage, [] {
             return std::vector<std::string>{"several results of a thread",
                                             "the results of an access"};
           }) == 0;
  };
  if (shape && wanted()) return register_tile_loops(std::move(program), root, *shape);
  return usual_loops(std::move(program), root, choices);
}

// The reduction that a kernel alone reads, point by point, if it has one.
std::optional<size_t> KernelLoops::sum_for(const Program& program, size_t root) const {
  if (!is_plain(program, root)) return std::nullopt;
  const std::vector<Stage>& stages = program.graph.stages;
  for (const TensorId id : tensors_read(program.graph, stages[root])) {
    if (id.value >= sums_.size() || !sums_[id.value] || program.readers[id.value].size() != 1)
      continue;
    for (size_t s = root; s-- > 0;) {
      if (stages[s].results.front() != id) continue;
      if (is_plain(program, s) && has_few_terms(stages[s]) && pointwise_reader(program, s) == root)
        return s;
      break;
    }
  }
  return std::nullopt;
}

double KernelLoops::microseconds_alone(const Program& program, size_t stage) {
  Choices unasked;
  const Program part = loops_alone(part_of(program, std::array{stage}), 0, unasked);
  return predict_kernel(part, 0, machine_, from_memory_).microseconds;
}

Program KernelLoops::operator()(Program program, size_t root) {
  if (is_block_kernel(program.kernels[find_nest(program, root)->kernel])) return program;
  if (!nest_of(program, root).attached.empty())
    return usual_loops(std::move(program), root, choices_);
  const std::optional<size_t> sum = sum_for(program, root);
  if (sum && !product_tile(program, program.graph.stages[*sum], machine_)) {
    const double apart = microseconds_alone(program, *sum) + microseconds_alone(program, root);
    const std::optional<TileShape> shape =
        sum_tile(part_of(program, std::array{*sum, root}), apart, machine_, from_memory_);
    if (shape && choices_.keeps(Decision::Epilogue, program.graph, program.graph.stages[*sum]))
      return sum_loops(std::move(program), *sum, root, *shape);
  }
  return loops_alone(std::move(program), root, choices_);
}

}  // namespace adjit::sched
