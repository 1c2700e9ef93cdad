// jit/engine/export/plan_source.cpp -- a plan's steps and scans as C.
#include "jit/engine/export/plan_source.hpp"

namespace adjit::engine {
namespace {

// Of an element.
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

std::string scan_name(const ExportedFunction& f, size_t scan) {
  return f.name + "_scan_" + number(scan);
}

std::string spare(const ScanPlan::Carry& c, const char* which) {
  return "w + (" + std::string(which) + " % 2 ? " + number(c.spares[1]) + " : " +
         number(c.spares[0]) + ")";
}

std::string loop_text(const ExportedFunction& f, const StepWords& words, const ScanPlan& scan) {
  std::string text = "  for (int64_t n = 0; n < " + number(scan.trips) + "; ++n) {\n";
  text += "    const int64_t at = " +
          (scan.reverse ? number(scan.trips - 1) + " - n" : std::string("n")) +
          ";\n    (void)at;\n";
  for (const ScanPlan::Slice& s : scan.slices)
    text += "    " + buffer_text(s.buffer) + " = (char*)" + buffer_text(s.of) + " + at * (" +
            number(s.bytes) + ");\n";
  for (const ScanPlan::Carry& c : scan.carries) {
    text += "    " + buffer_text(c.in) + " = n == 0 ? " + buffer_text(c.start) + " : (void*)(" +
            spare(c, "(n - 1)") + ");\n";
    text += "    " + buffer_text(c.out) + " = n + 1 == " + number(scan.trips) + " ? " +
            buffer_text(c.final) + " : (void*)(" + spare(c, "n") + ");\n";
  }
  return text + steps_text(f, words, scan.steps, "    ") + "  }\n";
}

std::string conditional_text(const ExportedFunction& f, const StepWords& words,
                             const ScanPlan& scan) {
  std::string text = "  for (int64_t n = 0;; ++n) {\n";
  for (const ScanPlan::Carry& c : scan.carries)
    text += "    " + buffer_text(c.in) + " = n == 0 ? " + buffer_text(c.start) + " : (void*)(" +
            spare(c, "(n - 1)") + ");\n";
  text += "    if (!" + words.flag(scan.carries.back().in) + ") break;\n";
  for (const ScanPlan::Carry& c : scan.carries)
    text += "    " + buffer_text(c.out) + " = " + spare(c, "n") + ";\n";
  text += steps_text(f, words, scan.steps, "    ") + "  }\n";
  for (const ScanPlan::Carry& c : scan.carries) text += "  " + words.finish(c);
  return text;
}

}  // namespace

std::string parameters_text(const ExecutionPlan& plan) {
  std::string text;
  for (size_t k = 0; k < plan.inputs.size(); ++k)
    text += (text.empty() ? "const " : ", const ") + std::string(c_type(plan.inputs[k].dtype)) +
            "* in" + number(k);
  for (size_t k = 0; k < plan.outputs.size(); ++k)
    text += (text.empty() ? "" : ", ") + std::string(c_type(plan.outputs[k].dtype)) + "* out" +
            number(k);
  return text;
}

std::string plain(const std::string& text) {
  std::string safe;
  for (char c : text)
    safe += c == '"' || c == '\\' || c == '*' || static_cast<unsigned char>(c) < 0x20 ? '.' : c;
  return safe;
}

std::string bytes_text(const std::string& name, std::string_view bytes) {
  std::string text = "static const unsigned char " + name + "[" + number(bytes.size() + 1) +
                     "] __attribute__((aligned(64))) = {";
  for (size_t k = 0; k < bytes.size(); ++k)
    text += (k % 32 ? "" : "\n  ") +
            number(static_cast<int64_t>(static_cast<unsigned char>(bytes[k]))) + ",";
  return text + "0};\n";
}

std::string buffer_text(size_t buffer) { return "b[" + number(buffer) + "]"; }

std::string scans_text(const ExportedFunction& f, const StepWords& words) {
  std::string text;
  for (size_t s = 0; s < f.plan.scans.size(); ++s) {
    const ScanPlan& scan = f.plan.scans[s];
    text += "static void " + scan_name(f, s) + "(" + words.parameters + ") {\n  (void)w;\n" +
            steps_text(f, words, scan.before, "  ") +
            (scan.conditional ? conditional_text(f, words, scan) : loop_text(f, words, scan)) +
            "}\n";
  }
  return text;
}

std::string steps_text(const ExportedFunction& f, const StepWords& words,
                       const std::vector<StepPlan>& steps, const std::string& indent) {
  std::string text;
  for (size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].scan) {
      text += indent + scan_name(f, steps[s].number) + "(" + words.arguments + ");\n";
      continue;
    }
    const std::string tasks = number(f.plan.kernels[steps[s].number].tasks);
    const auto chained = [&](size_t at) {
      return at < steps.size() && !steps[at].scan && f.plan.kernels[steps[at].number].chained;
    };
    if (!chained(s + 1)) {
      text += indent + words.kernel(steps[s].number, "0, " + tasks);
      continue;
    }
    text += indent + "for (int64_t task = 0; task < " + tasks + "; ++task) {\n";
    text += indent + "  " + words.kernel(steps[s].number, "task, task + 1");
    while (chained(s + 1))
      text += indent + "  " + words.kernel(steps[++s].number, "task, task + 1");
    text += indent + "}\n";
  }
  return text;
}

std::string checks_text(const ExecutionPlan& plan, const std::string& indent) {
  std::string text;
  for (size_t k = 0; k < plan.checks.size(); ++k)
    if (plan.checks[k].kind != DataCheck::Kind::NaNInput)
      text += indent + "if (checks[" + number(2 * k) + "] != INT64_MAX) return " + number(2 + k) +
              ";\n";
  return text;
}

std::string check_messages_text(const ExecutionPlan& plan) {
  std::string text;
  for (size_t k = 0; k < plan.checks.size(); ++k)
    text += "    case " + number(2 + k) + ": return \"" +
            (plan.checks[k].kind == DataCheck::Kind::Index ? "index out of range in " : "NaN in ") +
            plain(plan.checks[k].subject) + "\";\n";
  return text;
}

}  // namespace adjit::engine
