// autosched/program/program.hpp -- a scheduled computation: kernels, each a tree of loop nests over
// a graph's stages.
//
// A program is a value. `initial_program` (initial_program.hpp) makes the plainest legal one; moves
// (moves.hpp) are the only way to change one; the emitter (jit/emit) turns any legal program into
// code. A program holds its own graph, because some moves rewrite stages (inline, rfactor,
// pack).
//
// Loops. Every axis of a stage is covered by one or more loops of its nest, whose steps multiply
// up: an axis of extent 100 tiled by 32 has a loop of step 32 (4 trips) and one of step 1 (32
// trips). A loop's *variable* counts in axis points: it takes the values 0, step, 2*step, ... So
// the value of axis a is
//     axis_base[a] + sum of the variables of the loops over a,
// an affine form over the kernel's variables. Points past the axis' extent (the last tile of a
// ragged axis) are not executed: serial loops stop early, threads are idle, unrolled loops have a
// second, shorter copy, vector loops are masked. An axis of span 1 may have no loop at all. The
// trips of a vector loop are its lanes (a power of two); where the axis is shorter than that, the
// loop is the axis' only one and covers it with lanes to spare.
//
// Scatters. The nest of a (lowered) scatter has no accumulators: every point reads, combines and
// writes the element that its target names, after what the buffer held before. Loops over axes that
// write apart (nests.hpp) may be parallel, all others are serial, unrolled or lanes. Lanes along an
// axis that does not write apart are computed together and written one after the other. A scatter
// may write only in a segment of an axis for each row (segments.hpp), and one that is known to
// write each element once (lowered_graph.hpp) has no order: any of its loops may be parallel.
//
// Segments. A reduction, too, may have points that add something in a segment of its axis alone
// (segments.hpp). A serial loop over the axis directly above the tile goes through nothing else.
//
// Running reductions. A stage that runs on (lowered_graph.hpp) has accumulators that go on along
// that axis: its loops over the axis are serial, the last ones above the tile, and every point of
// it is stored. On a GPU they may be others than serial: the last loops of the nest are then serial
// ones over the axis, at most one of threads, and the tile's, which has no other axis. Each thread
// combines its own points, one after the other; what the threads before it have comes in front of
// them by a fixed tree of a warp, then warp after warp; what the serial loops' iterations before
// had comes in front of that. The threads are a power of two, and where they are several warps' the
// nest has no others. It is the root, with nothing attached, and its combiner is one of those that
// lanes take.
//
// Scans. A (lowered) scan is a kernel of its own, which runs a program, that of its body, once a
// step.
//
// Tasks in turn. A parallel loop may also be over a reduction axis, if what is combined has partial
// results as wide as what is stored: tasks that differ in it alone go on from what the one before
// left in memory, so that one thread runs them one after the other (tasks_in_turn).
//
// Results in place. A stage that only gives a tensor of the workspace another shape, whose elements
// have the same order, may be in no kernel: that tensor lies where the stage's result does.
//
// Order. `loops` go outermost first: first the parallel ones (a prefix), then
// serial and thread loops, last the tile: unrolled loops and, innermost, at most one vector loop,
// whose points are computed together in registers. Reduction loops that stand directly above the
// tile keep their accumulators in registers; a serial reduction loop above an output loop reads and
// updates the partial result in memory. A vector loop over a reduction axis has one accumulator a
// lane (only Sum, Product, Max, Min, Any, All), and then an unrolled loop over a reduction axis one
// accumulator an instance; all are combined by a fixed tree at the end. Without lanes of the
// reduction, unrolled instances of a reduction go through one accumulator in order.
//
// Threads (threads.hpp). A kernel of a GPU with a thread loop in any of its nests is a block
// kernel: a task is run by a block of threads; without one by a single thread. Trip k of a thread
// loop is thread k's. A nest with several numbers its threads row by row, the last loop's trips
// follow each other; the block has as many threads as the nest with the most, and those that a nest
// has no trips for are idle in it. Thread loops over output axes divide the results among the
// threads. A thread loop over a reduction axis has one accumulator a thread, as lanes have, and of
// the same combiners, or of ArgMax and ArgMin whose second component tells the order of the points
// (winners.hpp): it then decides between equal values, whatever the order. All are combined by a
// fixed tree at the end, and the thread with trip 0 of these loops stores. A nest in which threads
// reduce together (such loops, or thread loops over output axes inside serial loops of the
// reduction) keeps all its accumulators: from its first thread loop in, outside the tile, all loops
// are thread loops or serial ones of the reduction; further serial loops of the reduction stand
// directly outside of it. Where it has thread loops over an output axis that is in the tile, too,
// and these do not divide it, the last tile has all its points as well: those past the axis' end
// are computed from whatever is there (zeros, or what a local buffer holds), and not stored. A nest
// that the block runs does not update partial results in memory around what is attached to it.
// Scatters have no thread loops, running reductions those alone that have one along their axis, and
// what is computed in the loops of either has none.
//
// Who runs a nest of a block kernel follows from the tree. The block runs the root, and what is
// attached to what the block runs, outside its first thread loop: its serial loops outside its own
// first thread loop are gone through by all threads in step, the rest by each for itself, by thread
// 0 alone where it has no thread loops. A thread runs what is attached inside all thread loops, and
// what is attached to that; such a nest has no thread loops. Nothing is attached between two thread
// loops. A local buffer of what the block runs is shared by its threads, that of what a thread runs
// is its own. What the block's threads store is seen by all of them once the nest is done; until
// then no thread reads, or writes again, what another one writes.
//
// Pipelines. What a block computes in a serial loop, at its beginning, may have several buffers:
// the result of iteration t lies in buffer t mod `buffers`, and is computed up to `buffers` - 1
// iterations early, so that what is loaded is under way while others compute. It has no reduction
// and nothing attached, its result is local, and it reads nothing that its kernel computes. All
// such nests at one depth have the same number of buffers.
//
// Attachment. A nest computed at depth d of another runs inside its loops [0, d), before its loop
// d, and produces the region of its tensor that the rest of that iteration reads: axis_base gives
// the region's origin (affine over the variables of the enclosing loops), spans its extents. Points
// of the region before 0 or past the axis' extent are not executed. Its result lives in a Local
// buffer of exactly that region (element i of the tensor is at i - axis_base), unless later kernels
// or the caller need it too: then its scope is Workspace or Argument, it is stored at its place in
// the whole tensor, and the regions of all iterations cover the tensor without two parallel tasks
// sharing a point. Nests attached at one depth run in the order of their stages. Kernels are
// ordered by the stage of their root. The host may be a scatter, then for local buffers only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/machine/target.hpp"
#include "autosched/program/lowered_graph.hpp"
#include "runtime/expr/affine.hpp"

namespace adjit::sched {

enum class LoopKind : uint8_t { Serial, Parallel, Unrolled, Vector, Thread };
std::string_view name_of(LoopKind kind);

struct Loop {
  size_t axis = 0;    // of the stage's domain
  int64_t step = 1;   // axis points per trip
  int64_t trips = 1;  // full count; the last may be partial when the axis is ragged
  LoopKind kind = LoopKind::Serial;
  uint32_t variable = 0;  // number within its kernel
};

struct Nest {
  size_t stage = 0;  // index into Program::graph.stages
  std::vector<Loop> loops;
  std::vector<Affine> axis_base;  // per axis, over the kernel's variables: 0 for a root nest
  std::vector<int64_t> spans;     // per axis: points that the loops cover (extent, or region's)
  bool streamed = false;  // whole vectors of its results go to memory past the caches, if aligned
  /// Variable of a serial loop of its own, or around it: what an iteration soon after reads at the
  /// same places is fetched.
  std::optional<uint32_t> ahead;
  /// Of what a block computes in a serial loop of its host: how many iterations of that loop have a
  /// buffer of its result at once (Pipelines above). 1: the same one serves them all.
  int64_t buffers = 1;
  struct Attached;
  std::vector<Attached> attached;  // in execution order within equal depth
};
struct Nest::Attached {
  size_t depth = 0;  // >= 1 when the host has loops: inside the host's loops [0, depth)
  Nest nest;
};

struct Program;

struct Kernel {
  Nest root;  // of a scan: without loops
  uint32_t variable_count = 0;
  std::shared_ptr<const Program> steps;  // of a scan, else null: a program of its body
};

enum class Scope : uint8_t {
  Argument,   // an input, output or constant: strides are the caller's
  Workspace,  // between kernels: planned by liveness, contiguous
  Local,      // inside one iteration of a kernel: stack, registers, or shared by a block
  None,       // inlined: never stored
};
std::string_view name_of(Scope scope);

struct Program {
  LoweredGraph graph;
  std::vector<Kernel> kernels;  // in execution order; a stage is in one nest, or in place
  size_t in_place = 0;          // stages that are, after which only loops are moved
  std::vector<Scope> scopes;    // per tensor
  std::vector<std::vector<size_t>> readers;  // per tensor: the stages that read it, ascending
  Target target;                             // what the schedule aims at; never changes results
  double calls = 1;                          // the steps of a scan: its trips
  /// The moves that made it, as JSON text (see moves.hpp): replaying them on initial_program gives
  /// this program.
  std::string moves_json = "[]";
  /// What the default schedule wanted and moves refused, with the reason (attempts.hpp): it was
  /// left out. None is expected.
  std::vector<std::string> fallbacks = {};
};

/// The program's fallbacks and those of its scans' steps.
std::vector<std::string> fallbacks_of(const Program& program);

/// The loop nests as readable text.
std::string print(const Program& program);

/// Number of the nest's leading loops that are parallel, and the product of their trips.
size_t parallel_depth(const Nest& nest);
int64_t task_count(const Nest& nest);
/// How many tasks of a kernel, with numbers that follow each other, run one after the other: those
/// of the parallel loops from the first one on that is over a reduction axis. 1: all are
/// independent.
int64_t tasks_in_turn(const Program& program, const Nest& root);
/// Whether the loop is of the register tile: Unrolled or Vector.
bool in_tile(const Loop& loop);
/// Index of the first loop of the register tile: all behind it are in it.
size_t tile_begin(const Nest& nest);

}  // namespace adjit::sched
