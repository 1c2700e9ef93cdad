// runtime/trace/trace.cpp -- tensors, stages and the end of a trace.
#include "runtime/trace/trace.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "runtime/graph/verify/verify.hpp"

namespace adjit::trace {

std::string to_string(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t k = 0; k < shape.size(); ++k) text += (k ? ", " : "") + std::to_string(shape[k]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

Trace::Trace(std::string name) {
  static std::atomic<uint64_t> next{1};
  id_ = next.fetch_add(1, std::memory_order_relaxed);
  graph_.name = std::move(name);
}

void Trace::set_source(std::string file, int line) {
  source_.file = std::move(file);
  source_.line = line > 0 ? line : 0;
}

void Trace::set_operation(std::string operation) { source_.operation = std::move(operation); }

void Trace::require_open() const {
  if (finished_)
    fail(*this, ErrorCode::Invalid,
         "the trace '" + graph_.name +
             "' has ended; nothing can be added after its function returned");
}

Graph& Trace::open() {
  require_open();
  return graph_;
}

const TensorInfo& Trace::info(TensorId tensor) const {
  require_open();
  if (tensor.value >= graph_.tensors.size())
    fail(*this, ErrorCode::Invalid,
         "no tensor with number " + std::to_string(tensor.value) + " in the trace '" + graph_.name +
             "'");
  return graph_.info(tensor);
}

Graph Trace::finish(std::span<const TensorId> outputs) {
  require_open();
  for (TensorId output : outputs) info(output);
  graph_.outputs.assign(outputs.begin(), outputs.end());
  Graph result = compact(graph_);
  verify(result);
  finished_ = true;
  const std::string name = std::move(graph_.name);
  graph_ = Graph{};  // its memory goes now; the name stays for messages
  graph_.name = name;
  return result;
}

std::string where(const Trace& trace) { return to_string(trace.source()); }

void fail(const Trace& trace, ErrorCode code, const std::string& what) {
  const std::string prefix = where(trace);
  throw Error(code, prefix.empty() ? what : prefix + ": " + what);
}

std::vector<SourceLine> source_lines(const Trace& trace) {
  const SourceLine& source = trace.source();
  if (source.file.empty() && source.operation.empty()) return {};
  return {source};
}

TensorId add_input(Trace& trace, std::string_view name, DType dtype, std::vector<int64_t> shape,
                   bool weak) {
  const TensorId id = add_input(trace.open(), name, dtype, std::move(shape));
  if (weak) trace.set_weak(id);
  return id;
}

TensorId add_constant(Trace& trace, std::string_view name, DType dtype, std::vector<int64_t> shape,
                      std::vector<std::byte> bytes) {
  return add_constant(trace.open(), name, dtype, std::move(shape), std::move(bytes));
}

bool is_zero(const Trace& trace, TensorId tensor) {
  if (!is_float(dtype_of(trace, tensor))) return false;
  const Graph& graph = trace.graph();
  for (const ConstantData& constant : graph.constants)
    if (constant.tensor == tensor)
      return std::ranges::all_of(constant.bytes, [](std::byte b) { return b == std::byte{0}; });
  for (auto stage = graph.stages.rbegin(); stage != graph.stages.rend(); ++stage) {
    const auto made = std::ranges::find(stage->results, tensor);
    if (made == stage->results.end()) continue;
    if (stage->kind != StageKind::Compute || stage->combiner.kind != CombinerKind::None)
      return false;
    const ExprId body = stage->bodies[static_cast<size_t>(made - stage->results.begin())];
    if (const auto value = graph.pool.value(body)) return *value == 0;
    return graph.pool.is(body, Op::Read) && is_zero(trace, graph.pool.read_tensor(body));
  }
  return false;
}

TensorId resolve(const Trace& trace, const TracedTensor& handle) {
  if (handle.trace != trace.id())
    fail(trace, ErrorCode::Invalid,
         "a value traced in another function call is used here; traced values live only while "
         "their function is "
         "traced: pass it as an argument or return it as a result");
  trace.info(handle.tensor);
  return handle.tensor;
}

ExprId read(Trace& trace, TensorId tensor, std::span<const ExprId> index, ExprId predicate) {
  trace.info(tensor);
  Graph& graph = trace.open();
  const ExprId element = read(graph, tensor, index, predicate);
  return graph.pool.cast(element, accumulator_of(graph.pool.dtype(element)));
}

std::vector<TensorId> add_compute(Trace& trace, std::string_view name, Domain domain,
                                  Combiner combiner, std::vector<ExprId> bodies,
                                  bool stop_gradient) {
  Graph& graph = trace.open();
  try {
    std::vector<TensorId> results = add_compute(graph, name, std::move(domain), std::move(combiner),
                                                std::move(bodies), source_lines(trace));
    graph.stages.back().stop_gradient = stop_gradient;
    return results;
  } catch (const Error& e) {  // the graph knows no source lines
    fail(trace, e.code(), e.what());
  }
}

TensorId add_scatter(Trace& trace, std::string_view name, std::vector<int64_t> shape, Domain domain,
                     CombinerKind kind, ExprId body, std::vector<ExprId> target, TensorId initial,
                     OutOfRange out_of_range) {
  Graph& graph = trace.open();
  invariant(domain.output_rank == 0, "all axes of a scatter are reduction axes");
  const TensorId result = add_tensor(graph, name, graph.pool.dtype(body), std::move(shape));
  Stage stage;
  stage.kind = StageKind::Scatter;
  stage.results = {result};
  stage.domain = std::move(domain);
  stage.combiner.kind = kind;
  stage.bodies = {body};
  stage.target = std::move(target);
  stage.initial = initial;
  stage.out_of_range = out_of_range;
  stage.lines = source_lines(trace);
  graph.stages.push_back(std::move(stage));
  return result;
}

}  // namespace adjit::trace
