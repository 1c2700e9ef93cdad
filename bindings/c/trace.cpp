// bindings/c/trace.cpp -- traces: inputs, operators, calls.
#include <algorithm>

#include "bindings/c/arrays.hpp"
#include "bindings/c/boundary.hpp"
#include "bindings/c/handles.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/ops/operator_table.hpp"
#include "runtime/trace/splice.hpp"

namespace adjit::c {

std::vector<TensorId> tensors(Trace& trace, int32_t count, const adjit_tensor* ids,
                              const char* what) {
  static_cast<void>(trace.pool());
  std::vector<TensorId> list;
  for (adjit_tensor id : elements(ids, count, what)) {
    if (id >= trace.graph().tensors.size())
      throw Error(ErrorCode::Invalid, std::to_string(id) + " is no tensor of this trace");
    list.push_back(TensorId{id});
  }
  return list;
}

namespace {

// Row-major bytes of an array with any strides.
std::vector<std::byte> gathered(const DLTensor& tensor, DType dtype) {
  const TensorLayout layout = layout_of(tensor);
  const auto* base = static_cast<const std::byte*>(address_of(tensor));
  const size_t size = size_of(dtype);
  const size_t rank = static_cast<size_t>(tensor.ndim);
  Exact count = 1;
  for (size_t d = 0; d < rank; ++d) count *= tensor.shape[d];
  std::vector<std::byte> bytes(static_cast<size_t>(count * size));
  std::vector<int64_t> index(rank, 0);
  for (int64_t k = 0; k < count; ++k) {
    int64_t offset = 0;
    for (size_t d = 0; d < rank; ++d) offset += index[d] * layout.strides[d];
    std::copy_n(base + offset * static_cast<int64_t>(size), size,
                bytes.data() + static_cast<size_t>(k) * size);
    for (size_t d = rank; d-- > 0;) {
      if (++index[d] < tensor.shape[d]) break;
      index[d] = 0;
    }
  }
  return bytes;
}

// What prints and copies JSON recurs as deep as it is nested.
Json attributes_of(const char* text) {
  if (text == nullptr) return Json::object();
  constexpr int kDeepest = 64;
  const auto bounded = [](int depth, Json::parse_event_t, Json&) {
    if (depth > kDeepest)
      throw Error(ErrorCode::Invalid,
                  "the attributes are nested deeper than " + std::to_string(kDeepest) + " levels");
    return true;
  };
  Json attributes = Json::parse(text, bounded, false);
  if (!attributes.is_discarded()) return attributes;
  constexpr size_t kShown = 200;
  const std::string_view whole = text;
  throw Error(ErrorCode::Invalid,
              "the attributes are not JSON: " + std::string(whole.substr(0, kShown)) +
                  (whole.size() > kShown ? "..." : ""));
}

std::string operators_json() {
  Json list = Json::array();
  for (const Operator& op : all_operators())
    list.push_back({{"name", op.name},
                    {"signature", op.signature},
                    {"shapes", op.shapes},
                    {"gradient", op.gradient},
                    {"several", op.results == Operator::Results::Several}});
  return list.dump();
}

// Splices a computation in. Cotangents that are 0 as they are written leave a vjp.
std::vector<TensorId> call(Trace& trace, const Computation& callee,
                           const std::vector<TensorId>& given) {
  const size_t first = callee.first_cotangent();
  std::vector<bool> zero;
  for (size_t k = first; k < given.size(); ++k) zero.push_back(is_zero(trace, given[k]));
  if (given.size() != callee.inputs().size() || std::ranges::find(zero, true) == zero.end())
    return splice(trace, callee.graph(), given);
  const Computation::Specialised special = callee.without_cotangents(zero);
  std::vector<TensorId> taken;
  for (const size_t k : special.inputs) taken.push_back(given[k]);
  return splice(trace, *special.graph, taken);
}

}  // namespace
}  // namespace adjit::c

using namespace adjit::c;  // NOLINT

extern "C" {

adjit_status adjit_trace_create(const char* name, adjit_trace** trace) {
  return guarded([&] {
    required(trace, "trace");
    *trace = new adjit_trace(name == nullptr ? "main" : name);
  });
}

void adjit_trace_destroy(adjit_trace* trace) { delete trace; }

adjit_status adjit_trace_set_source(adjit_trace* trace, const char* file, int32_t line,
                                    const char* operation) {
  return guarded([&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    t.set_source(file == nullptr ? "" : file, line);
    t.set_operation(operation == nullptr ? "" : operation);
  });
}

adjit_status adjit_trace_input(adjit_trace* trace, const char* name, adjit_dtype dtype,
                               int32_t rank, const int64_t* shape, int32_t weak,
                               adjit_tensor* tensor) {
  return guarded([&] {
    required(tensor, "tensor");
    const std::span<const int64_t> extents = elements(shape, rank, "shape");
    *tensor =
        add_input(required(trace, "trace").trace, name == nullptr ? "x" : name, dtype_of(dtype),
                  std::vector<int64_t>(extents.begin(), extents.end()), weak != 0)
            .value;
  });
}

adjit_status adjit_trace_constant(adjit_trace* trace, const char* name, const DLTensor* data,
                                  adjit_tensor* tensor) {
  return guarded([&] {
    required(tensor, "tensor");
    const DLTensor& array = required(data, "data");
    const adjit::expr::DType dtype = dtype_of(array.dtype);
    const std::span<const int64_t> shape = shape_of(array);
    *tensor = add_constant(required(trace, "trace").trace, name == nullptr ? "c" : name, dtype,
                           std::vector<int64_t>(shape.begin(), shape.end()), gathered(array, dtype))
                  .value;
  });
}

adjit_status adjit_trace_tensor_info(adjit_trace* trace, adjit_tensor tensor, adjit_dtype* dtype,
                                     int32_t* rank, const int64_t** shape) {
  return guarded([&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    const adjit::graph::TensorInfo& info = t.info(tensors(t, 1, &tensor, "tensor")[0]);
    required(dtype, "dtype");
    required(rank, "rank");
    required(shape, "shape");
    *dtype = static_cast<adjit_dtype>(info.dtype);
    *rank = static_cast<int32_t>(info.shape.size());
    *shape = info.shape.data();
  });
}

adjit_status adjit_trace_tensor_is_weak(adjit_trace* trace, adjit_tensor tensor, int32_t* weak) {
  return guarded([&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    required(weak, "weak");
    *weak = t.is_weak(tensors(t, 1, &tensor, "tensor")[0]) ? 1 : 0;
  });
}

adjit_status adjit_trace_tensor_set_weak(adjit_trace* trace, adjit_tensor tensor) {
  return guarded([&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    t.set_weak(tensors(t, 1, &tensor, "tensor")[0]);
  });
}

adjit_status adjit_trace_operator(adjit_trace* trace, const char* name, int32_t input_count,
                                  const adjit_tensor* inputs, const char* attributes_json,
                                  int32_t* count, adjit_tensor* results) {
  return guarded([&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    elements(results, required(count, "count"), "results");
    const adjit::process::Json attributes = attributes_of(attributes_json);
    const std::vector<adjit::expr::TensorId> made =
        adjit::trace::find_operator(&required(name, "name"))
            .trace(t, tensors(t, input_count, inputs, "inputs"), attributes);
    if (made.size() > static_cast<size_t>(*count))
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                               std::string("'") + name + "' has " + std::to_string(made.size()) +
                                   " results, but there is room for " + std::to_string(*count));
    for (size_t k = 0; k < made.size(); ++k) results[k] = made[k].value;
    *count = static_cast<int32_t>(made.size());
  });
}

adjit_status adjit_trace_call(adjit_trace* trace, const adjit_computation* computation,
                              int32_t argument_count, const adjit_tensor* arguments,
                              int32_t result_count, adjit_tensor* results) {
  return cancellable({}, [&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    const adjit::engine::Computation& callee = *required(computation, "computation").computation;
    if (static_cast<size_t>(result_count) != callee.outputs().size())
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                               "the computation has " + std::to_string(callee.outputs().size()) +
                                   " outputs, not " + std::to_string(result_count));
    elements(results, result_count, "results");
    const std::vector<adjit::expr::TensorId> made =
        call(t, callee, tensors(t, argument_count, arguments, "arguments"));
    for (size_t k = 0; k < made.size(); ++k) results[k] = made[k].value;
  });
}

adjit_status adjit_trace_finish(adjit_trace* trace, int32_t output_count,
                                const adjit_tensor* outputs, adjit_computation** computation) {
  return guarded([&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    required(computation, "computation");
    auto handle = std::make_unique<adjit_computation>();
    handle->computation = std::make_shared<const adjit::engine::Computation>(
        t.finish(tensors(t, output_count, outputs, "outputs")));
    *computation = handle.release();
  });
}

const char* adjit_operators(void) {
  const char* found = nullptr;
  static_cast<void>(guarded([&] {
    const adjit::process::ForkDelay no_fork;
    static const std::string text = operators_json();
    found = text.c_str();
  }));
  return found;
}

}  // extern "C"
