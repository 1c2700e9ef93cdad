// autosched/moves/attached/compute_at.cpp -- computing a stage in the loops of another: where that
// reads it (compute_at), or because it reads the same (compute_with).
//
//   dx[i, j] = x[i, j] + g[j];   s[j] = sum over i of x[i, j]
// with dx computed with s at its loop over i, at the indices i, j of s:
//   for i:  for j: dx[i, j] = x[i, j] + g[j];   for j: s[j] += x[i, j]
#include <span>
#include <utility>

#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"

namespace adjit::sched {

namespace {

// The end of either move.
void finish(const Move& move, size_t host, size_t depth, const Attachment& where, Json arguments) {
  Program& program = move.program;
  if (where.refusal) move.refuse(where.refusal);
  attach(program, move.stage, depth, where);
  move.require_threads(program.kernels[where.to.kernel]);
  arguments["host"] = stage_name(program.graph, program.graph.stages[host]);
  arguments["depth"] = depth;
  move.record(arguments);
  program.kernels.erase(program.kernels.begin() + static_cast<std::ptrdiff_t>(where.from.kernel));
}

}  // namespace

Program compute_at(Program program, size_t stage, size_t host, size_t depth) {
  const Move move = begin_move("compute_at", program, stage);
  finish(move, host, depth, attachment(program, stage, host, depth), Json::object());
  return program;
}

Program compute_with(Program program, size_t stage, size_t host, size_t depth,
                     std::span<const Affine> indices) {
  const Move move = begin_move("compute_with", program, stage);
  const Attachment where = attachment_with(program, stage, host, depth, indices);
  if (where.refusal) move.refuse(where.refusal);
  Json forms = Json::array();
  for (const Affine& index : indices) {
    Json& form = forms.emplace_back(Json::array());
    for (size_t axis = 0; axis < program.graph.stages[host].domain.rank(); ++axis)
      form.push_back(index.coefficient(axis));
    form.push_back(index.constant());
  }
  finish(move, host, depth, where, {{"indices", std::move(forms)}});
  return program;
}

}  // namespace adjit::sched
