// jit/engine/run/section_graph.hpp -- the kernels of a section as one launch of a graph, with the
// addresses that they have in a frame.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "jit/cuda/graph.hpp"
#include "jit/cuda/memory.hpp"
#include "jit/engine/run/cuda_steps.hpp"

namespace adjit::engine {

/// One call at a time uses it, all of one frame and one section.
class SectionGraph {
 public:
  /// With the addresses of this call. Takes memory. ErrorCode::Memory where the device has none.
  SectionGraph(const CudaCall& call, const CudaSection& section);

  /// Tells the graph which addresses are others than at its last launch, and launches it: no wait,
  /// no memory. After an error it is not to be used again.
  void launch(const CudaCall& call, const CudaSection& section);

 private:
  struct Node {
    NodeHandle handle = nullptr;
    const CudaKernel* kernel = nullptr;
    size_t first = 0;  // of its addresses; behind them that of their copy, if it takes a table
  };

  KernelLaunch launch_of(const Node& node);
  void add_node(const CudaCall& call, const CudaKernel& kernel);
  void take_tables(const CudaCall& call);
  void copy_table(const CudaCall& call, const Node& node) const;
  void update(const CudaCall& call, const CudaSection& section);

  KernelGraph graph_;
  std::vector<Node> nodes_;        // those of kernels
  std::vector<void*> addresses_;   // of all nodes
  std::vector<void*> parameters_;  // where these are
  DeviceMemory tables_;
  uint64_t changes_ = 0;  // of the frame, when the graph was told
};

}  // namespace adjit::engine
