// jit/engine/export/source.cpp -- an execution plan as C: run/cpu_executable.cpp, written out.
#include <algorithm>

#include "jit/engine/export/export.hpp"
#include "jit/engine/export/gpu_source.hpp"
#include "jit/engine/export/math.hpp"
#include "jit/engine/export/plan_source.hpp"

namespace adjit::engine {
namespace {

bool is_for_gpu(const ExportedFunction& f) { return !f.images.empty(); }

std::string list(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : ", ") + number(value);
  return text;
}

std::string described(const char* role, size_t k, const std::vector<std::string>& names,
                      const ArraySpec& spec) {
  const std::string name = k < names.size() ? plain(names[k]) : "";
  return " *   " + std::string(role) + number(k) + ": " + name + ", " +
         std::string(name_of(spec.dtype)) + " (" + list(spec.shape) + "), strides (" +
         list(spec.strides) + ")\n";
}

std::string parameters(const ExportedFunction& f) {
  std::string text = parameters_text(f.plan);
  if (is_for_gpu(f)) text += (text.empty() ? "" : ", ") + std::string("void* stream");
  return text.empty() ? "void" : text;
}

// A kernel's tasks, such as "0, 4".
std::string call_text(const ExportedFunction& f, size_t kernel, const std::string& tasks) {
  std::string tensors;
  for (size_t b : f.plan.kernels[kernel].tensors) {
    const Buffer& at = f.plan.buffers[b];
    tensors += at.kind == Buffer::Kind::Slot
                   ? "(void*)((uintptr_t)w + " + number(f.plan.workspace_bytes + at.at) +
                         " - (uintptr_t)task * " + number(at.slice) + ")"
                   : buffer_text(b);
    tensors += ", ";
  }
  return "{ void* const t[] = {" + tensors + "0}; " + f.plan.kernels[kernel].symbol + "(t, " +
         tasks + "); }\n";
}

std::string address_of(const ExportedFunction& f, const Buffer& b) {
  switch (b.kind) {
    case Buffer::Kind::Input: return "(void*)in" + number(b.at);
    case Buffer::Kind::Output: return "out" + number(b.at);
    case Buffer::Kind::Workspace: return "w + " + number(b.at);
    case Buffer::Kind::Constant: return "(void*)(" + f.name + "_constants + " + number(b.at) + ")";
    case Buffer::Kind::Check: return "checks + " + number(b.at);
    case Buffer::Kind::Slot:
    case Buffer::Kind::Step: return "0";
  }
  return "0";
}

StepWords words_for(const ExportedFunction& f) {
  return {.parameters = "void** b, char* w",
          .arguments = "b, w",
          .kernel = [&](size_t kernel,
                        const std::string& tasks) { return call_text(f, kernel, tasks); },
          .flag = [](size_t b) { return "*(const unsigned char*)" + buffer_text(b); },
          .finish =
              [](const ScanPlan::Carry& c) {
                return "memcpy(" + buffer_text(c.final) + ", " + buffer_text(c.in) + ", " +
                       number(c.bytes) + ");\n";
              }};
}

std::string function_text(const ExportedFunction& f) {
  const ExecutionPlan& plan = f.plan;
  const StepWords words = words_for(f);
  std::string text;
  for (size_t k = 0; k < plan.kernels.size(); ++k)
    if (!f.objects[k].empty())
      text += "HIDDEN void " + plan.kernels[k].symbol + "(void* const*, int64_t, int64_t);\n";
  text += bytes_text(f.name + "_constants", plan.constants) + scans_text(f, words);
  text += "int " + f.name + "(" + parameters(f) + ") {\n";
  const int64_t bytes = (plan.workspace_bytes + plan.slot_bytes + 64) / 64 * 64;
  text += "  char* const w = aligned_alloc(64, " + number(bytes) + ");\n  if (!w) return 1;\n";
  text += "  int64_t checks[" + number(2 * plan.checks.size() + 1) + "];\n  (void)checks;\n";
  text += "  void* b[" + number(plan.buffers.size() + 1) + "];\n";
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    text += "  " + buffer_text(b) + " = " + address_of(f, plan.buffers[b]) + ";\n";
  text +=
      "  (void)b;\n  const unsigned int mode = __builtin_ia32_stmxcsr();\n  "
      "__builtin_ia32_ldmxcsr(" +
      number(static_cast<int64_t>(f.float_mode)) + ");\n" + steps_text(f, words, plan.steps, "  ") +
      "  __builtin_ia32_ldmxcsr(mode);\n  free(w);\n";
  return text + checks_text(plan, "  ") + "  return 0;\n}\nconst char* " + f.name +
         "_message(int status) {\n  switch (status) {\n    case 0: return \"\";\n" +
         "    case 1: return \"out of memory\";\n" + check_messages_text(plan) +
         "  }\n  return \"unknown status\";\n}\n";
}

}  // namespace

std::string exported_symbol(const std::string& function, size_t kernel) {
  return "adjit_export_" + function + "_kernel_" + number(kernel);
}

std::string export_header(const std::string& library, std::span<const ExportedFunction> functions) {
  std::string text =
      "/* " + library +
      ".h -- compiled by adjit " ADJIT_VERSION
      ".\n * Arrays are borrowed; strides are in elements; outputs overlap nothing. "
      "Functions run on the calling\n * thread, any number of threads may call them. "
      "They return 0, or a status that <function>_message\n * explains (static "
      "storage): 1 out of memory, from 2 on what the data made fail. */\n";
  text += "#ifndef ADJIT_EXPORT_" + library + "_H\n#define ADJIT_EXPORT_" + library +
          "_H\n#include <stdint.h>\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
  if (std::ranges::any_of(functions, is_for_gpu)) text += gpu_header_text();
  for (const ExportedFunction& f : functions) {
    text += "\n/* " + f.name + (is_for_gpu(f) ? ", for a GPU\n" : "\n");
    for (size_t k = 0; k < f.plan.inputs.size(); ++k)
      text += described("in", k, f.inputs, f.plan.inputs[k]);
    for (size_t k = 0; k < f.plan.outputs.size(); ++k)
      text += described("out", k, f.outputs, f.plan.outputs[k]);
    if (f.float_mode == FloatMode::FlushSubnormals)
      text += " *   subnormal numbers count as zeros in arithmetic\n";
    if (is_for_gpu(f)) text += gpu_remarks(f);
    text += " */\nint " + f.name + "(" + parameters(f) + ");\nconst char* " + f.name +
            "_message(int status);\n";
    if (is_for_gpu(f)) text += "void " + f.name + "_unload(void);\n";
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string export_source(const std::string& library, std::span<const ExportedFunction> functions) {
  std::string text = "#include \"" + library +
                     ".h\"\n#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n"
                     "#define HIDDEN __attribute__((visibility(\"hidden\")))\n";
  text += exported_math(functions);
  if (std::ranges::any_of(functions, is_for_gpu)) text += gpu_support_text();
  for (const ExportedFunction& f : functions)
    text += "\n" + (is_for_gpu(f) ? gpu_function_text(f) : function_text(f));
  return text;
}

}  // namespace adjit::engine
