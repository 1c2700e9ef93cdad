// jit/cuda/graph.cpp -- kernels that one call of the driver launches.
#include "jit/cuda/graph.hpp"

#include "jit/cuda/result.hpp"

namespace adjit::cuda {
namespace {

KernelNode node_of(const KernelLaunch& kernel) {
  KernelNode node;
  node.function = kernel.function;
  node.blocks_x = blocks_of(kernel.grid);
  node.threads_x = static_cast<unsigned>(kernel.grid.threads);
  node.shared_bytes = static_cast<unsigned>(kernel.grid.shared_bytes);
  node.parameters = kernel.parameters;
  return node;
}

}  // namespace

KernelGraph::KernelGraph(PrimaryContext& context) : context_(context) {
  const CurrentContext current(context);
  current.require(current.driver().create_graph(&graph_, 0), "cuGraphCreate");
}

KernelGraph::~KernelGraph() {
  try {
    const CurrentContext current(context_);
    const RelaxedCapture relaxed(current);
    if (exec_ != nullptr) static_cast<void>(current.driver().destroy_graph_exec(exec_));
    static_cast<void>(current.driver().destroy_graph(graph_));
  } catch (const Error&) {
    return;  // it is gone with its context
  }
}

NodeHandle KernelGraph::add(const CurrentContext& current, const KernelLaunch& kernel,
                            std::span<const NodeHandle> after) {
  const KernelNode node = node_of(kernel);
  NodeHandle added = nullptr;
  current.require(
      current.driver().add_kernel_node(&added, graph_, after.data(), after.size(), &node),
      "cuGraphAddKernelNode");
  return added;
}

NodeHandle KernelGraph::add_join(const CurrentContext& current, std::span<const NodeHandle> after) {
  NodeHandle added = nullptr;
  current.require(current.driver().add_empty_node(&added, graph_, after.data(), after.size()),
                  "cuGraphAddEmptyNode");
  return added;
}

void KernelGraph::instantiate(const CurrentContext& current) {
  const RelaxedCapture relaxed(current);
  current.require(current.driver().instantiate_graph(&exec_, graph_, 0), "cuGraphInstantiate");
}

void KernelGraph::change(const CurrentContext& current, NodeHandle node,
                         const KernelLaunch& kernel) {
  const KernelNode changed = node_of(kernel);
  current.require(current.driver().set_kernel_node(exec_, node, &changed),
                  "cuGraphExecKernelNodeSetParams");
}

void KernelGraph::launch(const CurrentContext& current, StreamHandle stream) {
  current.require(current.driver().launch_graph(exec_, stream), "cuGraphLaunch");
}

}  // namespace adjit::cuda
