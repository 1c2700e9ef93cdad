// autosched/gpu/split_prefixes.cpp -- long prefix reductions, by more threads.
#include "autosched/gpu/split_prefixes.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "autosched/gpu/loops/running_loops.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

// No GPU has run these kernels yet: all numbers are guesses.
constexpr int64_t kShortWalk = 128;  // points that one thread walks along: two launches' time
constexpr int64_t kLeastApart = 16;  // of a chunk whose points lie apart
// Points of a chunk that a block runs on along: as many steps of its threads as two launches take.
constexpr int64_t kLeastOfBlock = 1 << 14;
constexpr int64_t kFewSteps =
    1 << 17;                          // points that one block is done with before two launches are
constexpr double kBlocksThatFit = 8;  // of 256 threads: as many as there may be

// Threads that there are without a split: the axis' own loop is one thread's.
double threads_of_others(const Domain& domain, size_t axis) {
  double threads = 1;
  for (size_t a = 0; a < domain.rank(); ++a)
    if (a != axis) threads *= static_cast<double>(domain.extents[a]);
  return threads;
}

// Chunks as long as each other need no conditions, and lie where the results do: of the sizes from
// half to twice as many points the one next to it that divides the axis, else that size.
int64_t even_chunk(int64_t extent, int64_t wanted) {
  constexpr int64_t kVector = 4;  // elements of an access: whole ones, if there are such chunks
  for (const int64_t whole : {kVector, int64_t{1}}) {
    if (extent % whole != 0) continue;
    const int64_t all = extent / whole, some = std::max<int64_t>(1, wanted / whole);
    for (int64_t off = 0; 2 * off <= some; ++off)
      for (const int64_t chunk : {some + off, some - off})
        if (all % chunk == 0) return chunk * whole;
    for (int64_t chunk = some + some / 2; chunk <= 2 * some; ++chunk)
      if (all % chunk == 0) return chunk * whole;
  }
  return wanted;
}

// Parts of an axis along which a block runs on: two blocks that are done soon, or as many as the
// GPU has room for.
int64_t parts_of_rows(int64_t extent, double rows, const GpuMachine& machine) {
  const double room = kBlocksThatFit * machine.multiprocessors;
  if (extent < kFewSteps || 2 * rows > room) return 1;
  const auto chunk = static_cast<int64_t>(static_cast<double>(extent) * rows / room);
  return ceil_div(extent, even_chunk(extent, std::max(kLeastOfBlock, chunk)));
}

// Parts of a stage's axis; 1: it is left as it is.
int64_t parts_of(const LoweredGraph& graph, const Stage& stage, const GpuMachine& machine) {
  const Running* running = running_of(graph, stage);
  if (!running || !has_partial_results(stage.combiner.kind)) return 1;
  const int64_t extent = stage.domain.extents[running->axis];
  const double others = threads_of_others(stage.domain, running->axis);
  const double wanted = static_cast<double>(machine.multiprocessors) * machine.threads / 2;
  if (extent <= kShortWalk || others == 0) return 1;
  if (running_threads_of(graph, stage)) return parts_of_rows(extent, others, machine);
  if (2 * others > wanted) return 1;
  const int64_t chunk =
      std::max(kLeastApart, static_cast<int64_t>(static_cast<double>(extent) * others / wanted));
  return ceil_div(extent, even_chunk(extent, chunk));
}

// Or none, half as many, twice as many.
int64_t chosen_parts(const LoweredGraph& graph, const Stage& stage, int64_t parts,
                     Choices& choices) {
  const int64_t extent = stage.domain.extents[running_of(graph, stage)->axis];
  std::vector<int64_t> offered{parts, 1};
  if (parts >= 4) offered.push_back(parts / 2);
  if (4 * parts <= extent) offered.push_back(2 * parts);
  return offered[choices.pick(Decision::SplitPrefix, graph, stage, [&] {
    std::vector<std::string> words;
    for (const int64_t count : offered)
      words.push_back(count > 1 ? std::to_string(count) + " chunks" : "no chunks");
    return words;
  })];
}

}  // namespace

Program split_long_prefixes(Program program, const GpuMachine& machine, Choices& choices) {
  // What comes before the chunks stands behind their totals: it is looked at soon.
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    if (!is_alone(program, s)) continue;
    const Stage& stage = program.graph.stages[s];
    int64_t parts = parts_of(program.graph, stage, machine);
    if (parts > 1) parts = chosen_parts(program.graph, stage, parts, choices);
    if (parts > 1) program = split_running(std::move(program), s, parts);
  }
  return program;
}

}  // namespace adjit::sched
