// autosched/moves/schedule_scan.cpp -- a schedule for the steps of a scan.
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"

namespace adjit::sched {

Program schedule_scan(Program program, size_t stage, Program steps) {
  const Move move = begin_move("schedule_scan", program, stage);
  move.require(move.stage_ref().kind == StageKind::Scan, "that is no scan");
  const Json moves = Json::parse(steps.moves_json);
  program.kernels[move.path().kernel].steps = std::make_shared<const Program>(std::move(steps));
  move.record({{"moves", moves}});
  return program;
}

}  // namespace adjit::sched
