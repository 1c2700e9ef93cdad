// autosched/moves/make_adjacent.cpp -- kernels put next to each other, so that they can be one
// chain.
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {

namespace {

// Which kernels are gathered, and which come behind them, by the stages of their roots: what is
// attached in a kernel is there when the kernel is done.
struct Gathering {
  std::vector<size_t> root;         // per stage
  std::vector<bool> member, after;  // per stage, of roots
  bool possible = true;             // no member needs what comes behind another
};

Gathering gathering_of(const Program& program, std::span<const size_t> stages) {
  const size_t count = program.graph.stages.size();
  Gathering made{std::vector<size_t>(count), std::vector<bool>(count, false),
                 std::vector<bool>(count, false)};
  for (const Kernel& kernel : program.kernels)
    for_each_nest(kernel.root, [&](const Nest& n) { made.root[n.stage] = kernel.root.stage; });
  for (size_t s : stages) made.member[s] = true;
  for (const Kernel& kernel : program.kernels) {
    const size_t own = kernel.root.stage;
    if (!made.member[own] && !made.after[own]) continue;
    for_each_nest(kernel.root, [&](const Nest& nest) {
      for (TensorId id : program.graph.stages[nest.stage].results)
        for (size_t reader : program.readers[id.value]) {
          const size_t other = made.root[reader];
          if (other == own) continue;
          // Of what a member gives, members may read; of what comes after them, none.
          if (made.member[other] && made.after[own]) made.possible = false;
          if (!made.member[other]) made.after[other] = true;
        }
    });
  }
  return made;
}

}  // namespace

bool can_gather(const Program& program, std::span<const size_t> stages) {
  return gathering_of(program, stages).possible;
}

Program make_adjacent(Program program, std::span<const size_t> stages) {
  if (stages.size() < 2) throw Error(ErrorCode::Schedule, "gather: needs two or more stages");
  Json names = Json::array();
  std::vector<bool> seen(program.graph.stages.size(), false);
  for (size_t s : stages) {
    const Move move = begin_move("make_adjacent", program, s);
    names.push_back(stage_name(program.graph, move.stage_ref()));
    move.require(!seen[s], "a stage is there twice");
    move.require(move.path().steps.empty(), "it is attached to another");
    seen[s] = true;
  }
  const Move move = begin_move("make_adjacent", program, stages.front());
  const Gathering made = gathering_of(program, stages);
  move.require(made.possible, "a stage needs one of them, and is needed by another");
  std::vector<size_t> order;
  for (const auto& part : {0, 1, 2})
    for (size_t s = 0; s < made.root.size(); ++s) {
      const size_t root = made.root[s];
      if ((made.member[root] ? 1 : made.after[root] ? 2 : 0) == part) order.push_back(s);
    }
  sort_stages(program, order);
  append_move(program, {{"move", "make_adjacent"}, {"stages", std::move(names)}});
  return program;
}

}  // namespace adjit::sched
