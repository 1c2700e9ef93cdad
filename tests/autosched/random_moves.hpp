// tests/autosched/random_moves.hpp -- random moves, and programs that many of them made.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

// One random move, legal or not.
inline Program random_move(Program p, Random& random) {
  const auto stages = static_cast<int64_t>(p.graph.stages.size());
  const auto s = static_cast<size_t>(random.between(0, stages - 1));
  const auto other = static_cast<size_t>(random.between(0, stages - 1));
  const auto axis = static_cast<size_t>(random.between(0, 4));
  const std::optional<NestPath> path = find_nest(p, s);
  if (!path) return p;
  // Parts of parts of parts grow: large enough is enough.
  const bool large = p.graph.info(p.graph.stages[s].results[0]).element_count() > 2000;
  switch (random.between(0, 27)) {
    case 0: return tile(std::move(p), s, axis, std::vector<int64_t>{random.between(1, 5)});
    case 1: return vectorize(std::move(p), s, axis, int64_t{2} << random.between(0, 3));
    case 2: return unroll(std::move(p), s, axis, random.between(2, 4));
    case 3: return parallel(std::move(p), s, static_cast<size_t>(random.between(1, 2)));
    case 4:
    case 5: {
      const auto depth = static_cast<size_t>(random.between(1, 3));
      return compute_at(std::move(p), s, other, depth);
    }
    case 6: return inline_stages(std::move(p), std::vector<size_t>{s});
    case 7: return recompute(std::move(p), std::vector<size_t>{s});
    case 8:
      if (large) return p;
      return rfactor(std::move(p), s, axis, random.between(2, 4));
    case 9:
      if (large) return p;
      return split_residues(std::move(p), s, axis, random.between(2, 4));
    case 10:
      if (large) return p;
      return privatize_scatter(std::move(p), s, axis, random.between(2, 4));
    case 11: return fuse_siblings(std::move(p), std::vector<size_t>{s, other});
    case 12: return unroll_reduction(std::move(p), s);
    case 13: return store_nontemporal(std::move(p), s);
    case 14: return scatter_layout(std::move(p), s, axis);
    case 15:
      return materialize_common(std::move(p),
                                std::vector<Hoisted>{{s, {axis, 0}}, {other, {0, axis}}});
    case 16: return make_adjacent(std::move(p), std::vector<size_t>{s, other});
    case 17: {
      const auto depth = static_cast<size_t>(random.between(1, 2));
      return interleave(std::move(p), s, depth, random.between(2, 4));
    }
    case 18:
      if (stages > 20) return p;
      return rematerialize(std::move(p), s, other);
    case 19: return eager_outputs(std::move(p));
    case 20: {
      if (large) return p;
      std::vector<StageAxis> stages{{s, axis}};
      if (other != s) stages.push_back({other, static_cast<size_t>(random.between(0, 2))});
      const int64_t block = random.between(1, 3);
      std::vector<int64_t> steps{block};
      if (random.between(0, 1) == 0) steps.insert(steps.begin(), 2 * block);
      return split_axis(std::move(p), stages, steps);
    }
    case 22: return alias_reshape(std::move(p), s);
    case 23:
      if (large || stages > 20) return p;
      return fuse_axes(std::move(p), s, axis);
    case 24:
      if (large || stages > 20) return p;
      return transpose_output(std::move(p), s, axis);
    case 25: {
      if (large || stages > 20) return p;
      const std::vector<TensorId> read = tensors_read(p.graph, p.graph.stages[s]);
      if (read.empty()) return p;
      const auto which = random.between(0, static_cast<int64_t>(read.size()) - 1);
      return gather_reduce(std::move(p), s, read[static_cast<size_t>(which)]);
    }
    case 26:
      if (large || stages > 20) return p;
      return scatter_accumulate(std::move(p), s);
    case 21: return pad_leading_dimension(std::move(p), s, random.between(1, 5));
    default: {
      std::vector<size_t> order(nest_at(p, *path).loops.size());
      for (size_t k = 0; k < order.size(); ++k) order[k] = k;
      for (size_t k = order.size(); k > 1; --k)
        std::swap(order[k - 1],
                  order[static_cast<size_t>(random.between(0, static_cast<int64_t>(k) - 1))]);
      return reorder(std::move(p), s, order);
    }
  }
}

/// The plainest program of a graph after `attempts` random moves, of which the illegal ones are
/// refused; `made` (may be null) counts the others.
inline Program random_program(const Graph& graph, uint64_t seed, int attempts,
                              size_t* made = nullptr) {
  Random random(seed);
  Program program = initial_program(graph, 2, 512);
  for (int attempt = 0; attempt < attempts; ++attempt) try {
      program = random_move(program, random);
      if (made) ++*made;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
    }
  return program;
}

}  // namespace adjit::testing
