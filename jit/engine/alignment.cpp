// jit/engine/alignment.cpp -- what a GPU's code knows of the addresses of its arguments.
#include "jit/engine/alignment.hpp"

#include <algorithm>
#include <cstdlib>

namespace adjit::engine {
namespace {

// Whether elements lie side by side, and are as many as a vector has.
bool has_vectors(const Computation::Tensor& tensor, const TensorLayout& layout) {
  auto bytes = static_cast<int64_t>(size_of(tensor.dtype));
  bool side_by_side = false;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    bytes *= tensor.shape[d];
    side_by_side |= tensor.shape[d] > 1 && std::abs(layout.strides[d]) == 1;
  }
  return side_by_side && bytes >= kArgumentAlignment;
}

int64_t argument_alignment(const Request& request, size_t argument,
                           const Computation::Tensor& tensor, const TensorLayout& layout) {
  if (is_for_cpu(request) || !has_vectors(tensor, layout)) return 0;
  return std::ranges::binary_search(request.unaligned, argument) ? 0 : kArgumentAlignment;
}

}  // namespace

ArgumentLayouts argument_layouts(const Request& request) {
  ArgumentLayouts layouts{request.layouts, {}};
  const std::vector<Computation::Tensor>& inputs = request.computation->inputs();
  for (size_t k = 0; k < inputs.size(); ++k)
    layouts.inputs[k].alignment = argument_alignment(request, k, inputs[k], layouts.inputs[k]);
  for (const Computation::Tensor& output : request.computation->outputs())
    layouts.outputs.push_back(argument_alignment(request, inputs.size() + layouts.outputs.size(),
                                                 output, contiguous_layout(output.shape)));
  return layouts;
}

std::string alignment_text(const Request& request) {
  std::string text = std::to_string(kArgumentAlignment);
  const char* separator = " but for ";
  for (const size_t argument : request.unaligned) {
    text += separator + std::to_string(argument);
    separator = ", ";
  }
  return text;
}

}  // namespace adjit::engine
