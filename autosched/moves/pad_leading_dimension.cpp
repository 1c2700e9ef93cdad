// autosched/moves/pad_leading_dimension.cpp -- rows of the workspace that do not lie a power of two
// apart.
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::sched {

Program pad_leading_dimension(Program program, size_t stage, int64_t gap) {
  constexpr int64_t kLargest = 4096;  // elements
  const Move move = begin_move("pad_leading_dimension", program, stage);
  const Stage& padded = move.stage_ref();
  move.require(gap >= 1 && gap <= kLargest, "the gap must be 1 to 4096 elements");
  move.require(padded.kind == StageKind::Compute, "its results are not rows of a compute stage");
  for (TensorId id : padded.results) {
    move.require(program.scopes[id.value] == Scope::Workspace, "the caller has its results");
    const TensorInfo& info = program.graph.info(id);
    move.require(!info.shape.empty(), "its results are scalars");
    const auto elements = static_cast<double>(info.element_count());
    const auto row = static_cast<double>(std::max<int64_t>(info.shape.back(), 1));
    move.require(
        elements / row * (row + static_cast<double>(gap)) <= kSmallTensor + kGrowthLimit * elements,
        "with the gaps, it has more than 64 times its elements");
    move.require(
        std::ranges::all_of(
            program.readers[id.value],
            [&](size_t reader) { return program.graph.stages[reader].kind == StageKind::Compute; }),
        "a scan or a scatter takes its results as they are");
  }
  for (TensorId id : padded.results) program.graph.row_gaps[id] = gap;
  move.record({{"gap", gap}});
  return program;
}

}  // namespace adjit::sched
