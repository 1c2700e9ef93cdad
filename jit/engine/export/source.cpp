// jit/engine/export/source.cpp -- an execution plan as C: run/cpu_executable.cpp, written out.
#include "jit/engine/export/export.hpp"
#include "jit/engine/export/math.hpp"

namespace adjit::engine {
namespace {

std::string number(int64_t value) { return std::to_string(value); }
std::string number(size_t value) { return std::to_string(value); }

const char* c_type(DType dtype) {
  switch (dtype) {
    case DType::Bool:
    case DType::UInt8: return "uint8_t";
    case DType::Int8: return "int8_t";
    case DType::Int16: return "int16_t";
    case DType::Int32: return "int32_t";
    case DType::Int64: return "int64_t";
    case DType::Float16:
    case DType::BFloat16: return "uint16_t";
    case DType::Float32: return "float";
    case DType::Float64: return "double";
  }
  return "void";
}

std::string list(const std::vector<int64_t>& values) {
  std::string text;
  for (int64_t value : values) text += (text.empty() ? "" : ", ") + number(value);
  return text;
}

// "const float* in0, float* out0"
std::string parameters(const ExportedFunction& f) {
  std::string text;
  for (size_t k = 0; k < f.plan.inputs.size(); ++k)
    text += (text.empty() ? "const " : ", const ") + std::string(c_type(f.plan.inputs[k].dtype)) +
            "* in" + number(k);
  for (size_t k = 0; k < f.plan.outputs.size(); ++k)
    text += (text.empty() ? "" : ", ") + std::string(c_type(f.plan.outputs[k].dtype)) + "* out" +
            number(k);
  return text.empty() ? "void" : text;
}

// A C string's or comment's text: nothing that would end either.
std::string plain(const std::string& text) {
  std::string safe;
  for (char c : text)
    safe += c == '"' || c == '\\' || c == '*' || static_cast<unsigned char>(c) < 0x20 ? '.' : c;
  return safe;
}

std::string described(const char* role, size_t k, const std::vector<std::string>& names,
                      const ArraySpec& spec) {
  const std::string name = k < names.size() ? plain(names[k]) : "";
  return " *   " + std::string(role) + number(k) + ": " + name + ", " +
         std::string(name_of(spec.dtype)) + " (" + list(spec.shape) + "), strides (" +
         list(spec.strides) + ")\n";
}

std::string scan_name(const ExportedFunction& f, size_t scan) {
  return f.name + "_scan_" + number(scan);
}

std::string buffer(size_t b) { return "b[" + number(b) + "]"; }

// A kernel's tasks, such as "0, 4".
std::string call_text(const ExportedFunction& f, size_t kernel, const std::string& tasks) {
  std::string tensors;
  for (size_t b : f.plan.kernels[kernel].tensors) {
    const Buffer& at = f.plan.buffers[b];
    tensors += at.kind == Buffer::Kind::Slot
                   ? "(void*)((uintptr_t)w + " + number(f.plan.workspace_bytes + at.at) +
                         " - (uintptr_t)task * " + number(at.slice) + ")"
                   : buffer(b);
    tensors += ", ";
  }
  return "{ void* const t[] = {" + tensors + "0}; " + f.plan.kernels[kernel].symbol + "(t, " +
         tasks + "); }\n";
}

// What runs steps, inside a function that has the buffers b and the workspace w.
std::string steps_text(const ExportedFunction& f, const std::vector<StepPlan>& steps,
                       const std::string& indent) {
  std::string text;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].scan) {
      text += indent + scan_name(f, steps[s].number) + "(b, w);\n";
      continue;
    }
    const std::string tasks = number(f.plan.kernels[steps[s].number].tasks);
    const auto chained = [&](size_t at) {
      return at < steps.size() && !steps[at].scan && f.plan.kernels[steps[at].number].chained;
    };
    if (!chained(s + 1)) {
      text += indent + call_text(f, steps[s].number, "0, " + tasks);
      continue;
    }
    text += indent + "for (int64_t task = 0; task < " + tasks + "; ++task) {\n";
    text += indent + "  " + call_text(f, steps[s].number, "task, task + 1");
    while (chained(s + 1))
      text += indent + "  " + call_text(f, steps[++s].number, "task, task + 1");
    text += indent + "}\n";
  }
  return text;
}

std::string spare(const ScanPlan::Carry& c, const char* which) {
  return "w + (" + std::string(which) + " % 2 ? " + number(c.spares[1]) + " : " +
         number(c.spares[0]) + ")";
}

std::string loop_text(const ExportedFunction& f, const ScanPlan& scan) {
  std::string text = "  for (int64_t n = 0; n < " + number(scan.trips) + "; ++n) {\n";
  text += "    const int64_t at = " +
          (scan.reverse ? number(scan.trips - 1) + " - n" : std::string("n")) +
          ";\n    (void)at;\n";
  for (const ScanPlan::Slice& s : scan.slices)
    text += "    " + buffer(s.buffer) + " = (char*)" + buffer(s.of) + " + at * (" +
            number(s.bytes) + ");\n";
  for (const ScanPlan::Carry& c : scan.carries) {
    text += "    " + buffer(c.in) + " = n == 0 ? " + buffer(c.start) + " : (void*)(" +
            spare(c, "(n - 1)") + ");\n";
    text += "    " + buffer(c.out) + " = n + 1 == " + number(scan.trips) + " ? " + buffer(c.final) +
            " : (void*)(" + spare(c, "n") + ");\n";
  }
  return text + steps_text(f, scan.steps, "    ") + "  }\n";
}

std::string conditional_text(const ExportedFunction& f, const ScanPlan& scan) {
  std::string text = "  for (int64_t n = 0;; ++n) {\n";
  for (const ScanPlan::Carry& c : scan.carries)
    text += "    " + buffer(c.in) + " = n == 0 ? " + buffer(c.start) + " : (void*)(" +
            spare(c, "(n - 1)") + ");\n";
  text += "    if (!*(const unsigned char*)" + buffer(scan.carries.back().in) + ") break;\n";
  for (const ScanPlan::Carry& c : scan.carries)
    text += "    " + buffer(c.out) + " = " + spare(c, "n") + ";\n";
  text += steps_text(f, scan.steps, "    ") + "  }\n";
  for (const ScanPlan::Carry& c : scan.carries)
    text += "  memcpy(" + buffer(c.final) + ", " + buffer(c.in) + ", " + number(c.bytes) + ");\n";
  return text;
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

std::string constants_text(const ExportedFunction& f) {
  std::string text = "static const unsigned char " + f.name + "_constants[" +
                     number(f.plan.constants.size() + 1) + "] __attribute__((aligned(64))) = {";
  for (size_t k = 0; k < f.plan.constants.size(); ++k)
    text += (k % 32 ? "" : "\n  ") +
            number(static_cast<int64_t>(static_cast<unsigned char>(f.plan.constants[k]))) + ",";
  return text + "0};\n";
}

std::string function_text(const ExportedFunction& f) {
  const ExecutionPlan& plan = f.plan;
  std::string text;
  for (size_t k = 0; k < plan.kernels.size(); ++k)
    if (!f.objects[k].empty())
      text += "HIDDEN void " + plan.kernels[k].symbol + "(void* const*, int64_t, int64_t);\n";
  text += constants_text(f);
  for (size_t s = 0; s < plan.scans.size(); ++s)  // inner ones come first
    text += "static void " + scan_name(f, s) + "(void** b, char* w) {\n  (void)w;\n" +
            steps_text(f, plan.scans[s].before, "  ") +
            (plan.scans[s].conditional ? conditional_text(f, plan.scans[s])
                                       : loop_text(f, plan.scans[s])) +
            "}\n";
  text += "int " + f.name + "(" + parameters(f) + ") {\n";
  const int64_t bytes = (plan.workspace_bytes + plan.slot_bytes + 64) / 64 * 64;
  text += "  char* const w = aligned_alloc(64, " + number(bytes) + ");\n  if (!w) return 1;\n";
  text += "  int64_t checks[" + number(2 * plan.checks.size() + 1) + "];\n  (void)checks;\n";
  text += "  void* b[" + number(plan.buffers.size() + 1) + "];\n";
  for (size_t b = 0; b < plan.buffers.size(); ++b)
    text += "  " + buffer(b) + " = " + address_of(f, plan.buffers[b]) + ";\n";
  text +=
      "  (void)b;\n  const unsigned int mode = __builtin_ia32_stmxcsr();\n  "
      "__builtin_ia32_ldmxcsr(" +
      number(static_cast<int64_t>(f.float_mode)) + ");\n" + steps_text(f, plan.steps, "  ") +
      "  __builtin_ia32_ldmxcsr(mode);\n  free(w);\n";
  for (size_t k = 0; k < plan.checks.size(); ++k)
    if (plan.checks[k].kind != DataCheck::Kind::NaNInput)
      text += "  if (checks[" + number(2 * k) + "] != INT64_MAX) return " + number(2 + k) + ";\n";
  text += "  return 0;\n}\nconst char* " + f.name + "_message(int status) {\n  switch (status) {\n";
  text += "    case 0: return \"\";\n    case 1: return \"out of memory\";\n";
  for (size_t k = 0; k < plan.checks.size(); ++k)
    text += "    case " + number(2 + k) + ": return \"" +
            (plan.checks[k].kind == DataCheck::Kind::Index ? "index out of range in " : "NaN in ") +
            plain(plan.checks[k].subject) + "\";\n";
  return text + "  }\n  return \"unknown status\";\n}\n";
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
  for (const ExportedFunction& f : functions) {
    text += "\n/* " + f.name + "\n";
    for (size_t k = 0; k < f.plan.inputs.size(); ++k)
      text += described("in", k, f.inputs, f.plan.inputs[k]);
    for (size_t k = 0; k < f.plan.outputs.size(); ++k)
      text += described("out", k, f.outputs, f.plan.outputs[k]);
    if (f.float_mode == FloatMode::FlushSubnormals)
      text += " *   subnormal numbers count as zeros in arithmetic\n";
    text += " */\nint " + f.name + "(" + parameters(f) + ");\nconst char* " + f.name +
            "_message(int status);\n";
  }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string export_source(const std::string& library, std::span<const ExportedFunction> functions) {
  std::string text = "#include \"" + library +
                     ".h\"\n#include <math.h>\n#include <stdlib.h>\n#include <string.h>\n"
                     "#define HIDDEN __attribute__((visibility(\"hidden\")))\n";
  text += exported_math(functions);
  for (const ExportedFunction& f : functions) text += "\n" + function_text(f);
  return text;
}

}  // namespace adjit::engine
