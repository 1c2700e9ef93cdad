// bindings/c/context.cpp -- contexts: options, logging, information.
#include <cstdlib>
#include <cstring>

#include "bindings/c/boundary.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/logging.hpp"
#include "jit/cuda/device.hpp"
#include "jit/cuda/installed.hpp"
#include "jit/engine/keys.hpp"
#include "jit/engine/report/json_text.hpp"
#include "runtime/process/json.hpp"

namespace adjit::c {
namespace {

adjit_log_level level_of(cache::Level level) {
  switch (level) {
    case cache::Level::Error: return ADJIT_LOG_ERROR;
    case cache::Level::Warning: return ADJIT_LOG_WARNING;
    case cache::Level::Info: return ADJIT_LOG_INFO;
    case cache::Level::Debug: return ADJIT_LOG_DEBUG;
    case cache::Level::Trace: break;
  }
  return ADJIT_LOG_TRACE;
}

// An option of two states: what it says, else what the environment says, else no.
// ErrorCode::Invalid for a value unknown.
bool chosen(int32_t option, const char* variable, const std::string& no, const std::string& yes) {
  if (option != 0) return option > 0;
  const char* text = std::getenv(variable);
  const std::string value = text == nullptr ? "" : text;
  if (!value.empty() && value != no && value != yes)
    throw Error(ErrorCode::Invalid,
                std::string(variable) + " is '" + value + "'; it must be " + no + " or " + yes);
  return value == yes;
}

EngineOptions engine_options(const adjit_context_options& options) {
  cache::Log log = standard_log("cache"), jit_log = standard_log("jit");
  if (options.log != nullptr)
    jit_log = log = [call = options.log, user = options.log_user](cache::Level level,
                                                                  const std::string& message) {
      call(user, level_of(level), message.c_str());
    };
  if (options.log == nullptr) {
    const char* wanted = std::getenv("ADJIT_LOG");
    const std::string complaint = log_complaint(wanted == nullptr ? "" : wanted);
    if (!complaint.empty()) cache::say(jit_log, cache::Level::Warning, complaint);
  }
  EngineOptions engine;
  engine.log = jit_log;
  engine.threads = options.num_threads;
  if (options.num_threads < 0 || options.num_threads > 4096)
    throw Error(ErrorCode::Invalid, "num_threads is " + std::to_string(options.num_threads) +
                                        "; it must lie between 0 and 4096");
  engine.store = cache::options_from_environment(log);
  if (options.cache_directory != nullptr) engine.store.directory = options.cache_directory;
  if (options.cache_mode != nullptr) {
    const std::string mode = options.cache_mode;
    if (mode != "off" && mode != "ro" && mode != "rw")
      throw Error(ErrorCode::Invalid, "cache_mode is '" + mode + "'; it must be off, ro or rw");
    engine.store.mode = mode == "off"  ? cache::Mode::Off
                        : mode == "ro" ? cache::Mode::ReadOnly
                                       : cache::Mode::ReadWrite;
  }
  engine.verify_plans = chosen(0, "ADJIT_VERIFY_PLANS", "0", "1");
  engine.check_nan = chosen(options.check_nan, "ADJIT_CHECK_NAN", "0", "1");
  engine.float_mode = chosen(options.keep_subnormals, "ADJIT_SUBNORMALS", "flush", "keep")
                          ? FloatMode::KeepSubnormals
                          : FloatMode::FlushSubnormals;
  engine.cancel = {options.cancel, options.cancel_user};
  if (options.target_features != nullptr) engine.target_features = options.target_features;
  return engine;
}

// Of a process that uses GPUs, what the driver shows it; of others what is installed, since asking
// the driver would initialise it: then forked children could not use GPUs.
Json gpus() {
  Json list = Json::array();
  if (!cuda::is_driver_initialised()) {
    for (const std::string& name : cuda::installed_gpus()) list.push_back({{"name", name}});
    return list;
  }
  for (const cuda::DeviceFacts& gpu : cuda::devices(cuda::driver()))
    list.push_back({{"name", gpu.name},
                    {"target", "cuda:" + std::to_string(gpu.ordinal)},
                    {"capability", std::to_string(gpu.capability / 10) + "." +
                                       std::to_string(gpu.capability % 10)},
                    {"memory_bytes", gpu.memory_bytes}});
  return list;
}

}  // namespace
}  // namespace adjit::c

using namespace adjit::c;  // NOLINT: the C entry points below are the only other content of this
                           // file

extern "C" {

adjit_status adjit_thread_set_cancel(adjit_cancel_function cancel, void* user) {
  adjit::process::set_thread_hook({cancel, user});
  return ADJIT_OK;
}

adjit_status adjit_context_create(const adjit_context_options* options, adjit_context** context) {
  return guarded([&] {
    required(context, "context");
    auto handle = std::make_unique<adjit_context>();
    handle->engine = std::make_shared<adjit::engine::Engine>(engine_options(options_from(options)));
    *context = handle.release();
  });
}

void adjit_context_destroy(adjit_context* context) {
  if (context == nullptr) return;
  static_cast<void>(guarded([&] { context->engine->store().flush(); }));
  delete context;
}

adjit_status adjit_context_flush(adjit_context* context) {
  return guarded([&] { required(context, "context").engine->store().flush(); });
}

adjit_status adjit_gpu_of(const void* address, int32_t* device) {
  return guarded([&] {
    int32_t& found = required(device, "device");  // before a driver is asked
    found = adjit::cuda::device_of(adjit::cuda::driver(), reinterpret_cast<uintptr_t>(address));
  });
}

adjit_status adjit_context_info(adjit_context* context, const char** text) {
  return guarded([&] {
    adjit::engine::Engine& engine = *required(context, "context").engine;
    required(text, "json");
    const adjit::cpu::CpuTarget& target = engine.target();
    const adjit::cache::StoreOptions& store = engine.store().options();
    static constexpr const char* kModes[] = {"off", "ro", "rw"};
    const adjit::process::Json info = {
        {"version", ADJIT_VERSION},
        {"llvm", adjit::engine::llvm_version()},
        {"compiler", __VERSION__},
        {"target",
         {{"triple", target.triple},
          {"cpu", target.cpu},
          {"features", target.features},
          {"vector_bits", target.vector.vector_bits}}},
        {"threads", engine.threads()},
        {"subnormals",
         engine.options().float_mode == adjit::cpu::FloatMode::KeepSubnormals ? "keep" : "flush"},
        {"gpus", gpus()},
        {"cache",
         {{"directory", store.directory.string()},
          {"mode", kModes[static_cast<size_t>(store.mode)]},
          {"writable", engine.store().writable()},
          {"max_bytes", store.max_bytes}}}};
    std::string made = adjit::engine::json_text(info);
    const adjit::process::BriefLock lock(context->mutex);
    context->info = std::move(made);
    *text = context->info.c_str();
  });
}

}  // extern "C"
