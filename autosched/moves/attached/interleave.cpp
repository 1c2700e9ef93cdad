// autosched/moves/attached/interleave.cpp -- several rows at once in what is attached to a loop.
//
//   for i:      with s[i] = sum of x[i, :];   for j: y[i, j] = x[i, j] / s[i]
// with rows = 4:
//   for i / 4:  with s[i .. i + 3];   for i in it: for j: y[i, j] = x[i, j] / s[i]
#include <algorithm>
#include <utility>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/coverage.hpp"
#include "autosched/program/required_region.hpp"

namespace adjit::sched {

namespace {

bool is_plain(const Nest& nest) {
  return nest.attached.empty() && std::ranges::all_of(nest.loops, [](const Loop& loop) {
           return loop.kind == LoopKind::Serial && loop.step == 1;
         });
}

// Leaves a kernel as it was, whatever happens.
class Restored {
 public:
  explicit Restored(Kernel& kernel) : kernel_(kernel), before_(kernel) {}
  ~Restored() { kernel_ = std::move(before_); }
  Restored(const Restored&) = delete;
  Restored& operator=(const Restored&) = delete;

 private:
  Kernel& kernel_;
  Kernel before_;
};

// False where what is read elsewhere, too, would be computed more than once.
bool take_groups(Program& program, const Move& move, const NestPath& path, size_t depth,
                 int64_t rows) {
  Nest& nest = nest_at(program, path);
  uint32_t& variables = program.kernels[path.kernel].variable_count;
  move.split(nest, variables, depth - 1, rows);
  for (Nest::Attached& attached : nest.attached) attached.depth = depth;
  for (size_t k = nest.attached.size(); k-- > 0;) {  // readers before what they read
    const size_t stage = nest.attached[k].nest.stage;
    const Region region = read_region(program, path, depth, stage);
    const TensorId result = program.graph.stages[stage].results.front();
    if (program.scopes[result.value] != Scope::Local &&
        !covers_exactly_once(program, nest, depth, stage, region))
      return false;
    nest.attached[k].nest = placed_nest(program.graph, stage, region, variables);
  }
  return true;
}

}  // namespace

bool interleaves_once(Program& program, size_t host, size_t depth, int64_t rows) {
  const Move move = begin_move("interleave", program, host);
  const NestPath path = move.path();
  const auto is_local = [&](const Nest::Attached& attached) {
    const TensorId result = program.graph.stages[attached.nest.stage].results.front();
    return program.scopes[result.value] == Scope::Local;
  };
  if (std::ranges::all_of(nest_at(program, path).attached, is_local)) return true;
  // A copy of the whole program, for each host, would take longer than all others together.
  const Restored restored(program.kernels[path.kernel]);
  return take_groups(program, move, path, depth, rows);
}

Program interleave(Program program, size_t host, size_t depth, int64_t rows) {
  const Move move = begin_move("interleave", program, host);
  const NestPath path = move.path();
  move.require(path.steps.empty(), "it is attached to another stage");
  const Nest& nest = nest_at(program, path);
  move.require(depth >= 1 && depth <= tile_begin(nest), "there is no such loop");
  const Loop& loop = nest.loops[depth - 1];
  move.require(loop.kind == LoopKind::Serial && loop.step == 1, "the loop is scheduled already");
  move.require(rows > 1 && rows <= loop.trips,
               "a group has 2 rows or more, and the loop no fewer trips");
  for (size_t outer = 0; outer + 1 < depth; ++outer)
    move.require(nest.loops[outer].axis != loop.axis || nest.loops[outer].step % rows == 0,
                 "the outer loop's step must be a multiple of the rows");
  move.require(!nest.attached.empty(), "nothing is attached to it");
  for (const Nest::Attached& attached : nest.attached) {
    move.require(attached.depth == depth, "a nest is attached to another loop");
    move.require(is_plain(attached.nest), "an attached nest is scheduled already");
  }
  move.require(take_groups(program, move, path, depth, rows),
               "what is read elsewhere, too, would be computed more than once");
  move.record({{"depth", depth}, {"rows", rows}});
  return program;
}

}  // namespace adjit::sched
