// autosched/gpu/columns/column_results.cpp -- pointwise stages behind sums over rows.
#include "autosched/gpu/columns/column_results.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "autosched/gpu/loops/vector_lanes.hpp"
#include "autosched/machine/gpu_machine.hpp"
#include "autosched/moves/attached/attachment.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// The stages that read results of a stage which the caller does not get; empty where it gets one.
std::set<size_t> readers_of(const Program& program, const Stage& sum) {
  std::set<size_t> readers;
  for (TensorId id : sum.results) {
    if (program.scopes[id.value] != Scope::Workspace) return {};
    readers.insert(program.readers[id.value].begin(), program.readers[id.value].end());
  }
  return readers;
}

// Whether a stage computes a number for each of the sum's columns.
bool goes_along(const Program& program, size_t reader, const Stage& sum) {
  const Stage& stage = program.graph.stages[reader];
  const std::vector<int64_t>& shape = program.graph.info(sum.results.front()).shape;
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::None &&
         !running_of(program.graph, stage) && is_alone(program, reader) &&
         stage.domain == shape_box(shape);
}

}  // namespace

Program join_readers(Program program, size_t sum) {
  const Stage& stage = program.graph.stages[sum];
  const std::set<size_t> readers = readers_of(program, stage);
  if (readers.size() < 2 || readers.size() > stage.results.size()) return program;
  std::vector<TensorId> made;
  for (const size_t reader : readers) {
    if (!goes_along(program, reader, stage)) return program;
    const std::vector<TensorId> read = tensors_read(program.graph, program.graph.stages[reader]);
    if (std::ranges::any_of(made, [&](TensorId id) {  // of another one of them
          return std::ranges::find(read, id) != read.end();
        }))
      return program;
    const std::vector<TensorId>& results = program.graph.stages[reader].results;
    made.insert(made.end(), results.begin(), results.end());
  }
  return fuse_siblings(std::move(program), std::vector<size_t>(readers.begin(), readers.end()));
}

Program attach_to_reader(Program program, size_t sum) {
  const Stage& stage = program.graph.stages[sum];
  const std::set<size_t> readers = readers_of(program, stage);
  if (readers.size() != 1 || !goes_along(program, *readers.begin(), stage)) return program;
  const size_t reader = *readers.begin(), last = stage.domain.output_rank - 1;
  const int64_t columns = stage.domain.extents[last];
  const int64_t tile = kWarpThreads * lanes_along(program.graph, stage, last, columns);
  if (columns <= tile) return program;
  Program tiled = sched::tile(program, reader, last, std::vector<int64_t>{tile});
  const size_t depth = nest_of(tiled, reader).loops.size() - 1;
  const Attachment where = attachment(tiled, sum, reader, depth);
  return where.refusal || where.whole ? std::move(program)
                                      : compute_at(std::move(tiled), sum, reader, depth);
}

}  // namespace adjit::sched
