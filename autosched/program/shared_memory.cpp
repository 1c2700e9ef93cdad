// autosched/program/shared_memory.cpp -- bytes that the threads of a block share.
#include "autosched/program/shared_memory.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "runtime/expr/integer.hpp"

namespace adjit::sched {
namespace {

int64_t elements_of(std::span<const int64_t> spans) {
  int64_t elements = 1;
  for (const int64_t span : spans) elements = checked_mul(elements, std::max<int64_t>(span, 1));
  return elements;
}

class SharedBytes {
 public:
  SharedBytes(const Program& program, const Kernel& kernel)
      : program_(program), threads_(block_threads(kernel)) {}

  int64_t operator()(const Nest& nest) {
    add_results(nest);
    add_exchange(nest);
    for (const Nest::Attached& attached : nest.attached)
      if (attached_run_by(RunBy::Block, nest, attached.depth) == RunBy::Block)
        (*this)(attached.nest);
    return bytes_;
  }

 private:
  const Stage& stage_of(const Nest& nest) const { return program_.graph.stages[nest.stage]; }

  void add_results(const Nest& nest) {
    const Stage& stage = stage_of(nest);
    if (program_.scopes[stage.results.front().value] != Scope::Local) return;
    const std::span<const int64_t> spans = std::span(nest.spans).first(stage.domain.output_rank);
    for (TensorId id : stage.results) {
      const int64_t wide = width(program_.graph.info(id).dtype);
      const int64_t bytes =
          shared_size(checked_mul(elements_of(shared_extents(spans, wide)), wide));
      bytes_ = checked_add(bytes_, checked_mul(nest.buffers, bytes));
    }
  }

  // Arrays of a size, of which a kernel has one for each number, serve one exchange after another.
  void add_exchange(const Nest& nest) {
    const Stage& stage = stage_of(nest);
    if (const Running* running = running_of(program_.graph, stage);
        running && threads_together(*running, nest) > kWarpThreads)
      for (ExprId body : stage.bodies) {
        const int64_t wide = width(accumulator_of(program_.graph.pool.dtype(body)));
        bytes_ = checked_add(bytes_, shared_size(threads_ / kWarpThreads * wide));
      }
    const ThreadGroups groups = groups_of(stage, nest);
    const int64_t elements = exchanged_elements(groups, threads_);
    if (elements == 0) return;
    int64_t lanes = 1, copies = 1;
    for (size_t l = tile_begin(nest); l < nest.loops.size(); ++l)
      if (nest.loops[l].axis < stage.domain.output_rank)
        (nest.loops[l].kind == LoopKind::Vector ? lanes : copies) *= nest.loops[l].trips;
    int64_t number = 0;
    for (int64_t copy = 0; copy < copies; ++copy)
      for (ExprId body : stage.bodies) {
        const int64_t wide = width(accumulator_of(program_.graph.pool.dtype(body)));
        const int64_t bytes = shared_size(checked_mul(elements, lanes * wide));
        if (exchange_of(groups) != Exchange::All || exchanges_.emplace(number++, bytes).second)
          bytes_ = checked_add(bytes_, bytes);
      }
  }

  static int64_t width(DType dtype) { return static_cast<int64_t>(size_of(dtype)); }

  const Program& program_;
  int64_t threads_;
  int64_t bytes_ = 0;
  std::set<std::pair<int64_t, int64_t>> exchanges_;  // number and bytes
};

}  // namespace

int64_t shared_size(int64_t bytes) { return ceil_div(bytes, kSharedAlignment) * kSharedAlignment; }

std::vector<int64_t> shared_extents(std::span<const int64_t> spans, int64_t element_bytes) {
  constexpr int64_t kBankBytes = 128;  // of all banks together
  std::vector<int64_t> extents(spans.begin(), spans.end());
  if (extents.empty() || elements_of(spans) == std::max<int64_t>(extents.back(), 1)) return extents;
  if (extents.back() * element_bytes % kBankBytes == 0)
    extents.back() += kSharedAlignment / element_bytes;
  return extents;
}

Exchange exchange_of(const ThreadGroups& groups) {
  if (groups.threads == 1) return Exchange::None;
  const bool power = std::has_single_bit(static_cast<uint64_t>(groups.threads));
  if (groups.side_by_side && groups.threads <= kWarpThreads && power) return Exchange::Shuffles;
  return groups.side_by_side && groups.threads % kWarpThreads == 0 ? Exchange::Warps
                                                                   : Exchange::All;
}

int64_t exchanged_elements(const ThreadGroups& groups, int64_t block_threads) {
  switch (exchange_of(groups)) {
    case Exchange::Warps: return block_threads / kWarpThreads;
    case Exchange::All: return groups.threads * groups.count;
    default: return 0;
  }
}

int64_t shared_bytes(const Program& program, const Kernel& kernel) {
  return is_block_kernel(kernel) ? SharedBytes(program, kernel)(kernel.root) : 0;
}

}  // namespace adjit::sched
