// autosched/gather.cpp -- kernels put next to each other, so that they can be one chain.
#include <algorithm>

#include "autosched/move_record.hpp"
#include "autosched/moves.hpp"
#include "autosched/rewriting.hpp"

namespace adjit {

bool can_gather(const Program& program, std::span<const size_t> stages) {
  std::vector<bool> member(program.graph.stages.size(), false), after(member.size(), false);
  for (size_t s : stages) member[s] = true;
  for (size_t s = 0; s < member.size(); ++s) {
    // Of what a member gives, members may read; of what comes after them, none.
    for (TensorId id : program.graph.stages[s].results)
      for (size_t reader : program.readers[id.value]) {
        if (after[s] && member[reader]) return false;
        if ((after[s] || member[s]) && !member[reader]) after[reader] = true;
      }
  }
  return true;
}

Program gather(Program program, std::span<const size_t> stages) {
  if (stages.size() < 2) throw Error(ErrorCode::Schedule, "gather: needs two or more stages");
  Json names = Json::array();
  std::vector<bool> member(program.graph.stages.size(), false), after(member.size(), false);
  for (size_t s : stages) {
    const Move move = begin_move("gather", program, s);
    names.push_back(stage_name(program.graph, move.stage_ref()));
    move.require(!member[s], "a stage is there twice");
    move.require(move.path().steps.empty(), "it is attached to another");
    member[s] = true;
  }
  const Move move = begin_move("gather", program, stages.front());
  move.require(can_gather(program, stages), "a stage needs one of them, and is needed by another");
  for (size_t s = 0; s < member.size(); ++s)
    if (member[s] || after[s])
      for (TensorId id : program.graph.stages[s].results)
        for (size_t reader : program.readers[id.value])
          if (!member[reader]) after[reader] = true;
  std::vector<size_t> order;
  for (const auto& part : {0, 1, 2})
    for (size_t s = 0; s < member.size(); ++s)
      if ((member[s] ? 1 : after[s] ? 2 : 0) == part) order.push_back(s);
  sort_stages(program, order);
  append_move(program, {{"move", "gather"}, {"stages", std::move(names)}});
  return program;
}

}  // namespace adjit
