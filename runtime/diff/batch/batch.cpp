// runtime/diff/batch/batch.cpp -- one more axis for every stage that depends on the batch.
#include "runtime/diff/batch/batch.hpp"

#include <algorithm>

#include "runtime/diff/batch/dependence.hpp"
#include "runtime/diff/batch/loop.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {
namespace {

void check_axes(const Graph& graph, std::span<const BatchAxis> axes,
                const std::vector<TensorId>& tensors, const char* what) {
  if (axes.size() != tensors.size())
    throw Error(ErrorCode::Invalid, "vmap: '" + graph.name + "' has " +
                                        std::to_string(tensors.size()) + " " + what + "s, but " +
                                        std::to_string(axes.size()) + " batch axes are given");
  for (size_t k = 0; k < axes.size(); ++k) {
    const TensorInfo& info = graph.info(tensors[k]);
    if (axes[k] && *axes[k] > info.shape.size())
      throw Error(ErrorCode::Invalid,
                  std::string("vmap: the batch axis of ") + what + " '" + info.name + "' is " +
                      std::to_string(*axes[k]) + ", but batched it has " +
                      std::to_string(info.shape.size() + 1) + " dimensions, numbered from 0");
  }
}

std::vector<int64_t> with_axis(std::vector<int64_t> shape, size_t axis, int64_t extent) {
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), extent);
  return shape;
}

// The domain with one more axis in front; all variables move up by one.
Domain with_leading_axis(const Domain& domain, int64_t extent, bool output) {
  std::vector<Affine> moved;
  for (size_t k = 0; k < domain.variable_count(); ++k) moved.push_back(Affine::variable(k + 1));
  Domain result = domain;
  result.extents.insert(result.extents.begin(), extent);
  result.output_rank += output ? 1 : 0;
  for (Division& d : result.divisions) d.numerator = substitute(d.numerator, moved);
  for (auto* rows : {&result.inequalities, &result.equalities})
    for (Affine& row : *rows) row = substitute(row, moved);
  return result;
}

// A graph while its stages are batched one by one.
struct BatchedGraph {
  Graph graph;
  int64_t size = 0;             // of the batch
  std::vector<BatchAxis> axis;  // per tensor

  bool batched(TensorId tensor) const { return axis[tensor.value].has_value(); }
};

// Says that a tensor has its batch along this axis.
void mark(BatchedGraph& to, TensorId tensor, size_t axis) {
  TensorInfo& info = to.graph.tensors[tensor.value];
  info.shape = with_axis(info.shape, axis, to.size);
  to.axis[tensor.value] = axis;
}

// The tensor with its batch along `axis`; repeated along it when it has none.
TensorId moved(BatchedGraph& to, TensorId tensor, size_t axis) {
  Graph& graph = to.graph;
  const BatchAxis now = to.axis[tensor.value];
  if (now == axis) return tensor;
  const TensorInfo info = graph.info(tensor);
  std::vector<int64_t> shape = info.shape;
  if (now) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*now));
  Domain box;
  box.extents = with_axis(std::move(shape), axis, to.size);
  box.output_rank = box.extents.size();
  std::vector<ExprId> index = axes(graph.pool, box.output_rank);
  const ExprId batch = index[axis];
  index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
  if (now) index.insert(index.begin() + static_cast<std::ptrdiff_t>(*now), batch);
  const TensorId result =
      add_compute(graph, info.name + "_batched", box, Combiner{}, {read(graph, tensor, index)})[0];
  to.axis.resize(graph.tensors.size());
  to.axis[result.value] = axis;
  return result;
}

// The batch is axis 0 of every batched stage.
ExprId batched_leaf(BatchedGraph& to, ExprId id, std::span<const ExprId> operands) {
  ExprPool& pool = to.graph.pool;
  if (pool.is(id, Op::Axis)) return pool.axis(pool.axis_number(id) + 1);
  if (!pool.is(id, Op::Read)) return {};
  const TensorId tensor = pool.read_tensor(id);
  if (!to.batched(tensor)) return {};
  const bool guarded = pool.read_predicate(id).valid();
  std::vector<ExprId> index(operands.begin(), operands.end() - (guarded ? 1 : 0));
  index.insert(index.begin() + static_cast<std::ptrdiff_t>(*to.axis[tensor.value]), pool.axis(0));
  return pool.read(tensor, pool.dtype(id), index, guarded ? operands.back() : ExprId{});
}

// `rebuild` takes the source's expressions to batched ones, in one pool.
void rebuild_expressions(Rebuilder& rebuild, Stage& stage) {
  for (auto* list : {&stage.bodies, &stage.target})
    for (ExprId& id : *list) id = rebuild(id);
}

void batch_compute(BatchedGraph& to, Rebuilder& rebuild, Stage& stage) {
  stage.domain = with_leading_axis(stage.domain, to.size, true);
  rebuild_expressions(rebuild, stage);
  for (TensorId result : stage.results) mark(to, result, 0);
}

void batch_scatter(BatchedGraph& to, Rebuilder& rebuild, Stage& stage) {
  stage.domain = with_leading_axis(stage.domain, to.size, false);
  rebuild_expressions(rebuild, stage);
  stage.target.insert(stage.target.begin(), to.graph.pool.axis(0));
  if (stage.initial.valid()) stage.initial = moved(to, stage.initial, 0);
  mark(to, stage.results[0], 0);
}

// Brings the batch axis of an operand where the step can take it; returns where the step has it.
size_t place_operand(BatchedGraph& to, const Scan& scan, size_t k, TensorId& operand) {
  if (k < scan.carries) {
    operand = moved(to, operand, 0);
    return 0;
  }
  const bool scanned = k < scan.carries + scan.scanned;
  if (scanned && *to.axis[operand.value] == 0) operand = moved(to, operand, 1);
  return *to.axis[operand.value] - (scanned ? 1 : 0);
}

// One more carry, whether any element goes on, behind those of the scan as it was.
void go_on_while_any(BatchedGraph& to, Stage& stage, size_t carries) {
  const TensorId start = any_of(to.graph, stage.operands[carries - 1], to.size);
  const TensorId last = add_tensor(to.graph, "any", DType::Bool, {});
  to.axis.resize(to.graph.tensors.size());
  const auto at = static_cast<std::ptrdiff_t>(carries);
  stage.operands.insert(stage.operands.begin() + at, start);
  stage.results.insert(stage.results.begin() + at, last);
}

// Carries are batched along axis 0; slices of a scanned operand where the operand is, less its
// leading axis, which is time; stacked results along axis 1, behind time.
void batch_scan(BatchedGraph& to, Stage& stage) {
  std::vector<char> flags;
  for (const BatchAxis& axis : to.axis) flags.push_back(axis ? 1 : 0);
  const std::vector<char> inputs = batched_step_inputs(stage, flags);
  Scan scan = *stage.scan;
  const std::vector<char> outputs = batched_outputs(*scan.body, inputs);
  std::vector<BatchAxis> in_axes(inputs.size()), out_axes(outputs.size());
  for (size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k]) in_axes[k] = place_operand(to, scan, k, stage.operands[k]);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const bool carry = k < scan.carries;
    if (!(carry ? inputs[k] : outputs[k])) continue;
    out_axes[k] = 0;
    mark(to, stage.results[k], carry ? 0 : 1);
  }
  if (scan.conditional && inputs[scan.carries - 1]) {
    scan = batched_loop(scan, in_axes, to.size);
    go_on_while_any(to, stage, scan.carries - 1);
  } else {
    scan.body = std::make_shared<const Graph>(vmap(*scan.body, in_axes, to.size, out_axes));
  }
  stage.scan = std::make_shared<const Scan>(std::move(scan));
}

std::shared_ptr<const Graph> shared_vmap(const Graph& graph, const std::vector<BatchAxis>& in_axes,
                                         int64_t size, const std::vector<BatchAxis>& out_axes) {
  return std::make_shared<const Graph>(vmap(graph, in_axes, size, out_axes));
}

void batch_body(BatchedGraph& to, const Stage& stage, Call& call) {
  std::vector<BatchAxis> in_axes, out_axes;
  std::vector<char> flags;
  for (TensorId operand : stage.operands) {
    in_axes.push_back(to.axis[operand.value]);
    flags.push_back(in_axes.back() ? 1 : 0);
  }
  const std::vector<char> outputs = batched_outputs(*call.body, flags);
  for (size_t k = 0; k < outputs.size(); ++k) {
    out_axes.push_back(outputs[k] ? BatchAxis(0) : BatchAxis());
    if (outputs[k]) mark(to, stage.results[k], 0);
  }
  call.body = shared_vmap(*call.body, in_axes, to.size, out_axes);
}

// A gradient by hand is one element's: operands that elements share are repeated, so that the
// adjoint of repeating adds their gradients up. What the function closes over gets none.
void batch_custom(BatchedGraph& to, Stage& stage, Call& call) {
  std::vector<BatchAxis> in_axes;
  const size_t open = stage.operands.size() - call.closed;
  for (size_t k = 0; k < stage.operands.size(); ++k) {
    if (k < open) stage.operands[k] = moved(to, stage.operands[k], 0);
    in_axes.push_back(to.axis[stage.operands[k].value]);
  }
  const auto in_front = [](size_t count) { return std::vector<BatchAxis>(count, BatchAxis(0)); };
  const auto batched = [&](const Graph& graph, const std::vector<BatchAxis>& inputs) {
    return shared_vmap(graph, inputs, to.size, in_front(graph.outputs.size()));
  };
  call.body = batched(*call.body, in_axes);
  call.forward = batched(*call.forward, in_axes);
  call.backward = batched(*call.backward, in_front(call.backward->inputs.size()));
  for (TensorId result : stage.results) mark(to, result, 0);
}

[[noreturn]] void refuse(const Stage& stage) {
  std::string where = stage.lines.empty() ? "" : to_string(stage.lines[0]);
  if (!where.empty()) where += ": ";
  throw Error(ErrorCode::Invalid, where + "vmap: '" + stage.callee +
                                      "' is opaque and cannot be batched; write it with "
                                      "operators, or call it in a loop over the batch");
}

void batch_call(BatchedGraph& to, Stage& stage) {
  if (!stage.call) refuse(stage);
  Call call = *stage.call;
  if (call.forward)
    batch_custom(to, stage, call);
  else
    batch_body(to, stage, call);
  stage.call = std::make_shared<const Call>(std::move(call));
}

// Stages that do not depend on the batch stay as they are.
void add_batched(BatchedGraph& to, Rebuilder& rebuild, Stage stage) {
  const std::vector<TensorId> reads = tensors_read(to.graph, stage);
  if (std::ranges::any_of(reads, [&](TensorId tensor) { return to.batched(tensor); }))
    switch (stage.kind) {
      case StageKind::Compute: batch_compute(to, rebuild, stage); break;
      case StageKind::Scatter: batch_scatter(to, rebuild, stage); break;
      case StageKind::Scan: batch_scan(to, stage); break;
      case StageKind::Call: batch_call(to, stage); break;
    }
  to.graph.stages.push_back(std::move(stage));
}

// Brings the batch of every output where it is wanted.
void place_outputs(BatchedGraph& to, std::span<const BatchAxis> out_axes) {
  for (size_t k = 0; k < out_axes.size(); ++k) {
    const TensorId output = to.graph.outputs[k];
    if (!out_axes[k] && to.batched(output))
      throw Error(ErrorCode::Invalid, "vmap: output '" + to.graph.info(output).name +
                                          "' depends on the batch, but its out_axes is None; "
                                          "give it an axis");
    if (out_axes[k]) to.graph.outputs[k] = moved(to, output, *out_axes[k]);
  }
}

}  // namespace

Graph vmap(const Graph& graph, std::span<const BatchAxis> in_axes, int64_t size,
           std::span<const BatchAxis> out_axes) {
  if (size < 0) throw Error(ErrorCode::Invalid, "vmap: the size of the batch is negative");
  check_axes(graph, in_axes, graph.inputs, "input");
  check_axes(graph, out_axes, graph.outputs, "output");
  BatchedGraph to{graph, size, std::vector<BatchAxis>(graph.tensors.size())};
  const std::vector<Stage> stages = std::move(to.graph.stages);
  to.graph.stages.clear();
  for (size_t k = 0; k < in_axes.size(); ++k)
    if (in_axes[k]) mark(to, to.graph.inputs[k], *in_axes[k]);
  Rebuilder rebuild(to.graph.pool, to.graph.pool, [&](ExprId leaf, std::span<const ExprId> now) {
    return batched_leaf(to, leaf, now);
  });
  for (const Stage& stage : stages) add_batched(to, rebuild, stage);
  place_outputs(to, out_axes);
  return compact(std::move(to.graph));
}

}  // namespace adjit::diff
