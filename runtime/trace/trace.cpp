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

std::string Trace::where() const { return to_string(source_); }

void Trace::fail(ErrorCode code, const std::string& what) const {
  const std::string prefix = where();
  throw Error(code, prefix.empty() ? what : prefix + ": " + what);
}

void Trace::require_open() const {
  if (finished_)
    fail(ErrorCode::Invalid, "the trace '" + graph_.name +
                                 "' has ended; nothing can be added after its function returned");
}

std::vector<SourceLine> Trace::lines() const {
  if (source_.file.empty() && source_.operation.empty()) return {};
  return {source_};
}

TensorId Trace::input(std::string_view name, DType dtype, std::vector<int64_t> shape, bool weak) {
  require_open();
  const TensorId id = add_input(graph_, name, dtype, std::move(shape));
  if (weak) set_weak(id);
  return id;
}

TensorId Trace::constant(std::string_view name, DType dtype, std::vector<int64_t> shape,
                         std::vector<std::byte> bytes) {
  require_open();
  return add_constant(graph_, name, dtype, std::move(shape), std::move(bytes));
}

const TensorInfo& Trace::info(TensorId tensor) const {
  require_open();
  if (tensor.value >= graph_.tensors.size())
    fail(ErrorCode::Invalid, "no tensor with number " + std::to_string(tensor.value) +
                                 " in the trace '" + graph_.name + "'");
  return graph_.info(tensor);
}

bool Trace::is_zero(TensorId tensor) const {
  if (!is_float(info(tensor).dtype)) return false;
  for (const ConstantData& constant : graph_.constants)
    if (constant.tensor == tensor)
      return std::ranges::all_of(constant.bytes, [](std::byte b) { return b == std::byte{0}; });
  for (auto stage = graph_.stages.rbegin(); stage != graph_.stages.rend(); ++stage) {
    const auto made = std::ranges::find(stage->results, tensor);
    if (made == stage->results.end()) continue;
    if (stage->kind != StageKind::Compute || stage->combiner.kind != CombinerKind::None)
      return false;
    const ExprId body = stage->bodies[static_cast<size_t>(made - stage->results.begin())];
    if (const auto value = graph_.pool.value(body)) return *value == 0;
    return graph_.pool.is(body, Op::Read) && is_zero(graph_.pool.read_tensor(body));
  }
  return false;
}

TensorId Trace::resolve(const TracedTensor& handle) const {
  if (handle.trace != id_)
    fail(ErrorCode::Invalid,
         "a value traced in another function call is used here; traced values live only while "
         "their function is "
         "traced: pass it as an argument or return it as a result");
  require_open();
  info(handle.tensor);
  return handle.tensor;
}

ExprPool& Trace::pool() {
  require_open();
  return graph_.pool;
}

ExprId Trace::read(TensorId tensor, std::span<const ExprId> index, ExprId predicate) {
  require_open();
  info(tensor);
  const ExprId element = graph::read(graph_, tensor, index, predicate);
  return graph_.pool.cast(element, accumulator_of(graph_.pool.dtype(element)));
}

std::vector<TensorId> Trace::compute(std::string_view name, Domain domain, Combiner combiner,
                                     std::vector<ExprId> bodies, bool stop_gradient) {
  require_open();
  try {
    std::vector<TensorId> results = add_compute(graph_, name, std::move(domain),
                                                std::move(combiner), std::move(bodies), lines());
    graph_.stages.back().stop_gradient = stop_gradient;
    return results;
  } catch (const Error& e) {  // the graph knows no source lines
    fail(e.code(), e.what());
  }
}

TensorId Trace::scatter(std::string_view name, std::vector<int64_t> shape, Domain domain,
                        CombinerKind kind, ExprId body, std::vector<ExprId> target,
                        TensorId initial, OutOfRange out_of_range) {
  require_open();
  invariant(domain.output_rank == 0, "all axes of a scatter are reduction axes");
  const TensorId result = add_tensor(graph_, name, graph_.pool.dtype(body), std::move(shape));
  Stage stage;
  stage.kind = StageKind::Scatter;
  stage.results = {result};
  stage.domain = std::move(domain);
  stage.combiner.kind = kind;
  stage.bodies = {body};
  stage.target = std::move(target);
  stage.initial = initial;
  stage.out_of_range = out_of_range;
  stage.lines = lines();
  graph_.stages.push_back(std::move(stage));
  return result;
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

}  // namespace adjit::trace
