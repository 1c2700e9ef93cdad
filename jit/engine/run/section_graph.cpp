// jit/engine/run/section_graph.cpp -- a section's graph: made once, told of addresses that change.
#include "jit/engine/run/section_graph.hpp"

#include <algorithm>
#include <span>

#include "jit/engine/run/place_step.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {
namespace {

// Visits kernels in the order of a graph's nodes, each with its addresses in the frame's table.
template <typename Visit>
void walk(CudaFrame& frame, std::span<const StepPlan> steps, const Visit& visit) {
  for (const StepPlan& step : steps) {
    if (!step.scan) {
      const CudaKernel& kernel = frame.loaded.kernels[step.number];
      if (kernel.grid.blocks > 0) visit(kernel);
      continue;
    }
    const ScanPlan& scan = frame.loaded.plan.scans[step.number];
    walk(frame, scan.before, visit);
    for (int64_t n = 0; n < scan.trips; ++n) {
      place_step(frame.addresses, frame.workspace_at, scan, n,
                 [&](size_t buffer, void* address) { set_address(frame, buffer, address); });
      walk(frame, scan.steps, visit);
    }
  }
}

std::span<void* const> addresses_of(const CudaFrame& frame, const CudaKernel& kernel) {
  return std::span(frame.table).subspan(kernel.table, kernel.tensors);
}

int64_t table_bytes(const CudaKernel& kernel) {
  return kernel.by_table ? static_cast<int64_t>(kernel.tensors * sizeof(void*)) : 0;
}

}  // namespace

SectionGraph::SectionGraph(const CudaCall& call, const CudaSection& section)
    : graph_(call.frame.loaded.gpu->context), changes_(call.frame.changes) {
  walk(call.frame, steps_of(call.frame.loaded.plan, section),
       [&](const CudaKernel& kernel) { add_node(call, kernel); });
  for (void*& address : addresses_) parameters_.push_back(static_cast<void*>(&address));
  take_tables(call);
  std::vector<NodeHandle> handles, after;
  size_t next = 0;
  for (const GraphNode& node : section.graph) {
    after.clear();
    for (size_t before : node.waits) after.push_back(handles[before]);
    if (node.kernel == GraphNode::kJoin) {
      handles.push_back(graph_.add_join(call.current, after));
      continue;
    }
    Node& added = nodes_.at(next++);
    added.handle = graph_.add(call.current, launch_of(added), after);
    handles.push_back(added.handle);
  }
  invariant(next == nodes_.size(), "a graph has other kernels than its section");
  graph_.instantiate(call.current);
  // Behind all that may fail: what is in the stream reads and writes memory of this.
  for (const Node& node : nodes_)
    if (node.kernel->by_table) copy_table(call, node);
}

void SectionGraph::add_node(const CudaCall& call, const CudaKernel& kernel) {
  nodes_.push_back({nullptr, &kernel, addresses_.size()});
  const std::span<void* const> addresses = addresses_of(call.frame, kernel);
  addresses_.insert(addresses_.end(), addresses.begin(), addresses.end());
  if (kernel.by_table) addresses_.push_back(nullptr);
}

void SectionGraph::take_tables(const CudaCall& call) {
  int64_t bytes = 0;
  for (const Node& node : nodes_) bytes += table_bytes(*node.kernel);
  tables_ = call.frame.loaded.gpu->memory.allocate(bytes);
  std::byte* at = pointer_to(tables_.address());
  for (const Node& node : nodes_) {
    if (!node.kernel->by_table) continue;
    addresses_[node.first + node.kernel->tensors] = static_cast<void*>(at);
    at += table_bytes(*node.kernel);
  }
}

void SectionGraph::copy_table(const CudaCall& call, const Node& node) const {
  void* const copy = addresses_[node.first + node.kernel->tensors];
  copy_to_device(call.current, address_of(copy),
                 static_cast<const void*>(addresses_.data() + node.first),
                 table_bytes(*node.kernel), call.stream);
}

KernelLaunch SectionGraph::launch_of(const Node& node) {
  const size_t behind = node.kernel->by_table ? node.kernel->tensors : 0;
  return engine::launch_of(*node.kernel, parameters_.data() + node.first + behind);
}

void SectionGraph::update(const CudaCall& call, const CudaSection& section) {
  size_t next = 0;
  walk(call.frame, steps_of(call.frame.loaded.plan, section), [&](const CudaKernel& kernel) {
    const Node& node = nodes_[next++];
    const std::span<void* const> now = addresses_of(call.frame, kernel);
    const auto told = addresses_.begin() + static_cast<std::ptrdiff_t>(node.first);
    if (std::equal(now.begin(), now.end(), told)) return;
    std::ranges::copy(now, told);
    if (kernel.by_table)
      copy_table(call, node);
    else
      graph_.change(call.current, node.handle, launch_of(node));
  });
  changes_ = call.frame.changes;
}

void SectionGraph::launch(const CudaCall& call, const CudaSection& section) {
  if (changes_ != call.frame.changes) update(call, section);
  graph_.launch(call.current, call.stream);
}

}  // namespace adjit::engine
