// jit/emit/local_results.cpp -- buffers on the stack, and in the memory that a block shares.
#include "jit/emit/local_results.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "autosched/program/limits.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/shared_memory.hpp"
#include "autosched/program/threads.hpp"
#include "jit/emit/kernel.hpp"
#include "jit/emit/layout.hpp"

namespace adjit::emit {
namespace {

constexpr int64_t kLocalAlignment = 64;

// The rows of a nest's buffers, in whole vectors where that costs little: a store and the loads
// after it are then of whole vectors, too, which the processor passes on without waiting.
struct Rows {
  std::vector<int64_t> spans;
  int64_t lanes = 0;  // of whole vectors
};
Rows rows_of(const Program& program, const Nest& nest) {
  constexpr int64_t kPadding = 4096;  // elements
  const size_t rank = program.graph.stages[nest.stage].domain.output_rank;
  Rows rows{{nest.spans.begin(), nest.spans.begin() + static_cast<long>(rank)}};
  if (nest.loops.empty() || nest.loops.back().kind != LoopKind::Vector) return rows;
  const Loop& loop = nest.loops.back();
  if (loop.axis >= rank) return rows;
  int64_t count = 1;
  for (size_t d = 0; d < rank; ++d) {
    if (d > loop.axis && rows.spans[d] != 1) return rows;
    if (d < loop.axis) count = checked_mul(count, std::max<int64_t>(rows.spans[d], 1));
  }
  int64_t& row = rows.spans[loop.axis];
  const int64_t padding = ceil_div(row, loop.trips) * loop.trips - row;
  if (checked_mul(count, padding) > kPadding && padding > row / 4) return rows;
  row += padding;
  rows.lanes = loop.trips;
  return rows;
}

class LocalResults {
 public:
  LocalResults(const Program& program, const LocalMemory& memory, TensorPlaces& places)
      : program_(program), memory_(memory), places_(places) {}

  // Buffers of a nest and of those attached to it: of nests that a block runs together in the
  // memory that it shares, of others on the stack.
  void place(const Nest& nest, bool by_block) {
    if (program_.scopes[stage_of(nest).results.front().value] == Scope::Local)
      by_block ? share_results(nest) : allocate_results(nest);
    for (const Nest::Attached& a : nest.attached)
      place(a.nest, by_block && a.depth <= first_thread_loop(nest));
  }

 private:
  const Stage& stage_of(const Nest& nest) const { return program_.graph.stages[nest.stage]; }

  static int64_t elements_of(std::span<const int64_t> spans) {
    int64_t elements = 1;
    for (int64_t span : spans) elements = checked_mul(elements, std::max<int64_t>(span, 1));
    return elements;
  }
  int64_t bytes_of(TensorId id, int64_t elements) const {
    return checked_mul(elements, static_cast<int64_t>(size_of(program_.graph.info(id).dtype)));
  }
  std::vector<Affine> origin_of(const Nest& nest) const {
    const auto rank = static_cast<long>(stage_of(nest).domain.output_rank);
    return {nest.axis_base.begin(), nest.axis_base.begin() + rank};
  }

  void share_results(const Nest& nest) {
    const size_t rank = stage_of(nest).domain.output_rank;
    const std::vector<TensorId>& results = stage_of(nest).results;
    for (size_t k = 0; k < results.size(); ++k) {
      const std::vector<int64_t> spans =
          sched::shared_extents(std::span(nest.spans).first(rank), bytes_of(results[k], 1));
      const int64_t bytes = sched::shared_size(bytes_of(results[k], elements_of(spans)));
      llvm::Value* first = memory_.block->shared({&results, k}, checked_mul(nest.buffers, bytes));
      places_.at(results[k]) = {.pointer = first,
                                .strides = contiguous_layout(spans).strides,
                                .origin = origin_of(nest),
                                .shared_elements = elements_of(spans),
                                .alignment = ThreadBlock::kAlignment,
                                .buffers = {first, bytes}};
    }
  }

  void allocate_results(const Nest& nest) {
    const Rows rows = rows_of(program_, nest);
    for (TensorId id : stage_of(nest).results) {
      const int64_t bytes = bytes_of(id, checked_add(elements_of(rows.spans), kLaneLimit));
      local_bytes_ = checked_add(local_bytes_, bytes);
      if (local_bytes_ > kMaxLocalBytes)
        throw Error(ErrorCode::Schedule, "the local buffers of one kernel exceed " +
                                             std::to_string(kMaxLocalBytes) + " bytes at '" +
                                             program_.graph.info(id).name +
                                             "'; compute it at an inner loop or at the root");
      llvm::AllocaInst* buffer = memory_.builder.CreateAlloca(
          llvm::ArrayType::get(memory_.builder.getInt8Ty(), static_cast<uint64_t>(bytes)));
      buffer->setAlignment(llvm::Align(kLocalAlignment));
      places_.at(id) = {.pointer = buffer,
                        .strides = contiguous_layout(rows.spans).strides,
                        .origin = origin_of(nest),
                        .readable_beyond = true,
                        .row_lanes = rows.lanes,
                        .alignment = memory_.features.gpu ? kLocalAlignment : 0};
    }
  }

  const Program& program_;
  const LocalMemory& memory_;
  TensorPlaces& places_;
  int64_t local_bytes_ = 0;  // on the stack
};

}  // namespace

void place_local_results(const Program& program, const Kernel& kernel, const LocalMemory& memory,
                         TensorPlaces& places) {
  LocalResults(program, memory, places).place(kernel.root, memory.block != nullptr);
}

}  // namespace adjit::emit
