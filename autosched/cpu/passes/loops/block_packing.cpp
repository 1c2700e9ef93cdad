// autosched/cpu/passes/loops/block_packing.cpp -- some rows of all panels before the next rows.
#include "autosched/cpu/passes/loops/block_packing.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>

#include "autosched/machine/cpu_machine.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// Bytes from one trip of a loop to the next in what is read.
int64_t hop(const Program& program, const MemoryAccess& read, const Loop& loop) {
  const auto size = static_cast<int64_t>(size_of(program.graph.info(read.tensor).dtype));
  return std::abs(read.strides[loop.axis]) * loop.step * size;
}

// Whether the loops from `first` on walk rows of a read that are on too many pages, while the loop
// around them goes to a place beside, on the same pages.
bool hops(const Program& program, const MemoryAccess& read, std::span<const Loop> loops,
          size_t first) {
  int64_t nearest = INT64_MAX, rows = 1;
  for (const Loop& loop : loops.subspan(first)) {
    if (read.irregular[loop.axis]) return false;
    nearest = std::min(nearest, hop(program, read, loop));
    rows *= loop.trips;
  }
  const Loop& panels = loops[first - 1];
  if (read.irregular[panels.axis]) return false;
  const int64_t beside = hop(program, read, panels);
  return panels.trips > 1 && nearest >= thresholds().stream_row_bytes && beside % kLineBytes != 0 &&
         2 * beside <= nearest && rows * std::min(nearest, kPageBytes) > kPagesAtHand * kPageBytes;
}

// The first of the loops over rows, if there are such; 0: there are none.
size_t rows_begin(const Program& program, const Nest& nest, const Accesses& accesses) {
  const size_t end = tile_begin(nest);
  const std::span<const Loop> loops = std::span(nest.loops).first(end);
  for (size_t first = end - 1; first > parallel_depth(nest); --first)
    if (std::ranges::any_of(accesses.reads, [&](const MemoryAccess& read) {
          return hops(program, read, loops, first);
        }))
      return first;
  return 0;
}

}  // namespace

Program copy_in_chunks(Program program, size_t stage, const Accesses& accesses) {
  if (!nest_of(program, stage).attached.empty() || tile_begin(nest_of(program, stage)) < 2)
    return program;
  const size_t first = rows_begin(program, nest_of(program, stage), accesses);
  if (first == 0) return program;
  size_t end = tile_begin(nest_of(program, stage));
  const Loop last = nest_of(program, stage).loops[end - 1];
  if (last.step == 1 && last.trips > 2 * thresholds().packed_chunk) {
    const int64_t steps[] = {thresholds().packed_chunk};
    program = tile(std::move(program), stage, last.axis, steps);
    ++end;
  }
  const Nest& nest = nest_of(program, stage);
  // Loops over rows from `chunk` on stay inside the panels' loop.
  size_t chunk = end - 1;
  for (int64_t rows = nest.loops[chunk].trips;
       chunk > first && rows * nest.loops[chunk - 1].trips <= 2 * thresholds().packed_chunk;
       --chunk)
    rows *= nest.loops[chunk - 1].trips;
  std::vector<size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto at = [&](size_t l) { return order.begin() + static_cast<std::ptrdiff_t>(l); };
  std::rotate(at(first - 1), at(first), at(chunk));
  return with_order(std::move(program), stage, order);
}

}  // namespace adjit::sched
