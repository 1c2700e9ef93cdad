// autosched/moves/attached/attachment.cpp -- where a stage can be computed, and what it would be
// there.
#include "autosched/moves/attached/attachment.hpp"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "autosched/program/coverage.hpp"
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

// What is the same wherever in the host the stage is read.
Attachment begin_attachment(const Program& program, size_t stage, size_t host, size_t depth) {
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
  return {nullptr, *from, *to, {}, false};
}

// Why the results cannot be stored at their place in the whole tensor; null where they can.
struct WholeRefusal {
  const char* scatter;
  const char* coverage;
  const char* tasks;
  const char* order;
};
const char* refusal_of_whole(const Program& program, size_t stage, size_t depth,
                             const Attachment& where, std::span<const size_t> readers,
                             const WholeRefusal& reasons) {
  const Nest& host = nest_at(program, where.to);
  if (program.graph.stages[host.stage].kind == StageKind::Scatter) return reasons.scatter;
  if (!where.to.steps.empty() || !covers_exactly_once(program, host, depth, stage, where.region) ||
      !comes_to_all_points(program, host, depth, stage, where.region))
    return reasons.coverage;
  if (tasks_sharing(program, host, depth) > 1) return reasons.tasks;
  return readers_follow(program, where.to.kernel, readers) ? nullptr : reasons.order;
}

}  // namespace

Attachment attachment(const Program& program, size_t stage, size_t host, size_t depth) {
  Attachment result = begin_attachment(program, stage, host, depth);
  if (result.refusal) return result;
  const auto refuse = [&](const char* reason) {
    result.refusal = reason;
    return result;
  };
  const Readers readers = find_readers(program, result.to, depth, stage);
  if (!readers.inside) return refuse("nothing in the host reads it there");
  result.region = read_region(program, result.to, depth, stage);
  const std::vector<int64_t>& shape =
      program.graph.info(program.graph.stages[stage].results.front()).shape;
  for (size_t d = 0; d < shape.size(); ++d)  // reads that are guarded away
    if (result.region.spans[d] == 0 && shape[d] > 0)
      return refuse("nothing in the host reads it there");
  result.whole = readers.returned || !readers.outside.empty();
  if (!result.whole) return result;
  result.refusal =
      refusal_of_whole(program, stage, depth, result, readers.outside,
                       {"it is read elsewhere too, and the host is a scatter",
                        "it is read elsewhere too, and the regions do not cover it exactly once",
                        "it is read elsewhere too, and several tasks would store it",
                        "it is read before the host runs"});
  return result;
}

Attachment attachment_with(const Program& program, size_t stage, size_t host, size_t depth,
                           std::span<const Affine> indices) {
  Attachment result = begin_attachment(program, stage, host, depth);
  if (result.refusal) return result;
  const auto refuse = [&](const char* reason) {
    result.refusal = reason;
    return result;
  };
  const size_t dimensions = program.graph.stages[stage].domain.output_rank;
  const size_t axes = program.graph.stages[host].domain.rank();
  if (indices.size() != dimensions ||
      std::ranges::any_of(indices, [&](const Affine& index) { return index.size() > axes; }))
    return refuse("it takes an index for each dimension of its results, over the host's axes");
  const Readers readers = find_readers(program, result.to, depth, stage);
  if (readers.inside) return refuse("the host reads it there: compute_at knows where");
  result.region = region_at(program, result.to, depth, stage, indices);
  result.whole = true;
  result.refusal = refusal_of_whole(
      program, stage, depth, result, readers.outside,
      {"the host is a scatter", "the regions at these indices do not cover it exactly once",
       "several tasks would store it", "it is read before the host runs"});
  return result;
}

void attach(Program& program, size_t stage, size_t depth, const Attachment& where) {
  Kernel& kernel = program.kernels[where.to.kernel];
  Nest placed = placed_nest(program.graph, stage, where.region, kernel.variable_count);
  if (!where.whole)
    for (TensorId id : program.graph.stages[stage].results) program.scopes[id.value] = Scope::Local;
  std::vector<Nest::Attached>& attached = nest_at(program, where.to).attached;
  const auto after = std::ranges::find_if(attached, [&](const Nest::Attached& a) {
    return std::pair(a.depth, a.nest.stage) > std::pair(depth, stage);
  });
  attached.insert(after, {depth, std::move(placed)});
}

}  // namespace adjit::sched
