// autosched/moves/record/record.cpp -- refusing and recording moves.
#include "autosched/moves/record/record.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "autosched/program/limits.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {

Move begin_move(const char* name, Program& program, size_t stage) {
  if (stage >= program.graph.stages.size())
    throw Error(ErrorCode::Schedule,
                std::string(name) + ": there is no stage " + std::to_string(stage));
  const Move move{name, program, stage};
  constexpr std::array<std::string_view, 10> kOfLoops{
      "tile",    "reorder",           "vectorize", "unroll",        "parallel",
      "threads", "store_nontemporal", "prefetch",  "alias_reshape", "pipeline"};
  move.require(program.in_place == 0 || std::ranges::find(kOfLoops, name) != kOfLoops.end(),
               "results lie in place of others: what is computed where is settled");
  return move;
}

void Move::refuse(const std::string& reason) const {
  throw Error(ErrorCode::Schedule, std::string(name) + " of '" +
                                       stage_name(program.graph, stage_ref()) + "': " + reason);
}

NestPath Move::path() const {
  if (std::optional<NestPath> found = find_nest(program, stage)) return *std::move(found);
  refuse("the stage is in no kernel");
}

size_t Move::own_kernel(const char* reason) const {
  const NestPath found = path();
  require(found.steps.empty() && nest_at(program, found).attached.empty(), reason);
  return found.kernel;
}

void Move::require_plain_loops(const char* reason) const {
  const NestPath found = path();
  const Nest& nest = nest_at(program, found);
  require(found.steps.empty() && nest.attached.empty() && parallel_depth(nest) == 0 &&
              tile_begin(nest) == nest.loops.size(),
          reason);
}

void Move::require_threads(const Kernel& kernel) const {
  const std::optional<ThreadFault> fault = fault_in_threads(program, kernel);
  if (!fault) return;
  if (fault->stage == stage) refuse(fault->what);
  refuse("'" + stage_name(program.graph, program.graph.stages[fault->stage]) + "': " + fault->what);
}

void Move::split(Nest& nest, uint32_t& variable_count, size_t l, int64_t step) const {
  if (nest.loops.size() >= kLoopLimit)
    refuse("the nest has " + std::to_string(kLoopLimit) + " loops already");
  split_loop(nest, variable_count, l, step);
}

void Move::record(const Json& arguments) const {
  Json entry{{"move", name}, {"stage", stage_name(program.graph, stage_ref())}};
  entry.update(arguments);
  append_move(program, entry);
}

void append_move(Program& program, const Json& entry) {
  std::string& text = program.moves_json;
  text.pop_back();  // the closing bracket
  if (text.size() > 1) text += ",\n ";
  text += entry.dump() + "]";
}

}  // namespace adjit::sched
