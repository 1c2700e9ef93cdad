// jit/engine/export/plan_source.hpp -- what exported functions of all machines are written with:
// types, arrays, and a plan's steps and scans.
#pragma once

#include <concepts>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "jit/engine/export/export.hpp"

namespace adjit::engine {

template <std::integral Integer>
std::string number(Integer value) {
  return std::to_string(value);
}

/// "const float* in0, float* out0"; "": no arrays.
std::string parameters_text(const ExecutionPlan& plan);

/// A C string's or comment's text: nothing that would end either.
std::string plain(const std::string& text);

/// An array of these bytes, and of a 0 behind them.
std::string bytes_text(const std::string& name, std::string_view bytes);

/// "b[3]", which holds the address of a buffer of the plan.
std::string buffer_text(size_t buffer);

/// How the functions of a machine run steps. Statements end their line.
struct StepWords {
  std::string parameters, arguments;  // of a scan's function: the buffers b, the workspace w, more
  /// A kernel's call, of tasks such as "0, 4".
  std::function<std::string(size_t kernel, const std::string& tasks)> kernel;
  std::function<std::string(size_t buffer)> flag;                   // the bool that lies there
  std::function<std::string(const ScanPlan::Carry& carry)> finish;  // copies `in` to `final`
};

/// A function of each scan, inner ones first.
std::string scans_text(const ExportedFunction& f, const StepWords& words);

/// What runs steps, inside a function that has what those of scans take.
std::string steps_text(const ExportedFunction& f, const StepWords& words,
                       const std::vector<StepPlan>& steps, const std::string& indent);

/// The statuses of data checks, from 2 on: what returns that of one that failed, by the numbers in
/// the array `checks`, and what the function of messages says to it.
std::string checks_text(const ExecutionPlan& plan, const std::string& indent);
std::string check_messages_text(const ExecutionPlan& plan);

}  // namespace adjit::engine
