// jit/engine/export/gpu_source.cpp -- run/cuda_steps.cpp written out as C: images of the code, a
// launch for each kernel, loops for scans.
#include "jit/engine/export/gpu_source.hpp"

#include <algorithm>
#include <string_view>

#include "autosched/machine/gpu_machine.hpp"
#include "jit/cuda/stream.hpp"
#include "jit/engine/export/plan_source.hpp"
#include "jit/engine/plan/workspace.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {

extern const char kGpuSupport[];  // gpu_support.c

namespace {

struct DriverFunction {
  std::string_view name, symbol, parameters;
};
constexpr DriverFunction kDriverFunctions[] = {
#define DRIVER_FUNCTION(name, symbol, parameters) {#name, #symbol, #parameters},
#include "jit/cuda/driver_functions.def"
#undef DRIVER_FUNCTION
};

constexpr std::string_view kTypes =
    "typedef int Result;\ntypedef unsigned long long DevicePointer;\n"
    "typedef struct adjit_context* ContextHandle;\ntypedef struct adjit_module* ModuleHandle;\n"
    "typedef struct adjit_function* FunctionHandle;\ntypedef struct adjit_stream* StreamHandle;\n";

// Where a call's workspace has what is not the plan's.
struct Room {
  int64_t checks = 0, table = 0, bytes = 0;
};
Room room_of(const ExecutionPlan& plan) {
  Room room;
  room.checks = aligned(plan.workspace_bytes, kAllocationBytes);
  room.table = room.checks;
  if (!plan.checks.empty())
    room.table += aligned(std::ssize(plan.checks) * 2 * 8, kAllocationBytes);
  room.bytes = room.table;
  for (const KernelPlan& kernel : plan.kernels)
    if (kernel.by_table)
      room.bytes = std::max(room.bytes, room.table + std::ssize(kernel.tensors) * 8);
  return room;
}

bool has_loops_by_data(const ExecutionPlan& plan) {
  return std::ranges::any_of(plan.scans, &ScanPlan::conditional);
}
bool has_tables(const ExecutionPlan& plan) {
  return std::ranges::any_of(plan.kernels, &KernelPlan::by_table);
}

const ArraySpec& argument(const ExecutionPlan& plan, size_t k) {
  return k < plan.inputs.size() ? plan.inputs[k] : plan.outputs[k - plan.inputs.size()];
}
std::string argument_name(const ExecutionPlan& plan, size_t k) {
  return k < plan.inputs.size() ? "in" + number(k) : "out" + number(k - plan.inputs.size());
}
// Those of addresses come behind those of data checks.
size_t alignment_status(const ExecutionPlan& plan, size_t k) { return 2 + plan.checks.size() + k; }

std::string launch_text(const ExportedFunction& f, size_t kernel, int64_t table) {
  const KernelPlan& plan = f.plan.kernels[kernel];
  const LaunchSize size = launch_size(plan);
  if (size.blocks == 0) return ";\n";
  const unsigned blocks = blocks_of({size.blocks, size.threads, size.shared_bytes});
  std::string addresses;
  for (size_t b : plan.tensors)
    addresses +=
        (addresses.empty() ? "" : ", ") + std::string(plan.by_table ? "" : "&") + buffer_text(b);
  const std::string launched = "(call, " + number(kernel) + ", " + number(blocks) + ", " +
                               number(size.threads) + ", (void*[]){" + addresses + "}";
  if (!plan.by_table) return "adjit_launch" + launched + ");\n";
  return "adjit_launch_by_table" + launched + ", " + number(plan.tensors.size() * 8) + ", w + " +
         number(table) + ");\n";
}

StepWords words_for(const ExportedFunction& f, int64_t table) {
  return {.parameters = "struct adjit_call* call, void** b, char* w",
          .arguments = "call, b, w",
          .kernel = [&f, table](size_t kernel,
                                const std::string&) { return launch_text(f, kernel, table); },
          .flag = [](size_t b) { return "adjit_flag(call, " + buffer_text(b) + ")"; },
          .finish =
              [](const ScanPlan::Carry& c) {
                return "adjit_copy(call, " + buffer_text(c.final) + ", " + buffer_text(c.in) +
                       ", " + number(c.bytes) + ");\n";
              }};
}

std::string address_of(const Buffer& b, const Room& room) {
  switch (b.kind) {
    case Buffer::Kind::Input: return "(void*)in" + number(b.at);
    case Buffer::Kind::Output: return "out" + number(b.at);
    case Buffer::Kind::Workspace: return "w + " + number(b.at);
    case Buffer::Kind::Constant: return "constants + " + number(b.at);
    case Buffer::Kind::Check: return "w + " + number(room.checks + 8 * b.at);
    case Buffer::Kind::Slot:
    case Buffer::Kind::Step: return "0";
  }
  return "0";
}

// Images, kernels, constants.
std::string code_text(const ExportedFunction& f) {
  std::string text, images, kernels;
  for (size_t k = 0; k < f.images.size(); ++k) {
    const std::string name = f.name + "_image_" + number(k);
    text += bytes_text(name, f.images[k]);
    images += name + ", ";
  }
  text += bytes_text(f.name + "_constants", f.plan.constants);
  for (const KernelPlan& kernel : f.plan.kernels)
    kernels += "  {\"" + kernel.symbol + "\", " + number(kernel.shared_bytes) + "},\n";
  text += "static const void* const " + f.name + "_images[] = {" + images + "0};\n";
  text +=
      "static const struct adjit_kernel " + f.name + "_kernels[] = {\n" + kernels + "  {0, 0}};\n";
  return text + "static struct adjit_code " + f.name + "_code = {" + f.name + "_images, " + f.name +
         "_kernels, " + number(f.plan.kernels.size()) + ", " + f.name + "_constants, " +
         number(f.plan.constants.size()) + ", PTHREAD_MUTEX_INITIALIZER, 0};\n";
}

std::string run_text(const ExportedFunction& f, const StepWords& words, const Room& room) {
  const ExecutionPlan& plan = f.plan;
  std::string text;
  const size_t arguments = plan.inputs.size() + plan.outputs.size();
  for (size_t k = 0; k < arguments; ++k)
    if (const int64_t bytes = argument(plan, k).alignment; bytes > 0)
      text += "  if ((uintptr_t)" + argument_name(plan, k) + " % " + number(bytes) + ") return " +
              number(alignment_status(plan, k)) + ";\n";
  text += "  struct adjit_call begun = adjit_begin(&" + f.name + "_code, stream, " +
          number(room.bytes) + ", " + (has_loops_by_data(plan) || has_tables(plan) ? "1" : "0") +
          ");\n";
  text +=
      "  if (begun.result) return adjit_end(&begun);\n  struct adjit_call* const call = &begun;\n";
  text += "  char* const w = (char*)(uintptr_t)call->workspace;\n  (void)w;\n";
  if (!plan.constants.empty())
    text += "  char* const constants = (char*)(uintptr_t)call->loaded->constants;\n";
  text += "  void* b[" + number(plan.buffers.size() + 1) + "];\n  (void)b;\n";
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    text += "  " + buffer_text(b) + " = " + address_of(plan.buffers[b], room) + ";\n";
  text += steps_text(f, words, plan.steps, "  ");
  if (plan.checks.empty()) return text + "  return adjit_end(call);\n";
  text += "  int64_t checks[" + number(2 * plan.checks.size()) + "];\n";
  text += "  if (!call->captured) adjit_read(call, checks, w + " + number(room.checks) +
          ", sizeof checks);\n";
  text += "  const int status = adjit_end(call);\n  if (status || call->captured) return status;\n";
  return text + checks_text(plan, "  ") + "  return 0;\n";
}

std::string alignment_messages_text(const ExecutionPlan& plan) {
  std::string text;
  for (size_t k = 0; k < plan.inputs.size() + plan.outputs.size(); ++k)
    if (const int64_t bytes = argument(plan, k).alignment; bytes > 0)
      text += "    case " + number(alignment_status(plan, k)) + ": return \"" +
              argument_name(plan, k) + " lies at an address that " + number(bytes) +
              " bytes do not divide\";\n";
  return text;
}

}  // namespace

std::string gpu_header_text() {
  return "\n/* Of functions for a GPU: arrays lie in the memory of the GPU whose context is "
         "current in the calling\n * thread, as the CUDA runtime and cuCtxSetCurrent make it. "
         "`stream` is a CUstream or cudaStream_t of it;\n * NULL: the default one. A call puts its "
         "work into the stream and returns before it is done, but where\n * it says that it waits; "
         "its workspace is taken and given back in the stream, of the GPU's current\n * memory "
         "pool. The first call in a context loads the code; <function>_unload gives that back, of "
         "the\n * current context, once all that calls have put into streams is done, and graphs "
         "that captured\n * "
         "them are destroyed, before the context ends. Arrays must lie at addresses divisible as "
         "each function\n * says. Negative statuses are the CUDA driver's, negated (CUresult). The "
         "driver is libcuda.so.1, or\n * what the environment variable ADJIT_CUDA_LIBRARY names. "
         "*/\n";
}

std::string gpu_remarks(const ExportedFunction& f) {
  std::string text;
  int64_t alignment = 0;
  for (size_t k = 0; k < f.plan.inputs.size() + f.plan.outputs.size(); ++k)
    alignment = std::max(alignment, argument(f.plan, k).alignment);
  if (alignment > 0)
    text += " *   " + number(alignment) + " bytes divide the addresses of arrays\n";
  if (const int64_t bytes = room_of(f.plan).bytes; bytes > 0)
    text += " *   takes " + number(bytes) + " bytes of workspace\n";
  if (has_loops_by_data(f.plan))
    text += " *   waits for each step of a loop, and cannot be captured into a graph\n";
  else if (has_tables(f.plan))
    text += " *   cannot be captured into a graph\n";
  if (!f.plan.checks.empty())
    text +=
        " *   waits until it is done, to look for what the data made fail; not while it is "
        "captured\n";
  return text;
}

std::string gpu_support_text() {
  const std::string_view support = kGpuSupport;
  std::string functions, symbols;
  for (const DriverFunction& function : kDriverFunctions) {
    const std::string name(function.name);
    if (support.find("adjit_cuda." + name + "(") == std::string_view::npos) continue;
    functions += "  Result (*" + name + ")" + std::string(function.parameters) + ";\n";
    symbols += "    {\"" + std::string(function.symbol) + "\", offsetof(struct adjit_driver, " +
               name + ")},\n";
  }
  return "#include <stddef.h>\n#include <stdint.h>\n" + std::string(kTypes) +
         "static struct adjit_driver {\n" + functions + "} adjit_cuda;\n" +
         "static const struct {\n  const char* name;\n  size_t at;\n} adjit_symbols[] = {\n" +
         symbols + "};\n" + std::string(support);
}

std::string gpu_function_text(const ExportedFunction& f) {
  invariant(f.plan.slot_bytes == 0, "a plan for a GPU has slots of threads");
  const Room room = room_of(f.plan);
  const StepWords words = words_for(f, room.table);
  const std::string parameters = parameters_text(f.plan);
  std::string text = code_text(f) + scans_text(f, words);
  text += "int " + f.name + "(" + parameters + (parameters.empty() ? "" : ", ") +
          "void* stream) {\n" + run_text(f, words, room) + "}\n";
  text += "const char* " + f.name + "_message(int status) {\n  switch (status) {\n" +
          "    case 0: return \"\";\n    case 1: return \"out of memory\";\n" +
          check_messages_text(f.plan) + alignment_messages_text(f.plan) +
          "  }\n  return adjit_failure(status);\n}\n";
  return text + "void " + f.name + "_unload(void) { adjit_unload(&" + f.name + "_code); }\n";
}

}  // namespace adjit::engine
