// autosched/passes/plan_rematerialization.hpp -- which stages are computed a second time where
// memory is short.
//
// A network's activations wait from the forward for the backward. A stage whose results wait may
// be computed again where they are used next (`rematerialize` in moves.hpp): its operands are
// there, or are computed again themselves. What lives at once is estimated stage by stage, as if
// each were a kernel; whoever has the finished schedule measures it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "autosched/decisions/choices.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Computes outputs early, and stages a second time, as the answers ask for: the last ones first,
/// each for all that reads it behind the longest time in which nothing does. For programs whose
/// stages are kernels without loops.
Program rematerialize_stages(Program program, const StageSet& planned, const Choices& choices);

/// Stages in the order in which they are worth being computed again.
struct Rematerialization {
  std::vector<std::string> stages;
  /// The first `stages` of them bring what lives at once to `peak` bytes, estimated; peaks fall
  /// from step to step, and the first step has no stages.
  struct Step {
    size_t stages = 0;
    int64_t peak = 0;
  };
  std::vector<Step> steps;
};

/// For rematerialize_stages of the same program: down to as little memory as can be had, taking
/// what spares most for its work (Kirisame et al., 2021, decided before anything runs). Time grows
/// with the square of the stages.
Rematerialization plan_rematerialization(const Program& program, const StageSet& planned);

/// The answers for one step.
Answers answers_for(const Rematerialization& plan, const Rematerialization::Step& step);

}  // namespace adjit::sched
