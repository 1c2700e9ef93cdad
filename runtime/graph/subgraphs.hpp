// runtime/graph/subgraphs.hpp -- a pass over graphs applied inside scans and calls too.
#pragma once

#include <memory>
#include <utility>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// Replaces every graph inside the stage (a scan's body, a call's body, forward and
/// backward) by `pass` of it.
template <class Pass>
void map_subgraphs(Stage& stage, Pass&& pass) {
  const auto apply = [&](std::shared_ptr<const Graph>& graph) {
    if (graph) graph = std::make_shared<const Graph>(pass(*graph));
  };
  if (stage.scan) {
    Scan scan = *stage.scan;
    apply(scan.body);
    stage.scan = std::make_shared<const Scan>(std::move(scan));
  }
  if (stage.call) {
    Call call = *stage.call;
    apply(call.body);
    apply(call.forward);
    apply(call.backward);
    stage.call = std::make_shared<const Call>(std::move(call));
  }
}

/// The graph with `pass` applied to every graph inside its stages.
template <class Pass>
Graph with_subgraphs(Graph graph, Pass&& pass) {
  for (Stage& stage : graph.stages) map_subgraphs(stage, pass);
  return graph;
}

}  // namespace adjit::graph
