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

  /// `output_alignments`: of the program's outputs, as TensorLayout::alignment; what is not there
  /// is 0. Code for a processor knows no alignment at all.
  KernelList(const Program& program, std::span<const TensorLayout> input_layouts,
             std::span<const int64_t> output_alignments = {});

  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void add(const Program& program, std::span<const TensorLayout> input_layouts,
           std::span<const int64_t> output_alignments, int64_t calls);

  std::deque<std::vector<TensorLayout>> layouts_;
  std::vector<Entry> entries_;
};

/// Row-major, but for the inputs.
std::vector<TensorLayout> layouts_of(const LoweredGraph& graph,
                                     std::span<const TensorLayout> input_layouts);
/// The same, for a GPU's program with what divides their addresses: those of its own tensors as
/// alignment_of() says, of tensors that share a buffer the least.
std::vector<TensorLayout> layouts_of(const Program& program,
                                     std::span<const TensorLayout> input_layouts,
                                     std::span<const int64_t> output_alignments);
/// The layouts in which a scan's step finds its inputs: what it starts from and what the step
/// before gave are found in one way, and so are all its slices.
std::vector<TensorLayout> step_layouts(const Graph& graph, const Stage& scan,
                                       std::span<const TensorLayout> layouts);
/// What divides the addresses of the outputs of a scan's steps, which are those of `steps`.
std::vector<int64_t> step_output_alignments(const Stage& scan,
                                            std::span<const TensorLayout> layouts,
                                            const LoweredGraph& steps);

}  // namespace adjit::engine
