// jit/engine/plan/kernel_list.hpp -- the kernels of a program and of the programs that its scans
// run, in one list.
#pragma once

#include <deque>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"
#include "jit/emit/layout.hpp"

namespace adjit::engine {

/// Kernels in the order in which they first run; the program must outlive the list.
class KernelList {
 public:
  struct Entry {
    const Program* program;
    size_t kernel;                             // of that program
    const std::vector<TensorLayout>* layouts;  // per tensor of its graph
    int64_t calls = 1;                         // a run: more in the steps of a scan
  };

  KernelList(const Program& program, std::span<const TensorLayout> input_layouts);

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void add(const Program& program, std::span<const TensorLayout> input_layouts, int64_t calls);

  std::deque<std::vector<TensorLayout>> layouts_;
  std::vector<Entry> entries_;
};

/// Row-major, but for the inputs.
std::vector<TensorLayout> layouts_of(const LoweredGraph& graph,
                                     std::span<const TensorLayout> input_layouts);
/// The layouts in which a scan's step finds its inputs.
std::vector<TensorLayout> step_layouts(const Graph& graph, const Stage& scan,
                                       std::span<const TensorLayout> layouts);

}  // namespace adjit::engine
