// jit/engine/transformation.cpp -- one switch per question, one case per kind.
#include "jit/engine/transformation.hpp"

#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"

namespace adjit::engine {
namespace {

using Kind = Transformation::Kind;

std::vector<TensorSpec> describe(const Graph& graph, const std::vector<TensorId>& ids) {
  std::vector<TensorSpec> tensors;
  for (TensorId id : ids) {
    const TensorInfo& t = graph.info(id);
    tensors.push_back({t.name, t.dtype, t.shape});
  }
  return tensors;
}

TensorSpec renamed(TensorSpec tensor, const char* prefix) {
  tensor.name = prefix + tensor.name;
  return tensor;
}

void check_inputs(const ComputationType& of, const Transformation& t) {
  const char* what = t.kind == Kind::Jvp ? "tangent" : "gradient";
  std::vector<char> seen(of.inputs.size(), 0);
  for (size_t k : t.wrt) {
    if (k >= of.inputs.size())
      throw Error(ErrorCode::Invalid, "the derivative with respect to input " + std::to_string(k) +
                                          " is asked for, but '" + of.name + "' has " +
                                          std::to_string(of.inputs.size()) + " inputs");
    const TensorSpec& input = of.inputs[k];
    if (!is_float(input.dtype))
      throw Error(ErrorCode::NotDifferentiable,
                  "'" + of.name + "': the " + what + " with respect to input '" + input.name +
                      "' is asked for, but its dtype is " + std::string(name_of(input.dtype)) +
                      "; only float inputs have one (cast it with astype before the call, or leave "
                      "it out of argnums)");
    if (t.kind == Kind::Jvp && seen[k]++)
      throw Error(ErrorCode::Invalid, "'" + of.name + "': two tangents are given for input '" +
                                          input.name + "'; add them up");
  }
}

void check_scalar(const ComputationType& of, const TensorSpec& value) {
  Exact elements = 1;
  for (int64_t extent : value.shape) elements *= extent;
  if (elements != 1)
    throw Error(ErrorCode::Shape,
                "grad needs a function with a scalar result; '" + of.name + "' returns " +
                    std::to_string(int64_t{elements}) +
                    " elements: reduce it (sum, mean), or use vjp with a cotangent");
  if (!is_float(value.dtype))
    throw Error(ErrorCode::NotDifferentiable, "grad needs a float result; '" + of.name +
                                                  "' returns " + std::string(name_of(value.dtype)));
}

// The tensors with one more dimension each where an axis is given.
std::vector<TensorSpec> batched(const ComputationType& of, std::vector<TensorSpec> tensors,
                                const std::vector<BatchAxis>& axes, int64_t size,
                                const char* what) {
  if (axes.size() != tensors.size())
    throw Error(ErrorCode::Invalid, "vmap: '" + of.name + "' has " +
                                        std::to_string(tensors.size()) + " " + what + "s, but " +
                                        std::to_string(axes.size()) + " batch axes are given");
  for (size_t k = 0; k < axes.size(); ++k) {
    if (!axes[k]) continue;
    std::vector<int64_t>& shape = tensors[k].shape;
    if (*axes[k] > shape.size())
      throw Error(ErrorCode::Invalid, "vmap: the batch axis of " + std::string(what) + " " +
                                          std::to_string(k) + " of '" + of.name + "' is " +
                                          std::to_string(*axes[k]) + ", but batched it has " +
                                          std::to_string(shape.size() + 1) +
                                          " dimensions, numbered from 0");
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axes[k]), size);
  }
  return tensors;
}

ComputationType reversed(const ComputationType& of, const Transformation& t) {
  ComputationType result{of.name, of.inputs, {}};
  if (t.kind == Kind::Vjp)
    for (size_t k : t.outputs) result.inputs.push_back(renamed(of.outputs[k], "d_"));
  if (t.keep)
    result.outputs = t.kind == Kind::Vjp ? of.outputs : std::vector{of.outputs[t.outputs[0]]};
  for (size_t k : t.wrt) result.outputs.push_back(renamed(of.inputs[k], "d_"));
  return result;
}

ComputationType pushed_forward(const ComputationType& of, const Transformation& t) {
  ComputationType result{of.name, of.inputs, {}};
  for (size_t k : t.wrt) result.inputs.push_back(renamed(of.inputs[k], "t_"));
  if (t.keep) result.outputs = of.outputs;
  for (const TensorSpec& output : of.outputs)
    if (is_float(output.dtype)) result.outputs.push_back(renamed(output, "t_"));
  return result;
}

std::string list(const std::vector<size_t>& numbers) {
  std::string text = "[";
  for (size_t k = 0; k < numbers.size(); ++k) text += (k ? "," : "") + std::to_string(numbers[k]);
  return text + "]";
}

std::string list(const std::vector<BatchAxis>& axes) {
  std::string text = "[";
  for (size_t k = 0; k < axes.size(); ++k)
    text += (k ? "," : "") + (axes[k] ? std::to_string(*axes[k]) : "none");
  return text + "]";
}

}  // namespace

ComputationType type_of(const Graph& graph) {
  return {graph.name, describe(graph, graph.inputs), describe(graph, graph.outputs)};
}

ComputationType transformed(const ComputationType& of, const Transformation& t) {
  check_inputs(of, t);
  for (size_t k : t.outputs)
    if (k >= of.outputs.size())
      throw Error(ErrorCode::Invalid, "'" + of.name + "' has no output " + std::to_string(k));
  switch (t.kind) {
    case Kind::Gradient: check_scalar(of, of.outputs[t.outputs.at(0)]); return reversed(of, t);
    case Kind::Vjp: return reversed(of, t);
    case Kind::Jvp: return pushed_forward(of, t);
    case Kind::Vmap: break;
  }
  if (t.size < 0)
    throw Error(ErrorCode::Invalid, "vmap: the size of the batch is " + std::to_string(t.size));
  return {of.name, batched(of, of.inputs, t.in_axes, t.size, "input"),
          batched(of, of.outputs, t.out_axes, t.size, "output")};
}

Graph transformed(const Graph& graph, const Transformation& t) {
  switch (t.kind) {
    case Kind::Vjp: return vjp(graph, {.wrt = t.wrt, .outputs = t.outputs, .keep_outputs = t.keep});
    case Kind::Gradient: return gradient(graph, t.wrt, t.outputs[0], t.keep);
    case Kind::Jvp: return jvp(graph, {.wrt = t.wrt, .keep_outputs = t.keep});
    case Kind::Vmap: break;
  }
  return vmap(graph, t.in_axes, t.size, t.out_axes);
}

std::string to_string(const Transformation& t) {
  const std::string wrt = "wrt=" + list(t.wrt), keep = t.keep ? ",keep" : "";
  switch (t.kind) {
    case Kind::Vjp: return "vjp(" + wrt + ",outputs=" + list(t.outputs) + keep + ")";
    case Kind::Gradient: return "gradient(" + wrt + ",outputs=" + list(t.outputs) + keep + ")";
    case Kind::Jvp: return "jvp(" + wrt + keep + ")";
    case Kind::Vmap: break;
  }
  return "vmap(in=" + list(t.in_axes) + ",size=" + std::to_string(t.size) +
         ",out=" + list(t.out_axes) + ")";
}

}  // namespace adjit::engine
