// tests/autosched/modelled.hpp -- the tile model of a graph's last stage.
#pragma once

#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/tile/tile_model.hpp"

namespace adjit::sched {

/// Copies of each axis of a stage in a tile.
using Factors = std::vector<int64_t>;

/// The last stage of a graph with lanes along an axis.
struct Modelled {
  struct How {
    int bits = 256;    // of a vector
    double calls = 1;  // of the stage
    bool may_pack = false;
    double passes = 1;
    std::vector<size_t> task_axes = {};
  };

  Modelled(Graph of, size_t vector_axis, How how)
      : graph(std::move(of)),
        accesses(accesses_of(graph, graph.stages.back())),
        machine{.vector_bits = how.bits},
        problem{graph,        graph.stages.back(),
                accesses,     graph.stages.back().domain.extents,
                machine,      0,
                how.may_pack, how.calls,
                how.passes,   std::move(how.task_axes)},
        model(problem, vector_axis) {}
  Modelled(Graph of, size_t vector_axis) : Modelled(std::move(of), vector_axis, How{}) {}
  Modelled(const Modelled&) = delete;

  /// The number of the read of a tensor.
  size_t read_of(std::string_view tensor) const {
    for (size_t r = 0; r < accesses.reads.size(); ++r)
      if (graph.info(accesses.reads[r].tensor).name == tensor) return r;
    throw std::logic_error("the stage does not read that tensor");
  }

  const LoweredGraph graph;
  const Accesses accesses;
  const CpuMachine machine;
  const TileProblem problem;
  const TileModel model;
};

}  // namespace adjit::sched
