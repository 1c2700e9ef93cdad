// bindings/c/run.cpp -- lowering, compiling, running, looking inside.
#include <cstdlib>

#include "bindings/c/arrays.hpp"
#include "bindings/c/boundary.hpp"
#include "bindings/c/handles.hpp"
#include "jit/engine/export/export.hpp"
#include "jit/engine/inspect.hpp"
#include "jit/engine/report/cost_report.hpp"
#include "jit/engine/report/json_text.hpp"
#include "jit/engine/report/profile.hpp"
#include "jit/engine/report/stage_report.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/process/json.hpp"

namespace adjit::c {
namespace {

std::string target_of(const adjit_lower_options& options) {
  const char* usual = std::getenv("ADJIT_TARGET");
  return options.target != nullptr            ? options.target
         : usual != nullptr && *usual != '\0' ? usual
                                              : "cpu";
}

adjit_lower_options lower_options(const adjit_lower_options* given) {
  const adjit_lower_options options = options_from(given);
  if (options.memory_budget < 0)
    throw Error(ErrorCode::Invalid, "memory_budget is " + std::to_string(options.memory_budget) +
                                        "; it is a number of bytes, or 0 for no bound");
  return options;
}

std::vector<TensorLayout> input_layouts(const Computation& computation, int32_t count,
                                        const DLTensor* const* inputs) {
  std::vector<TensorLayout> layouts;
  for (const Computation::Tensor& input : computation.inputs())
    layouts.push_back(contiguous_layout(input.shape));
  if (inputs == nullptr) return layouts;
  if (static_cast<size_t>(count) != layouts.size())
    throw Error(ErrorCode::Invalid, "'" + computation.name() + "' takes " +
                                        std::to_string(layouts.size()) + " inputs, not " +
                                        std::to_string(count));
  for (size_t k = 0; k < layouts.size(); ++k) {
    const DLTensor& tensor = required(inputs[k], "inputs");
    const Computation::Tensor& input = computation.inputs()[k];
    static_cast<void>(shape_of(tensor));
    layouts[k] = layout_of(tensor);
    check_array(tensor, {input.dtype, input.shape, layouts[k].strides}, "input", k);
  }
  return layouts;
}

// The addresses of arrays that fit a plan; raises what adjit_executable_run's comment says.
class CheckedArrays {
 public:
  CheckedArrays(const Executable& executable, int32_t input_count, const DLTensor* const* inputs,
                int32_t output_count, DLTensor* const* outputs)
      : plan_(executable.plan()),
        device_(executable.device()),
        in_(plan_.inputs.size()),
        out_(plan_.outputs.size()),
        places_(device_ < 0 ? 0 : plan_.inputs.size() + plan_.outputs.size()) {
    const ExecutionPlan& plan = plan_;
    require_counts(plan, input_count, output_count);
    elements(inputs, input_count, "inputs");
    elements(outputs, output_count, "outputs");
    for (size_t k = 0; k < plan.inputs.size(); ++k) {
      const DLTensor& tensor = required(inputs[k], "inputs");
      check_array(tensor, plan.inputs[k], "input", k);
      in_.data()[k] = placed(tensor, "input", k, k);
    }
    for (size_t k = 0; k < plan.outputs.size(); ++k) {
      const DLTensor& tensor = required(outputs[k], "outputs");
      check_array(tensor, plan.outputs[k], "output", k);
      out_.data()[k] = placed(tensor, "output", k, plan.inputs.size() + k);
    }
    require_apart(plan, in_.data(), out_.data());
  }

  void* const* inputs() const { return in_.data(); }
  void* const* outputs() const { return out_.data(); }
  std::span<const bool> on_device() const { return places_.on_device(); }
  /// What of an executable serves them.
  /// `cancel`: the call's, which may have to compile.
  Executable& served_by(adjit_executable& handle, const CancelHook& cancel) const {
    return handle.variants->fitting(in_.data(), out_.data(), on_device(), cancel);
  }

 private:
  void* placed(const DLTensor& tensor, const char* role, size_t position, size_t argument) {
    try {
      if (device_ >= 0) places_.data()[argument] = lies_on(tensor, device_);
      return address_on(tensor, device_);
    } catch (const Error& error) {
      throw Error(error.code(),
                  std::string(role) + " " + std::to_string(position) + ": " + error.what());
    }
  }

  const ExecutionPlan& plan_;
  const int device_;
  Addresses in_, out_;
  Places places_;
};

std::string report_json(const adjit_executable& handle) {
  const Executable& executable = *handle.executable;
  const CompileReport& r = executable.report();
  Json key = Json::array();
  for (const cache::Component& c : handle.engine->key(handle.request).components)
    key.push_back({{"name", c.name}, {"value", c.value}});
  return json_text(Json{{"target", handle.request.target},
                        {"cache", handle.from_memory ? "memory" : r.cache},
                        {"miss_reason", handle.from_memory ? "" : r.miss_reason},
                        {"trace_ms", handle.request.trace_ms},
                        {"derive_ms", r.derive_ms},
                        {"schedule_ms", r.schedule_ms},
                        {"compile_ms", r.compile_ms},
                        {"load_ms", r.load_ms},
                        {"kernels", executable.plan().kernels.size()},
                        {"workspace_bytes", executable.workspace_bytes()},
                        {"code_bytes", r.code_bytes},
                        {"id", r.id},
                        {"kept_schedule", r.kept_schedule},
                        {"fallbacks", r.fallbacks},
                        {"key", std::move(key)}});
}

// None of a handle that is missing, which the call itself refuses.
template <class Handle>
CancelHook hook_of(const Handle* handle) {
  return handle ? handle->engine->options().cancel : CancelHook{};
}

// How an executable's variants are compiled: within a call that runs one, with its hook or, where
// it has none, with the thread's.
Variants::Compile compiled_by(const std::shared_ptr<Engine>& engine) {
  return [engine](const Request& request, const CancelHook& cancel) {
    const FloatModeScope mode(FloatMode::KeepSubnormals);  // as guarded()
    const Cancellable call(cancel.cancelled ? cancel : thread_hook());
    return engine->compile(request).executable;
  };
}

RunOptions run_options(const adjit_run_options& options, int device, const CancelHook& usual) {
  if (device < 0 && (options.device != 0 || options.stream != nullptr))
    throw Error(ErrorCode::Device,
                "a device or a stream is given: this executable runs on the CPU; leave both zero");
  if (device >= 0 && options.device != 0 && options.device != device)
    throw Error(ErrorCode::Device, "device " + std::to_string(options.device) +
                                       " is given: this executable runs on cuda:" +
                                       std::to_string(device) + "; lower for that device");
  if (device < 0 && (options.allocate != nullptr || options.free != nullptr))
    throw Error(ErrorCode::Invalid,
                "allocate and free are given: on the CPU adjit takes its workspace itself (see "
                "memory_budget); leave both NULL");
  if ((options.allocate == nullptr) != (options.free == nullptr))
    throw Error(ErrorCode::Invalid, "of allocate and free one is NULL; give both or none");
  return {.cancel = options.cancel ? CancelHook{options.cancel, options.user} : usual,
          .stream = options.stream,
          .allocate = options.allocate,
          .free = options.free,
          .user = options.user,
          .wait_for_checks = options.wait_for_checks != 0};
}

// "" where there is none; empty text is none by mistake.
std::string given_schedule(const char* json) {
  if (json == nullptr) return "";
  if (*json == '\0')
    throw Error(
        ErrorCode::Schedule,
        "the schedule is empty text; a schedule is a JSON list of moves ([]: none), or NULL");
  return json;
}

}  // namespace
}  // namespace adjit::c

using namespace adjit::c;  // NOLINT

extern "C" {

adjit_status adjit_computation_lower(adjit_context* context, const adjit_computation* computation,
                                     int32_t input_count, const DLTensor* const* inputs,
                                     const adjit_lower_options* options, adjit_lowered** lowered) {
  return guarded([&] {
    required(lowered, "lowered");
    const adjit_lower_options o = lower_options(options);
    auto handle = std::make_unique<adjit_lowered>();
    handle->engine = required(context, "context").engine;
    handle->request.computation = required(computation, "computation").computation;
    handle->request.layouts = input_layouts(*handle->request.computation, input_count, inputs);
    if (o.title != nullptr) handle->request.title = o.title;
    handle->request.schedule_json = given_schedule(o.schedule_json);
    handle->request.trace_ms = o.trace_ms;
    handle->request.memory_budget = o.memory_budget;
    handle->request.target = target_of(o);
    static_cast<void>(backend_of(handle->engine->compiler(), handle->request));  // is it there?
    *lowered = handle.release();
  });
}

void adjit_lowered_destroy(adjit_lowered* lowered) { delete lowered; }

adjit_status adjit_lowered_text(adjit_lowered* lowered, const char** text) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    required(text, "text");
    *text = kept(l.mutex, l.text,
                 [&] { return adjit::graph::print(adjit::engine::final_graph(l.request)); });
  });
}

adjit_status adjit_lowered_stages(adjit_lowered* lowered, const char** text) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    required(text, "json");
    *text = kept(l.mutex, l.stages,
                 [&] { return adjit::engine::stages_json(adjit::engine::final_graph(l.request)); });
  });
}

adjit_status adjit_lowered_schedule(adjit_lowered* lowered, const char** text) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    required(text, "text");
    *text = kept(l.mutex, l.schedule, [&] {
      return adjit::sched::print(adjit::engine::compiled_program(l.engine->compiler(), l.request));
    });
  });
}

adjit_status adjit_lowered_schedule_json(adjit_lowered* lowered, const char** text) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    required(text, "json");
    *text = kept(l.mutex, l.schedule_json, [&] {
      return adjit::engine::compiled_program(l.engine->compiler(), l.request).moves_json;
    });
  });
}

adjit_status adjit_lowered_explain(adjit_lowered* lowered, const char** text) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    required(text, "text");
    *text = kept(l.mutex, l.explanation,
                 [&] { return adjit::engine::explain(l.engine->compiler(), l.request); });
  });
}

adjit_status adjit_lowered_cost(adjit_lowered* lowered, const char** text) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    required(text, "json");
    *text = kept(l.mutex, l.cost, [&] {
      const adjit::sched::Target target =
          adjit::engine::schedule_target(l.engine->compiler(), l.request);
      const adjit::sched::Program program =
          adjit::engine::compiled_program(l.engine->compiler(), l.request);
      return adjit::engine::cost_json(program, target);
    });
  });
}

adjit_status adjit_lowered_proposals(adjit_lowered* lowered, int32_t count, uint64_t seed,
                                     const char** text) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    required(text, "json");
    if (count < 1)
      throw adjit::expr::Error(
          adjit::expr::ErrorCode::Invalid,
          "count is " + std::to_string(count) + "; ask for at least one schedule");
    adjit::process::Json list = adjit::process::Json::array();
    for (const auto& p : adjit::engine::proposals(l.engine->compiler(), l.request,
                                                  static_cast<size_t>(count), seed))
      list.push_back({{"schedule", adjit::process::Json::parse(p.schedule_json)},
                      {"changes", p.changes},
                      {"predicted", p.predicted}});
    std::string made = adjit::engine::json_text(list);
    const adjit::process::BriefLock lock(l.mutex);
    l.proposals = std::move(made);
    *text = l.proposals.c_str();
  });
}

adjit_status adjit_lowered_keep_schedule(adjit_lowered* lowered, const char* schedule_json) {
  return cancellable(hook_of(lowered), [&] {
    adjit_lowered& l = required(lowered, "lowered");
    l.engine->keep_schedule(l.request, given_schedule(schedule_json));
  });
}

adjit_status adjit_lowered_compile(adjit_lowered* lowered, adjit_executable** executable) {
  return cancellable(hook_of(lowered), [&] {
    required(executable, "executable");
    adjit_lowered& l = required(lowered, "lowered");
    auto handle = std::make_unique<adjit_executable>();
    handle->engine = l.engine;
    handle->request = l.request;
    adjit::engine::Compiled compiled = l.engine->compile(l.request);
    handle->executable = std::move(compiled.executable);
    handle->inspected = l.request;
    // What is kept may change, and what was scheduled may have been refused.
    handle->inspected.schedule_json = handle->executable->report().schedule;
    handle->from_memory = compiled.from_memory;
    handle->variants = std::make_unique<adjit::engine::Variants>(
        handle->inspected, handle->executable, compiled_by(handle->engine));
    *executable = handle.release();
  });
}

void adjit_executable_destroy(adjit_executable* executable) { delete executable; }

adjit_status adjit_executable_run(adjit_executable* executable, int32_t input_count,
                                  const DLTensor* const* inputs, int32_t output_count,
                                  DLTensor* const* outputs) {
  return status_of([&] {
    adjit::engine::Executable& e = *required(executable, "executable").executable;
    const CheckedArrays arrays(e, input_count, inputs, output_count, outputs);
    const CancelHook cancel = hook_of(executable);
    arrays.served_by(*executable, cancel)
        .run(arrays.inputs(), arrays.outputs(),
             {.cancel = cancel, .on_device = arrays.on_device()});
  });
}

adjit_status adjit_executable_run_with(adjit_executable* executable, int32_t input_count,
                                       const DLTensor* const* inputs, int32_t output_count,
                                       DLTensor* const* outputs, const adjit_run_options* options) {
  return status_of([&] {
    adjit::engine::Executable& e = *required(executable, "executable").executable;
    adjit::engine::RunOptions told =
        run_options(options_from(options), e.device(), hook_of(executable));
    const CheckedArrays arrays(e, input_count, inputs, output_count, outputs);
    told.on_device = arrays.on_device();
    arrays.served_by(*executable, told.cancel).run(arrays.inputs(), arrays.outputs(), told);
  });
}

adjit_status adjit_executable_profile(adjit_executable* executable, int32_t input_count,
                                      const DLTensor* const* inputs, int32_t output_count,
                                      DLTensor* const* outputs, int32_t repeats,
                                      const char** text) {
  return cancellable(hook_of(executable), [&] {
    adjit_executable& handle = required(executable, "executable");
    required(text, "json");
    if (repeats < 1)
      throw adjit::expr::Error(
          adjit::expr::ErrorCode::Invalid,
          "repeats is " + std::to_string(repeats) + "; profile at least one run");
    const CheckedArrays arrays(*handle.executable, input_count, inputs, output_count, outputs);
    adjit::engine::Executable& e = arrays.served_by(handle, hook_of(executable));
    const auto times =
        e.profile(arrays.inputs(), arrays.outputs(), repeats,
                  {.cancel = handle.engine->options().cancel, .on_device = arrays.on_device()});
    std::string made = adjit::engine::profile_json(
        adjit::engine::schedule_of(handle.engine->compiler(), handle.inspected),
        handle.request.layouts, e.plan(), times,
        adjit::engine::schedule_target(handle.engine->compiler(), handle.inspected));
    const adjit::process::BriefLock lock(handle.mutex);
    handle.profile = std::move(made);
    *text = handle.profile.c_str();
  });
}

adjit_status adjit_executable_run_raw(adjit_executable* executable, const void* const* inputs,
                                      void* const* outputs) {
  return status_of([&] {
    required(executable, "executable")
        .executable->run(inputs, outputs, {.cancel = hook_of(executable)});
  });
}

adjit_status adjit_executable_synchronize(adjit_executable* executable) {
  return status_of([&] { required(executable, "executable").variants->synchronize(); });
}

adjit_status adjit_executable_report(adjit_executable* executable, const char** text) {
  return guarded([&] {
    adjit_executable& e = required(executable, "executable");
    required(text, "json");
    *text = kept(e.mutex, e.report, [&] { return report_json(e); });
  });
}

adjit_status adjit_executable_llvm(adjit_executable* executable, const char** text) {
  return cancellable(hook_of(executable), [&] {
    adjit_executable& e = required(executable, "executable");
    required(text, "text");
    *text = kept(e.mutex, e.llvm,
                 [&] { return adjit::engine::llvm_text(e.engine->compiler(), e.inspected); });
  });
}

adjit_status adjit_executable_assembly(adjit_executable* executable, const char** text) {
  return cancellable(hook_of(executable), [&] {
    adjit_executable& e = required(executable, "executable");
    required(text, "text");
    *text = kept(e.mutex, e.assembly,
                 [&] { return adjit::engine::assembly_text(e.engine->compiler(), e.inspected); });
  });
}

adjit_status adjit_executable_ptx(adjit_executable* executable, const char** text) {
  return cancellable(hook_of(executable), [&] {
    adjit_executable& e = required(executable, "executable");
    required(text, "text");
    if (e.executable->device() < 0)
      throw adjit::expr::Error(adjit::expr::ErrorCode::Device,
                               "the executable is the CPU's, which has no PTX; ask for its "
                               "assembly, or lower with target \"cuda\"");
    *text = kept(e.mutex, e.assembly,
                 [&] { return adjit::engine::assembly_text(e.engine->compiler(), e.inspected); });
  });
}

adjit_status adjit_lowered_export(const char* name, int32_t function_count,
                                  adjit_lowered* const* functions,
                                  const char* const* function_names, const char* directory) {
  return guarded([&] {
    const std::string library = &required(name, "name");
    const std::string folder = &required(directory, "directory");
    const auto names = elements(function_names, function_count, "function_names");
    std::vector<adjit::engine::ExportedFunction> exported;
    for (adjit_lowered* lowered : elements(functions, function_count, "functions")) {
      const adjit_lowered& l = required(lowered, "functions");
      const adjit::process::Cancellable call(l.engine->options().cancel);
      exported.push_back(adjit::engine::exported(
          l.engine->compiler(), l.request, &required(names[exported.size()], "function_names")));
    }
    adjit::engine::export_library(library, exported, folder);
  });
}

}  // extern "C"
