// jit/engine/plan/kernel_list.cpp -- programs within programs, flattened.
#include "jit/engine/plan/kernel_list.hpp"

#include <algorithm>
#include <numeric>

#include "autosched/analysis/scan_invariants.hpp"
#include "autosched/analysis/shared_buffers.hpp"
#include "jit/engine/plan/arrangement.hpp"

namespace adjit::engine {
namespace {

// Of slices so many bytes apart.
int64_t of_slices(int64_t alignment, int64_t bytes) {
  return alignment == 0 ? 0 : std::gcd(alignment, bytes);
}

}  // namespace

KernelList::KernelList(const Program& program, std::span<const TensorLayout> input_layouts,
                       std::span<const int64_t> output_alignments) {
  add(program, input_layouts, output_alignments, 1);
}

// Recursive over scans within scans.
void KernelList::add(const Program& program, std::span<const TensorLayout> input_layouts,
                     std::span<const int64_t> output_alignments, int64_t calls) {
  const std::vector<TensorLayout>& layouts =
      layouts_.emplace_back(layouts_of(program, input_layouts, output_alignments));
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    if (kernel.steps) {
      const Stage& scan = program.graph.stages[kernel.root.stage];
      add(*kernel.steps, step_layouts(program.graph, scan, layouts),
          step_output_alignments(scan, layouts, kernel.steps->graph),
          calls * repeats_of(*scan.scan).times);
    } else {
      entries_.push_back({&program, k, &layouts, calls});
    }
  }
}

std::vector<TensorLayout> layouts_of(const LoweredGraph& graph,
                                     std::span<const TensorLayout> input_layouts) {
  std::vector<TensorLayout> layouts;
  layouts.reserve(graph.tensors.size());
  for (uint32_t t = 0; t < graph.tensors.size(); ++t)
    layouts.push_back({strides_of(graph, TensorId{t})});
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    layouts[graph.inputs[k].value] = input_layouts[k];
  return layouts;
}

std::vector<TensorLayout> layouts_of(const Program& program,
                                     std::span<const TensorLayout> input_layouts,
                                     std::span<const int64_t> output_alignments) {
  const LoweredGraph& graph = program.graph;
  std::vector<TensorLayout> layouts = layouts_of(graph, input_layouts);
  if (!knows_alignment(program.target)) return layouts;
  for (TensorLayout& layout : layouts) layout.alignment = alignment_of(program.target);
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    layouts[graph.inputs[k].value].alignment = input_layouts[k].alignment;
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    layouts[graph.outputs[k].value].alignment =
        k < output_alignments.size() ? output_alignments[k] : 0;
  const std::vector<uint32_t> buffer = shared_buffers(program);
  for (size_t t = 0; t < buffer.size(); ++t) {
    int64_t& whole = layouts[buffer[t]].alignment;
    whole = std::min(whole, layouts[t].alignment);
  }
  for (size_t t = 0; t < buffer.size(); ++t) layouts[t].alignment = layouts[buffer[t]].alignment;
  return layouts;
}

std::vector<TensorLayout> step_layouts(const Graph& graph, const Stage& stage,
                                       std::span<const TensorLayout> layouts) {
  const Scan& scan = *stage.scan;
  std::vector<TensorLayout> inputs;
  for (size_t k = 0; k < stage.operands.size(); ++k) {
    const TensorId operand = stage.operands[k];
    TensorLayout layout = layouts[operand.value];
    if (k < scan.carries) {  // the spares are the program's own
      layout.strides = contiguous_layout(graph.info(operand).shape).strides;
    } else if (k < scan.carries + scan.scanned) {
      layout.alignment =
          of_slices(layout.alignment,
                    layout.strides[0] * static_cast<int64_t>(size_of(graph.info(operand).dtype)));
      layout.strides.erase(layout.strides.begin());
    }
    inputs.push_back(std::move(layout));
  }
  return inputs;
}

std::vector<int64_t> step_output_alignments(const Stage& stage,
                                            std::span<const TensorLayout> layouts,
                                            const LoweredGraph& steps) {
  std::vector<int64_t> alignments;
  for (size_t k = 0; k < stage.results.size(); ++k) {
    const int64_t whole = layouts[stage.results[k].value].alignment;
    alignments.push_back(
        k < stage.scan->carries ? whole : of_slices(whole, bytes_of(steps, steps.outputs[k])));
  }
  return alignments;
}

}  // namespace adjit::engine
