// runtime/trace/splice.cpp -- whole graphs inside a trace: calls of a graph, and scans over one.
#include "runtime/trace/splice.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/splice.hpp"
#include "runtime/graph/verify/verify.hpp"

namespace adjit::trace {
namespace {

std::string describe(DType dtype, std::span<const int64_t> shape) {
  return std::string(name_of(dtype)) + to_string(shape);
}

// `wanted` is what the callee declares, `found` the argument given for it.
void require_fit(const Trace& trace, const TensorInfo& wanted, DType dtype,
                 std::span<const int64_t> shape, const std::string& what) {
  if (wanted.dtype != dtype)
    fail(trace, ErrorCode::DType,
         what + " '" + wanted.name + "' is " + describe(wanted.dtype, wanted.shape) + " but gets " +
             describe(dtype, shape) + "; cast it with astype");
  if (!std::ranges::equal(wanted.shape, shape))
    fail(trace, ErrorCode::Shape,
         what + " '" + wanted.name + "' is " + describe(wanted.dtype, wanted.shape) + " but gets " +
             describe(dtype, shape));
}

}  // namespace

std::vector<TensorId> splice(Trace& trace, const Graph& callee,
                             std::span<const TensorId> arguments) {
  Graph& graph = trace.open();
  if (arguments.size() != callee.inputs.size())
    fail(trace, ErrorCode::Invalid,
         "'" + callee.name + "' takes " + std::to_string(callee.inputs.size()) +
             " arguments but gets " + std::to_string(arguments.size()));
  for (size_t k = 0; k < arguments.size(); ++k)
    require_fit(trace, callee.info(callee.inputs[k]), dtype_of(trace, arguments[k]),
                shape_of(trace, arguments[k]),
                "argument " + std::to_string(k) + " of '" + callee.name + "',");
  return splice(graph, callee, arguments, source_lines(trace));
}

std::vector<TensorId> add_scan(Trace& trace, Scan scan, std::span<const TensorId> operands) {
  Graph& graph = trace.open();
  invariant(scan.body != nullptr, "a scan without a body");
  const Graph& body = *scan.body;
  if (scan.trips < 0) fail(trace, ErrorCode::Shape, "scan: a negative number of trips");
  if (scan.conditional && (scan.trips != 0 || scan.scanned != 0 || scan.stacked != 0))
    fail(trace, ErrorCode::Invalid, "scan: a conditional scan scans and stacks nothing");
  if (operands.size() != scan.carries + scan.scanned + scan.fixed ||
      body.inputs.size() != operands.size() || body.outputs.size() != scan.carries + scan.stacked)
    fail(trace, ErrorCode::Invalid,
         "scan: the body '" + body.name + "' takes " + std::to_string(body.inputs.size()) +
             " inputs and gives " + std::to_string(body.outputs.size()) + " outputs; " +
             std::to_string(operands.size()) + " operands are given");
  for (size_t k = 0; k < operands.size(); ++k) {
    std::span<const int64_t> extents = shape_of(trace, operands[k]);
    if (k >= scan.carries && k < scan.carries + scan.scanned) {
      if (extents.empty() || extents[0] != scan.trips)
        fail(trace, ErrorCode::Shape,
             "scan: the scanned operand of shape " + to_string(extents) +
                 " needs a leading extent of " + std::to_string(scan.trips));
      extents = extents.subspan(1);
    }
    require_fit(trace, body.info(body.inputs[k]), dtype_of(trace, operands[k]), extents,
                "scan: the input");
  }
  for (size_t k = 0; k < scan.carries; ++k)
    require_fit(trace, body.info(body.outputs[k]), dtype_of(trace, operands[k]),
                shape_of(trace, operands[k]), "scan: the carry given out as");
  Stage stage;
  stage.kind = StageKind::Scan;
  for (size_t k = 0; k < body.outputs.size(); ++k) {
    const TensorInfo& t = body.info(body.outputs[k]);
    std::vector<int64_t> extents = t.shape;
    if (k >= scan.carries) extents.insert(extents.begin(), scan.trips);
    stage.results.push_back(add_tensor(graph, t.name, t.dtype, std::move(extents)));
  }
  stage.operands.assign(operands.begin(), operands.end());
  stage.scan = std::make_shared<const Scan>(std::move(scan));
  stage.lines = source_lines(trace);
  graph.stages.push_back(std::move(stage));
  return graph.stages.back().results;
}

std::vector<TensorId> add_call(Trace& trace, Call call, std::span<const TensorId> operands) {
  Graph& graph = trace.open();
  invariant(call.body != nullptr, "a call without a body");
  const Graph& body = *call.body;
  if (operands.size() != body.inputs.size())
    fail(trace, ErrorCode::Invalid,
         "'" + body.name + "' takes " + std::to_string(body.inputs.size()) +
             " arguments but gets " + std::to_string(operands.size()));
  for (size_t k = 0; k < operands.size(); ++k)
    require_fit(trace, body.info(body.inputs[k]), dtype_of(trace, operands[k]),
                shape_of(trace, operands[k]),
                "argument " + std::to_string(k) + " of '" + body.name + "',");
  Stage stage;
  stage.kind = StageKind::Call;
  stage.callee = body.name;
  for (TensorId output : body.outputs) {
    const TensorInfo& t = body.info(output);
    stage.results.push_back(add_tensor(graph, t.name, t.dtype, t.shape));
  }
  stage.operands.assign(operands.begin(), operands.end());
  stage.call = std::make_shared<const Call>(std::move(call));
  stage.lines = source_lines(trace);
  verify_call(graph, stage);
  graph.stages.push_back(std::move(stage));
  return graph.stages.back().results;
}

}  // namespace adjit::trace
