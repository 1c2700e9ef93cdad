// runtime/diff/partition/min_cut.hpp -- a minimum cut of a directed network (Dinic's algorithm,
// iterative).
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::diff {

class Network {
 public:
  static constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() / 4;

  explicit Network(size_t nodes) : edges_of_(nodes) {}
  void add_edge(size_t from, size_t to, int64_t capacity);

  /// Per node, whether it lies on the sink's side of the minimum cut nearest to the sink. `flow`
  /// gets the cut's capacity.
  std::vector<char> sink_side(size_t source, size_t sink, int64_t& flow);

 private:
  struct Edge {
    size_t to;
    int64_t left;  // capacity left
  };
  bool find_levels(size_t source, size_t sink);
  int64_t push_one_path(size_t source, size_t sink);

  std::vector<Edge> edges_;  // edge e and its reverse e ^ 1
  std::vector<std::vector<size_t>> edges_of_;
  std::vector<size_t> level_, next_;
};

}  // namespace adjit::diff
