// jit/cuda/graph.hpp -- kernels that one call of the driver launches, each behind those it waits
// for.
#pragma once

#include <span>

#include "jit/cuda/stream.hpp"

namespace adjit::cuda {

/// A graph of launches. First all of them are added, then it is instantiated, once, then launched
/// any number of times; launches of it follow each other, whatever their streams. It ends without a
/// call where the context was lost.
class KernelGraph {
 public:
  explicit KernelGraph(PrimaryContext& context);
  ~KernelGraph();
  KernelGraph(const KernelGraph&) = delete;
  KernelGraph& operator=(const KernelGraph&) = delete;

  /// Behind nodes of this graph, each named once. Parameters have been read when it returns.
  NodeHandle add(const CurrentContext& current, const KernelLaunch& kernel,
                 std::span<const NodeHandle> after);
  /// What does nothing, for others to wait for.
  NodeHandle add_join(const CurrentContext& current, std::span<const NodeHandle> after);
  /// Takes 3 to 4 us a node. ErrorCode::Memory where there is no room on the device.
  void instantiate(const CurrentContext& current);

  /// Other parameters for the launches to come, of the same function and grid: 0.2 us.
  void change(const CurrentContext& current, NodeHandle node, const KernelLaunch& kernel);
  void launch(const CurrentContext& current, StreamHandle stream);

 private:
  PrimaryContext& context_;
  GraphHandle graph_ = nullptr;
  GraphExecHandle exec_ = nullptr;
};

}  // namespace adjit::cuda
