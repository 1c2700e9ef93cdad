// autosched/moves/inline.cpp -- substituting stages into their readers: inline_stages and
// recompute.
#include <algorithm>

#include "autosched/lower/near_indices.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/moves/substitution.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/expr/range_fold.hpp"

namespace adjit::sched {
namespace {

void check(const Move& move, bool vanishes) {
  const Stage& stage = move.stage_ref();
  move.require(stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None,
               "only stages without a combiner have a body to substitute");
  for (TensorId id : stage.results) {
    if (vanishes)
      move.require(
          std::ranges::find(move.program.graph.outputs, id) == move.program.graph.outputs.end(),
          "a graph output has to be stored");
    for (size_t reader : move.program.readers[id.value])
      move.require(move.program.graph.stages[reader].kind == StageKind::Compute,
                   "a scan, scatter or call reads it");
  }
  if (vanishes) {
    const NestPath path = move.path();
    move.require(nest_at(move.program, path).attached.empty(), "other nests are attached to it");
  }
}

Program substitute(Program program, std::span<const size_t> stages, const char* name, bool vanish) {
  std::vector<size_t> chosen(stages.begin(), stages.end());
  std::ranges::sort(chosen);
  chosen.erase(std::ranges::unique(chosen).begin(), chosen.end());
  Json names = Json::array();
  for (size_t s : chosen) {
    const Move move = begin_move(name, program, s);
    check(move, vanish);
    names.push_back(stage_name(program.graph, move.stage_ref()));
  }
  if (chosen.empty()) return program;
  Substitution substitution(program.graph);
  auto next = chosen.begin();
  std::vector<bool> affected(program.graph.stages.size(), false);
  for (size_t s = chosen.front(); s < program.graph.stages.size(); ++s) {
    Stage& stage = program.graph.stages[s];
    const bool replaced = next != chosen.end() && *next == s;
    if (affected[s]) {
      substitution.apply(stage);
      // Before far indices are limited, which ranges decide, too; once, in what is left.
      if (folds_ranges(program.target) && !(replaced && vanish))
        for (ExprId& body : stage.bodies)
          body = folded_by_ranges(program.graph.pool, body, stage.domain.extents);
      near_indices(program.graph, stage);
    }
    if (!replaced) continue;
    ++next;
    substitution.replace(stage);
    for (TensorId id : stage.results)
      for (size_t reader : program.readers[id.value]) affected[reader] = true;
  }
  append_move(program, {{"move", name}, {"stages", std::move(names)}});
  if (vanish) {
    remove_stages(program, chosen);
  } else {
    index_readers(program);
  }
  std::string uncovered;
  if (!locals_stay_inside(program, &uncovered))
    throw Error(ErrorCode::Schedule, std::string(name) + ": '" + uncovered +
                                         "' would be read outside the loops it is local to; "
                                         "substitute first");
  for (size_t k = 0; k < program.kernels.size(); ++k)
    if (!program.kernels[k].root.attached.empty() && !regions_cover_reads(program, k, &uncovered))
      throw Error(ErrorCode::Schedule,
                  std::string(name) + ": more of '" + uncovered +
                      "' would be read than is computed where it is attached; substitute first");
  return program;
}

}  // namespace

Program inline_stages(Program program, std::span<const size_t> stages) {
  return substitute(std::move(program), stages, "inline", true);
}

Program recompute(Program program, std::span<const size_t> stages) {
  return substitute(std::move(program), stages, "recompute", false);
}

}  // namespace adjit::sched
