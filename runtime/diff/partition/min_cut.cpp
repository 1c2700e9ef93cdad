// runtime/diff/partition/min_cut.cpp -- Dinic's algorithm without recursion.
#include "runtime/diff/partition/min_cut.hpp"

#include <algorithm>

namespace adjit::diff {
namespace {
constexpr size_t kUnreached = SIZE_MAX;
}  // namespace

void Network::add_edge(size_t from, size_t to, int64_t capacity) {
  edges_of_[from].push_back(edges_.size());
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(edges_.size());
  edges_.push_back({from, 0});
}

// Breadth first from the source over edges with capacity left.
bool Network::find_levels(size_t source, size_t sink) {
  level_.assign(edges_of_.size(), kUnreached);
  level_[source] = 0;
  std::vector<size_t> queue{source};
  for (size_t at = 0; at < queue.size(); ++at)
    for (size_t e : edges_of_[queue[at]])
      if (edges_[e].left > 0 && level_[edges_[e].to] == kUnreached) {
        level_[edges_[e].to] = level_[queue[at]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[sink] != kUnreached;
}

// One augmenting path along increasing levels; 0 when the level graph is exhausted.
int64_t Network::push_one_path(size_t source, size_t sink) {
  std::vector<size_t> path;  // edges
  size_t node = source;
  while (node != sink) {
    size_t& next = next_[node];
    while (next < edges_of_[node].size()) {
      const Edge& edge = edges_[edges_of_[node][next]];
      if (edge.left > 0 && level_[edge.to] == level_[node] + 1) break;
      ++next;
    }
    if (next < edges_of_[node].size()) {
      path.push_back(edges_of_[node][next]);
      node = edges_[path.back()].to;
      continue;
    }
    if (path.empty()) return 0;
    node = edges_[path.back() ^ 1].to;  // a dead end: step back and go past it
    path.pop_back();
    ++next_[node];
  }
  int64_t amount = kUnbounded;
  for (size_t e : path) amount = std::min(amount, edges_[e].left);
  for (size_t e : path) {
    edges_[e].left -= amount;
    edges_[e ^ 1].left += amount;
  }
  return amount;
}

std::vector<char> Network::sink_side(size_t source, size_t sink, int64_t& flow) {
  flow = 0;
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (const int64_t amount = push_one_path(source, sink))
      flow = std::min(kUnbounded, flow + amount);
  }
  // Backwards from the sink over edges with capacity left.
  std::vector<char> side(edges_of_.size(), 0);
  side[sink] = 1;
  std::vector<size_t> stack{sink};
  while (!stack.empty()) {
    const size_t node = stack.back();
    stack.pop_back();
    for (size_t e : edges_of_[node]) {
      const size_t from = edges_[e].to;
      if (edges_[e ^ 1].left <= 0 || side[from]) continue;
      side[from] = 1;
      stack.push_back(from);
    }
  }
  return side;
}

}  // namespace adjit::diff
