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
  for (Division& d : result.divisions) d.numerator = d.numerator.substitute(moved);
  for (auto* rows : {&result.inequalities, &result.equalities})
    for (Affine& row : *rows) row = row.substitute(moved);
  return result;
}

class Batcher {
 public:
  Batcher(const Graph& source, std::span<const BatchAxis> in_axes, int64_t size)
      : graph_(source),
        size_(size),
        axis_(source.tensors.size()),
        rebuild_(graph_.pool, graph_.pool, [this](ExprId leaf, std::span<const ExprId> operands) {
          return this->leaf(leaf, operands);
        }) {
    stages_ = std::move(graph_.stages);
    graph_.stages.clear();
    for (size_t k = 0; k < in_axes.size(); ++k)
      if (in_axes[k]) mark(graph_.inputs[k], *in_axes[k]);
  }

  Graph operator()(std::span<const BatchAxis> out_axes) {
    for (const Stage& stage : stages_) add(stage);
    for (size_t k = 0; k < out_axes.size(); ++k) {
      const TensorId output = graph_.outputs[k];
      if (!out_axes[k] && axis_[output.value])
        throw Error(ErrorCode::Invalid, "vmap: output '" + graph_.info(output).name +
                                            "' depends on the batch, but its out_axes is None; "
                                            "give it an axis");
      if (out_axes[k]) graph_.outputs[k] = moved(output, *out_axes[k]);
    }
    return compact(graph_);
  }

 private:
  void mark(TensorId tensor, size_t axis) {
    TensorInfo& info = graph_.tensors[tensor.value];
    info.shape = with_axis(info.shape, axis, size_);
    axis_[tensor.value] = axis;
  }

  bool batched(TensorId tensor) const { return axis_[tensor.value].has_value(); }

  // The batch is axis 0 of every batched stage.
  ExprId leaf(ExprId id, std::span<const ExprId> operands) {
    ExprPool& pool = graph_.pool;
    if (pool.is(id, Op::Axis)) return pool.axis(pool.axis_number(id) + 1);
    if (!pool.is(id, Op::Read)) return {};
    const TensorId tensor = pool.read_tensor(id);
    if (!batched(tensor)) return {};
    const bool guarded = pool.read_predicate(id).valid();
    std::vector<ExprId> index(operands.begin(), operands.end() - (guarded ? 1 : 0));
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(*axis_[tensor.value]), pool.axis(0));
    return pool.read(tensor, pool.dtype(id), index, guarded ? operands.back() : ExprId{});
  }

  void add(const Stage& stage) {
    const std::vector<TensorId> reads = tensors_read(graph_, stage);
    if (std::ranges::none_of(reads, [&](TensorId t) { return batched(t); })) {
      graph_.stages.push_back(stage);
      return;
    }
    switch (stage.kind) {
      case StageKind::Compute: return add_compute_stage(stage);
      case StageKind::Scatter: return add_scatter(stage);
      case StageKind::Scan: return add_scan(stage);
      case StageKind::Call: return add_call(stage);
    }
  }

  [[noreturn]] static void refuse(const Stage& stage) {
    std::string where = stage.lines.empty() ? "" : to_string(stage.lines[0]);
    if (!where.empty()) where += ": ";
    throw Error(ErrorCode::Invalid, where + "vmap: '" + stage.callee +
                                        "' is opaque and cannot be batched; write it with "
                                        "operators, or call it in a loop over the batch");
  }

  void rebuild_expressions(Stage& stage) {
    for (auto* list : {&stage.bodies, &stage.target})
      for (ExprId& id : *list) id = rebuild_(id);
  }

  void add_compute_stage(Stage stage) {
    stage.domain = with_leading_axis(stage.domain, size_, true);
    rebuild_expressions(stage);
    for (TensorId result : stage.results) mark(result, 0);
    graph_.stages.push_back(std::move(stage));
  }

  void add_scatter(Stage stage) {
    stage.domain = with_leading_axis(stage.domain, size_, false);
    rebuild_expressions(stage);
    stage.target.insert(stage.target.begin(), graph_.pool.axis(0));
    if (stage.initial.valid()) stage.initial = moved(stage.initial, 0);
    mark(stage.results[0], 0);
    graph_.stages.push_back(std::move(stage));
  }

  // Carries are batched along axis 0; slices of a scanned operand where the operand is, less its
  // leading axis, which is time; stacked results along axis 1, behind time.
  void add_scan(Stage stage) {
    std::vector<char> flags;
    for (const BatchAxis& axis : axis_) flags.push_back(axis ? 1 : 0);
    const std::vector<char> inputs = batched_step_inputs(stage, flags);
    Scan scan = *stage.scan;
    const std::vector<char> outputs = batched_outputs(*scan.body, inputs);
    std::vector<BatchAxis> in_axes(inputs.size()), out_axes(outputs.size());
    for (size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k]) in_axes[k] = place_operand(scan, k, stage.operands[k]);
    for (size_t k = 0; k < outputs.size(); ++k) {
      const bool carry = k < scan.carries;
      if (!(carry ? inputs[k] : outputs[k])) continue;
      out_axes[k] = 0;
      mark(stage.results[k], carry ? 0 : 1);
    }
    if (scan.conditional && inputs[scan.carries - 1]) {
      scan = batched_loop(scan, in_axes, size_);
      go_on_while_any(stage, scan.carries - 1);
    } else {
      scan.body = std::make_shared<const Graph>(vmap(*scan.body, in_axes, size_, out_axes));
    }
    stage.scan = std::make_shared<const Scan>(std::move(scan));
    graph_.stages.push_back(std::move(stage));
  }

  // One more carry, whether any element goes on, behind those of the scan as it was.
  void go_on_while_any(Stage& stage, size_t carries) {
    const TensorId start = any_of(graph_, stage.operands[carries - 1], size_);
    const TensorId last = add_tensor(graph_, "any", DType::Bool, {});
    axis_.resize(graph_.tensors.size());
    const auto at = static_cast<std::ptrdiff_t>(carries);
    stage.operands.insert(stage.operands.begin() + at, start);
    stage.results.insert(stage.results.begin() + at, last);
  }

  void add_call(Stage stage) {
    if (!stage.call) refuse(stage);
    Call call = *stage.call;
    if (call.forward)
      batch_custom(stage, call);
    else
      batch_body(stage, call);
    stage.call = std::make_shared<const Call>(std::move(call));
    graph_.stages.push_back(std::move(stage));
  }

  void batch_body(const Stage& stage, Call& call) {
    std::vector<BatchAxis> in_axes, out_axes;
    std::vector<char> flags;
    for (TensorId operand : stage.operands) {
      in_axes.push_back(axis_[operand.value]);
      flags.push_back(in_axes.back() ? 1 : 0);
    }
    const std::vector<char> outputs = batched_outputs(*call.body, flags);
    for (size_t k = 0; k < outputs.size(); ++k) {
      out_axes.push_back(outputs[k] ? BatchAxis(0) : BatchAxis());
      if (outputs[k]) mark(stage.results[k], 0);
    }
    call.body = batched_graph(*call.body, in_axes, out_axes);
  }

  // A gradient by hand is one element's: operands that elements share are repeated, so that the
  // adjoint of repeating adds their gradients up. What the function closes over gets none.
  void batch_custom(Stage& stage, Call& call) {
    std::vector<BatchAxis> in_axes;
    const size_t open = stage.operands.size() - call.closed;
    for (size_t k = 0; k < stage.operands.size(); ++k) {
      if (k < open) stage.operands[k] = moved(stage.operands[k], 0);
      in_axes.push_back(axis_[stage.operands[k].value]);
    }
    const auto in_front = [](size_t count) { return std::vector<BatchAxis>(count, BatchAxis(0)); };
    call.body = batched_graph(*call.body, in_axes, in_front(stage.results.size()));
    call.forward = batched_graph(*call.forward, in_axes, in_front(call.forward->outputs.size()));
    call.backward = batched_graph(*call.backward, in_front(call.backward->inputs.size()),
                                  in_front(call.backward->outputs.size()));
    for (TensorId result : stage.results) mark(result, 0);
  }

  std::shared_ptr<const Graph> batched_graph(const Graph& graph,
                                             const std::vector<BatchAxis>& in_axes,
                                             const std::vector<BatchAxis>& out_axes) {
    return std::make_shared<const Graph>(vmap(graph, in_axes, size_, out_axes));
  }

  // Brings the batch axis of an operand where the step can take it; returns where the step has it.
  size_t place_operand(const Scan& scan, size_t k, TensorId& operand) {
    if (k < scan.carries) {
      operand = moved(operand, 0);
      return 0;
    }
    const bool scanned = k < scan.carries + scan.scanned;
    if (scanned && *axis_[operand.value] == 0) operand = moved(operand, 1);
    return *axis_[operand.value] - (scanned ? 1 : 0);
  }

  // The tensor with its batch along `axis`; repeated along it when it has none.
  TensorId moved(TensorId tensor, size_t axis) {
    const BatchAxis now = axis_[tensor.value];
    if (now == axis) return tensor;
    const TensorInfo info = graph_.info(tensor);
    std::vector<int64_t> shape = info.shape;
    if (now) shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(*now));
    Domain box;
    box.extents = with_axis(std::move(shape), axis, size_);
    box.output_rank = box.extents.size();
    std::vector<ExprId> index = axes(graph_.pool, box.output_rank);
    const ExprId batch = index[axis];
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
    if (now) index.insert(index.begin() + static_cast<std::ptrdiff_t>(*now), batch);
    const TensorId result = add_compute(graph_, info.name + "_batched", box, Combiner{},
                                        {read(graph_, tensor, index)})[0];
    axis_.resize(graph_.tensors.size());
    axis_[result.value] = axis;
    return result;
  }

  Graph graph_;
  int64_t size_;
  std::vector<Stage> stages_;    // of the source
  std::vector<BatchAxis> axis_;  // per tensor
  Rebuilder rebuild_;            // from the source's bodies to batched ones, in one pool
};

}  // namespace

Graph vmap(const Graph& graph, std::span<const BatchAxis> in_axes, int64_t size,
           std::span<const BatchAxis> out_axes) {
  if (size < 0) throw Error(ErrorCode::Invalid, "vmap: the size of the batch is negative");
  check_axes(graph, in_axes, graph.inputs, "input");
  check_axes(graph, out_axes, graph.outputs, "output");
  return Batcher(graph, in_axes, size)(out_axes);
}

}  // namespace adjit::diff
