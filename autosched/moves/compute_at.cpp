// autosched/moves/compute_at.cpp -- computing a stage where it is read.
#include <algorithm>

#include "autosched/moves/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/required_region.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

// Which of a stage's readers stand inside the host's loops [0, depth).
struct Readers {
  bool inside = false;
  std::vector<size_t> outside;
  bool returned = false;  // a graph output
};

Readers find_readers(const Program& program, const NestPath& host, size_t depth, size_t producer) {
  const Nest& nest = nest_at(program, host);
  std::vector<size_t> inside{nest.stage};
  for (const Nest::Attached& attached : nest.attached)
    if (attached.depth >= depth)
      for_each_nest(attached.nest, [&](const Nest& below) { inside.push_back(below.stage); });
  Readers readers;
  for (TensorId result : program.graph.stages[producer].results) {
    for (size_t reader : program.readers[result.value]) {
      if (std::ranges::find(inside, reader) != inside.end()) {
        readers.inside = true;
      } else {
        readers.outside.push_back(reader);
      }
    }
    readers.returned |= program.scopes[result.value] == Scope::Argument;
  }
  return readers;
}

// Readers outside must run later than the host does.
bool readers_follow(const Program& program, size_t kernel, std::span<const size_t> readers) {
  return std::ranges::all_of(readers, [&](size_t reader) {
    const std::optional<NestPath> path = find_nest(program, reader);
    return path && path->kernel > kernel;
  });
}

}  // namespace

// Every dimension is whole or follows one axis of the host, and every loop [0, depth) is followed,
// or has one iteration: then each point is computed in exactly one.
bool covers_exactly_once(const Program& program, const Nest& host, size_t depth, size_t stage,
                         const Region& region) {
  const std::vector<int64_t>& shape =
      program.graph.info(program.graph.stages[stage].results.front()).shape;
  // A host without points runs none of its loops, nor what is attached to them.
  const size_t host_outputs = program.graph.stages[host.stage].domain.output_rank;
  for (size_t axis = 0; axis < host_outputs; ++axis)
    if (host.spans[axis] == 0) return false;
  std::vector<bool> followed(host.axis_base.size(), false);
  for (size_t d = 0; d < shape.size(); ++d) {
    if (region.base[d] == Affine() && region.spans[d] == shape[d]) continue;
    bool found = false;
    for (size_t axis = 0; axis < host.axis_base.size() && !found; ++axis) {
      found = !followed[axis] && region.base[d] == origin_above(host, axis, depth) &&
              host.axis_base[axis] == Affine() && host.spans[axis] == shape[d] &&
              region.spans[d] == width_below(host, axis, depth);
      if (found) followed[axis] = true;
    }
    if (!found) return false;
  }
  for (size_t l = 0; l < depth; ++l)
    if (!followed[host.loops[l].axis] && host.loops[l].trips != 1) return false;
  return true;
}

Attachment attachment(const Program& program, size_t stage, size_t host, size_t depth) {
  const auto refuse = [](const char* reason) { return Attachment{reason, {}, {}, {}, false}; };
  if (host >= program.graph.stages.size() || host == stage)
    return refuse("there is no such host stage");
  const std::optional<NestPath> from = find_nest(program, stage);
  if (!from) return refuse("the stage is in no kernel");
  if (!from->steps.empty()) return refuse("the stage is attached already");
  if (program.graph.stages[stage].kind != StageKind::Compute ||
      program.graph.stages[host].kind == StageKind::Scan ||
      running_of(program.graph, program.graph.stages[stage]) ||
      running_of(program.graph, program.graph.stages[host]))
    return refuse("scatters, scans and running reductions stay kernels of their own");
  const Nest& nest = nest_at(program, *from);
  if (!nest.attached.empty())
    return refuse("other nests are attached to it; attach the readers first");
  for (const Loop& loop : nest.loops)
    if (loop.kind != LoopKind::Serial || loop.step != 1)
      return refuse("its loops are scheduled already; attach it first");
  const std::optional<NestPath> to = find_nest(program, host);
  if (!to) return refuse("the host is in no kernel");
  if (to->kernel <= from->kernel) return refuse("the host runs before the stage");
  if (to->steps.size() >= kNestingLimit)
    return refuse("the host is attached inside too many others already");
  const Nest& host_nest = nest_at(program, *to);
  if (depth < 1 || depth > tile_begin(host_nest))
    return refuse(
        "the depth must be 1 to the number of the host's loops outside its register tile");
  if (lies_between_threads(host_nest, depth))
    return refuse("the depth lies between two of the host's thread loops");
  const Readers readers = find_readers(program, *to, depth, stage);
  if (!readers.inside) return refuse("nothing in the host reads it there");
  Attachment result{nullptr, *from, *to, read_region(program, *to, depth, stage), false};
  const std::vector<int64_t>& shape =
      program.graph.info(program.graph.stages[stage].results.front()).shape;
  for (size_t d = 0; d < shape.size(); ++d)  // reads that are guarded away
    if (result.region.spans[d] == 0 && shape[d] > 0)
      return refuse("nothing in the host reads it there");
  result.whole = readers.returned || !readers.outside.empty();
  if (!result.whole) return result;
  if (program.graph.stages[host].kind == StageKind::Scatter)
    return refuse("it is read elsewhere too, and the host is a scatter");
  if (!to->steps.empty() || !covers_exactly_once(program, host_nest, depth, stage, result.region))
    return refuse("it is read elsewhere too, and the regions do not cover it exactly once");
  if (tasks_sharing(program, host_nest, depth) > 1)
    return refuse("it is read elsewhere too, and several tasks would store it");
  if (!readers_follow(program, to->kernel, readers.outside))
    return refuse("it is read before the host runs");
  return result;
}

Program compute_at(Program program, size_t stage, size_t host, size_t depth) {
  const Move move = begin_move("compute_at", program, stage);
  const Attachment where = attachment(program, stage, host, depth);
  if (where.refusal) move.refuse(where.refusal);
  Kernel& kernel = program.kernels[where.to.kernel];
  Nest placed = placed_nest(program.graph, stage, where.region, kernel.variable_count);
  if (!where.whole)
    for (TensorId id : move.stage_ref().results) program.scopes[id.value] = Scope::Local;
  std::vector<Nest::Attached>& attached = nest_at(program, where.to).attached;
  const auto after = std::ranges::find_if(attached, [&](const Nest::Attached& a) {
    return std::pair(a.depth, a.nest.stage) > std::pair(depth, stage);
  });
  attached.insert(after, {depth, std::move(placed)});
  move.require_threads(program.kernels[where.to.kernel]);
  move.record({{"host", stage_name(program.graph, program.graph.stages[host])}, {"depth", depth}});
  program.kernels.erase(program.kernels.begin() + static_cast<std::ptrdiff_t>(where.from.kernel));
  return program;
}

}  // namespace adjit::sched
