// bindings/c/computation.cpp -- finished computations: text notation, descriptions, derivatives.

#include "bindings/c/arrays.hpp"
#include "bindings/c/boundary.hpp"
#include "bindings/c/handles.hpp"
#include "jit/engine/report/json_text.hpp"
#include "jit/engine/report/stage_report.hpp"
#include "runtime/diff/partition/partition.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/process/json.hpp"

namespace adjit::c {
namespace {

std::vector<size_t> positions(int32_t count, const int32_t* list, const char* what) {
  std::vector<size_t> result;
  for (int32_t position : elements(list, count, what)) {
    if (position < 0)
      throw Error(ErrorCode::Invalid,
                  std::string(what) + " " + std::to_string(position) + " is negative");
    result.push_back(static_cast<size_t>(position));
  }
  return result;
}

// ADJIT_NO_AXIS (-1) is none.
std::vector<adjit::diff::BatchAxis> batch_axes(int32_t count, const int32_t* list,
                                               const char* what) {
  std::vector<adjit::diff::BatchAxis> result;
  for (int32_t axis : elements(list, count, what)) {
    if (axis < ADJIT_NO_AXIS)
      throw Error(ErrorCode::Invalid, std::string("the batch axis of ") + what + " " +
                                          std::to_string(result.size()) + " is " +
                                          std::to_string(axis) +
                                          "; count from the front, or pass ADJIT_NO_AXIS");
    result.push_back(axis == ADJIT_NO_AXIS ? adjit::diff::BatchAxis()
                                           : adjit::diff::BatchAxis(static_cast<size_t>(axis)));
  }
  return result;
}

std::unique_ptr<adjit_computation> handle(std::shared_ptr<const Computation> computation) {
  auto made = std::make_unique<adjit_computation>();
  made->computation = std::move(computation);
  return made;
}

}  // namespace
}  // namespace adjit::c

using namespace adjit::c;  // NOLINT

extern "C" {

adjit_status adjit_text_module_create(const char* source, const char* file_name,
                                      adjit_text_module** module) {
  return guarded([&] {
    required(module, "module");
    auto made = std::make_unique<adjit_text_module>(adjit_text_module{
        adjit::graph::TextModule::parse(&required(source, "source"),
                                        file_name == nullptr ? "<text>" : file_name),
        {}});
    adjit::process::Json list = adjit::process::Json::array();
    for (const std::string& name : made->module.names()) {
      const adjit::graph::TextModule::Signature signature = made->module.signature(name);
      std::vector<int> dtypes;
      for (const adjit::expr::DType dtype : signature.input_dtypes)
        dtypes.push_back(static_cast<int>(dtype));
      list.push_back({{"name", name},
                      {"inputs", signature.inputs},
                      {"dtypes", dtypes},
                      {"outputs", signature.outputs}});
    }
    made->definitions = adjit::engine::json_text(list);
    *module = made.release();
  });
}

void adjit_text_module_destroy(adjit_text_module* module) { delete module; }

adjit_status adjit_text_module_definitions(adjit_text_module* module, const char** json) {
  return guarded([&] {
    required(json, "json");
    *json = required(module, "module").definitions.c_str();
  });
}

adjit_status adjit_text_module_instantiate(adjit_text_module* module, const char* name,
                                           int32_t input_count, const adjit_dtype* dtypes,
                                           const int32_t* ranks, const int64_t* shapes,
                                           adjit_computation** computation) {
  return guarded([&] {
    required(computation, "computation");
    std::vector<std::vector<int64_t>> extents;
    std::vector<adjit::expr::DType> types;
    for (adjit_dtype dtype : elements(dtypes, input_count, "dtypes"))
      types.push_back(dtype_of(dtype));
    for (int32_t rank : elements(ranks, input_count, "ranks")) {
      const std::span<const int64_t> shape = elements(shapes, rank, "shapes");
      extents.emplace_back(shape.begin(), shape.end());
      shapes += rank;
    }
    *computation = handle(std::make_shared<const adjit::engine::Computation>(
                              required(module, "module")
                                  .module.instantiate(&required(name, "name"), extents, types)))
                       .release();
  });
}

void adjit_computation_destroy(adjit_computation* computation) { delete computation; }

adjit_status adjit_computation_counts(const adjit_computation* computation, int32_t* inputs,
                                      int32_t* outputs) {
  return guarded([&] {
    const adjit::engine::Computation& c = *required(computation, "computation").computation;
    required(inputs, "inputs");
    required(outputs, "outputs") = static_cast<int32_t>(c.outputs().size());
    *inputs = static_cast<int32_t>(c.inputs().size());
  });
}

adjit_status adjit_computation_tensor(const adjit_computation* computation, int32_t is_output,
                                      int32_t k, adjit_dtype* dtype, int32_t* rank,
                                      const int64_t** shape, const char** name) {
  return guarded([&] {
    const adjit::engine::Computation& c = *required(computation, "computation").computation;
    const auto& list = is_output ? c.outputs() : c.inputs();
    if (k < 0 || static_cast<size_t>(k) >= list.size())
      throw adjit::expr::Error(
          adjit::expr::ErrorCode::Invalid,
          "there is no tensor " + std::to_string(k) + " of " + std::to_string(list.size()));
    const adjit::engine::Computation::Tensor& tensor = list[static_cast<size_t>(k)];
    required(dtype, "dtype");
    required(rank, "rank");
    required(shape, "shape") = tensor.shape.data();
    *dtype = static_cast<adjit_dtype>(tensor.dtype);
    *rank = static_cast<int32_t>(tensor.shape.size());
    if (name != nullptr) *name = tensor.name.c_str();
  });
}

adjit_status adjit_computation_text(const adjit_computation* computation, const char** text) {
  return cancellable({}, [&] {
    const adjit_computation& c = required(computation, "computation");
    required(text, "text");
    *text = kept(c.mutex, c.text, [&] { return adjit::graph::print(c.computation->graph()); });
  });
}

adjit_status adjit_computation_stages(const adjit_computation* computation, const char** json) {
  return cancellable({}, [&] {
    const adjit_computation& c = required(computation, "computation");
    required(json, "json");
    *json =
        kept(c.mutex, c.stages, [&] { return adjit::engine::stages_json(c.computation->graph()); });
  });
}

adjit_status adjit_computation_vjp(const adjit_computation* computation, int32_t wrt_count,
                                   const int32_t* wrt, int32_t output_count, const int32_t* outputs,
                                   int32_t keep_outputs, adjit_computation** result) {
  return guarded([&] {
    required(result, "result");
    *result =
        handle(adjit::engine::Computation::transformed(
                   *required(computation, "computation").computation,
                   {adjit::engine::Transformation::Kind::Vjp, positions(wrt_count, wrt, "input"),
                    positions(output_count, outputs, "output"), keep_outputs != 0}))
            .release();
  });
}

adjit_status adjit_computation_gradient(const adjit_computation* computation, int32_t wrt_count,
                                        const int32_t* wrt, int32_t output, int32_t keep_value,
                                        adjit_computation** result) {
  return guarded([&] {
    required(result, "result");
    *result = handle(adjit::engine::Computation::transformed(
                         *required(computation, "computation").computation,
                         {adjit::engine::Transformation::Kind::Gradient,
                          positions(wrt_count, wrt, "input"), positions(1, &output, "output"),
                          keep_value != 0}))
                  .release();
  });
}

adjit_status adjit_computation_jvp(const adjit_computation* computation, int32_t wrt_count,
                                   const int32_t* wrt, int32_t keep_outputs,
                                   adjit_computation** result) {
  return guarded([&] {
    required(result, "result");
    *result = handle(adjit::engine::Computation::transformed(
                         *required(computation, "computation").computation,
                         {.kind = adjit::engine::Transformation::Kind::Jvp,
                          .wrt = positions(wrt_count, wrt, "input"),
                          .keep = keep_outputs != 0}))
                  .release();
  });
}

adjit_status adjit_computation_vmap(const adjit_computation* computation, int32_t input_count,
                                    const int32_t* in_axes, int64_t size, int32_t output_count,
                                    const int32_t* out_axes, adjit_computation** result) {
  return guarded([&] {
    required(result, "result");
    *result = handle(adjit::engine::Computation::transformed(
                         *required(computation, "computation").computation,
                         {.kind = adjit::engine::Transformation::Kind::Vmap,
                          .in_axes = batch_axes(input_count, in_axes, "input"),
                          .out_axes = batch_axes(output_count, out_axes, "output"),
                          .size = size}))
                  .release();
  });
}

adjit_status adjit_computation_partition(const adjit_computation* joint, int32_t primals,
                                         int32_t results, int64_t memory_budget,
                                         adjit_computation** forward,
                                         adjit_computation** backward) {
  return cancellable({}, [&] {
    required(forward, "forward");
    required(backward, "backward");
    const size_t first = positions(1, &primals, "primals")[0];
    const size_t kept_outputs = positions(1, &results, "results")[0];
    adjit::diff::Partition cut = adjit::diff::partition(
        required(joint, "joint").computation->graph(), first, kept_outputs, memory_budget);
    auto front = std::make_shared<const adjit::engine::Computation>(std::move(cut.forward));
    auto back = std::make_shared<const adjit::engine::Computation>(std::move(cut.backward));
    auto first_handle = handle(std::move(front));
    auto second_handle = handle(std::move(back));
    *forward = first_handle.release();
    *backward = second_handle.release();
  });
}

}  // extern "C"
