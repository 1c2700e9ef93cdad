// tests/autosched/random_blocks.hpp -- programs for GPUs, in which random moves made blocks of
// threads of many kinds.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "autosched/program/threads.hpp"
#include "tests/autosched/random_moves.hpp"

namespace adjit::testing {

/// Draws one of the moves that blocks are made of, about a stage and loops that are there: more
/// often legal than MoveDraw's, not always.
class BlockMoveDraw {
 public:
  /// Both must outlive it.
  BlockMoveDraw(const Program& program, Random& random) : program_(program), random_(random) {}

  /// null: the stage that was drawn has no nest.
  Json operator()() {
    const size_t stage = below(program_.graph.stages.size());
    const std::optional<NestPath> path = find_nest(program_, stage);
    if (!path) return {};
    const Nest& nest = nest_at(program_, *path);
    Json move = arguments(stage, nest, random_.between(0, 99));
    if (move.is_object()) move["stage"] = name_of(stage);
    return move;
  }

 private:
  size_t below(size_t end) {
    return static_cast<size_t>(random_.between(0, static_cast<int64_t>(end) - 1));
  }
  std::string name_of(size_t stage) const {
    return stage_name(program_.graph, program_.graph.stages[stage]);
  }

  Json arguments(size_t stage, const Nest& nest, int64_t drawn) {
    if (nest.loops.empty()) return drawn < 50 ? compute_at(stage) : Json();
    const size_t axis = nest.loops[below(nest.loops.size())].axis;
    if (drawn < 35) return {{"move", "threads"}, {"axis", axis}, {"count", count(nest, axis)}};
    if (drawn < 50) return {{"move", "reorder"}, {"order", neighbours_exchanged(nest)}};
    if (drawn < 70) return compute_at(stage);
    if (drawn < 80)
      return {{"move", "tile"}, {"axis", axis}, {"steps", {int64_t{1} << random_.between(1, 3)}}};
    if (drawn < 87)
      return {{"move", "vectorize"}, {"axis", axis}, {"lanes", random_.between(1, 2) * 2}};
    if (drawn < 93) return {{"move", "unroll"}, {"axis", axis}, {"factor", random_.between(2, 3)}};
    if (drawn < 97) return {{"move", "pipeline"}, {"buffers", random_.between(2, 4)}};
    return {{"move", "parallel"}, {"loops", random_.between(1, 2)}};
  }

  // All trips of the axis' innermost serial loop, or some.
  int64_t count(const Nest& nest, size_t axis) {
    if (random_.chance(60)) return random_.between(2, 5);
    for (size_t l = nest.loops.size(); l-- > 0;)
      if (nest.loops[l].axis == axis && nest.loops[l].kind == LoopKind::Serial)
        return std::max<int64_t>(nest.loops[l].trips, 1);
    return 1;
  }

  std::vector<size_t> neighbours_exchanged(const Nest& nest) {
    std::vector<size_t> order(nest.loops.size());
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    for (int64_t n = order.size() > 1 ? random_.between(1, 3) : 0; n > 0; --n) {
      const size_t k = below(order.size() - 1);
      std::swap(order[k], order[k + 1]);
    }
    return order;
  }

  // In a reader's loops, or where that is computed.
  Json compute_at(size_t stage) {
    const TensorId result = program_.graph.stages[stage].results[0];
    const std::vector<size_t>& readers = program_.readers[result.value];
    if (readers.empty()) return {};
    const size_t host = random_.pick(readers);
    const std::optional<NestPath> path = find_nest(program_, host);
    const size_t loops = path ? nest_at(program_, *path).loops.size() : 0;
    if (loops == 0) return {};
    return {{"move", "compute_at"}, {"host", name_of(host)}, {"depth", 1 + below(loops)}};
  }

  const Program& program_;
  Random& random_;
};

/// Points that a nest and all attached to it run, where it runs so many times.
inline double points_run(const Nest& nest, double times = 1) {
  double points = 0;
  for (size_t l = 0; l <= nest.loops.size(); ++l) {
    for (const Nest::Attached& attached : nest.attached)
      if (attached.depth == l) points += points_run(attached.nest, times);
    if (l < nest.loops.size()) times *= static_cast<double>(nest.loops[l].trips);
  }
  return points + times;
}
/// Whether the interpreter of programs takes no second.
inline bool is_quick(const Program& program) {
  constexpr double kMostPoints = 20'000;
  return std::ranges::all_of(
      program.kernels, [](const Kernel& kernel) { return points_run(kernel.root) < kMostPoints; });
}

/// A plain program for a GPU after `attempts` random moves, half of them any, half of blocks; those
/// that are refused are left out, and what would take long to run.
inline Program random_block_program(const Graph& graph, uint64_t seed, int attempts) {
  Random random(seed);
  Program program = initial_program(graph, GpuMachine());
  for (int attempt = 0; attempt < attempts; ++attempt) try {
      // Those that rewrite the graph come first: they take kernels without anything attached.
      if (random.chance(attempt < attempts / 3 ? 60 : 5)) {
        program = random_move(program, random);
        continue;
      }
      const Json move = BlockMoveDraw(program, random)();
      if (!move.is_object()) continue;
      const auto row =
          std::ranges::find(move_table(), move.at("move").get<std::string>(), &MoveRow::name);
      Program made = program;
      row->apply(made, MoveEntry(move, made));
      if (is_quick(made)) program = std::move(made);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
    }
  return program;
}

}  // namespace adjit::testing
