// jit/engine/plan/kernel_list.cpp -- programs within programs, flattened.
#include "jit/engine/plan/kernel_list.hpp"

#include "autosched/analysis/scan_invariants.hpp"

namespace adjit::engine {

KernelList::KernelList(const Program& program, std::span<const TensorLayout> input_layouts) {
  add(program, input_layouts, 1);
}

// Recursive over scans within scans.
void KernelList::add(const Program& program, std::span<const TensorLayout> input_layouts,
                     int64_t calls) {
  const std::vector<TensorLayout>& layouts =
      layouts_.emplace_back(layouts_of(program.graph, input_layouts));
  for (size_t k = 0; k < program.kernels.size(); ++k) {
    const Kernel& kernel = program.kernels[k];
    if (kernel.steps) {
      const Stage& scan = program.graph.stages[kernel.root.stage];
      add(*kernel.steps, step_layouts(program.graph, scan, layouts),
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

std::vector<TensorLayout> step_layouts(const Graph& graph, const Stage& stage,
                                       std::span<const TensorLayout> layouts) {
  const Scan& scan = *stage.scan;
  std::vector<TensorLayout> inputs;
  for (size_t k = 0; k < stage.operands.size(); ++k) {
    const TensorId operand = stage.operands[k];
    if (k < scan.carries) {
      inputs.push_back(contiguous_layout(graph.info(operand).shape));
      continue;
    }
    TensorLayout layout = layouts[operand.value];
    if (k < scan.carries + scan.scanned) layout.strides.erase(layout.strides.begin());
    inputs.push_back(std::move(layout));
  }
  return inputs;
}

}  // namespace adjit::engine
