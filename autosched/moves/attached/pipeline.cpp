// autosched/moves/attached/pipeline.cpp -- what a block computes ahead of the iterations that read
// it.
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::sched {

Program pipeline(Program program, size_t stage, int64_t buffers) {
  const Move move = begin_move("pipeline", program, stage);
  move.require(buffers >= 2 && buffers <= kBufferLimit, "the buffers must be 2 to 8");
  const NestPath path = move.path();
  move.require(!path.steps.empty(), "it is not attached");
  nest_at(program, path).buffers = buffers;
  move.require_threads(program.kernels[path.kernel]);
  move.record({{"buffers", buffers}});
  return program;
}

}  // namespace adjit::sched
