// tests/jit/emit/emitted_program.hpp -- a program emitted, compiled and run on memory of which
// every byte outside the tensors is watched.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/program/program.hpp"
#include "jit/cpu/code.hpp"
#include "jit/cpu/target.hpp"
#include "jit/emit/kernel.hpp"
#include "runtime/graph/interpret/interpreter.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// Compiled kernels of a program without scans.
class EmittedProgram {
 public:
  /// `layouts`: of every tensor of the program's graph; empty: row-major. `target` as cpu_target()
  /// takes it. The modules are verified.
  explicit EmittedProgram(Program program, const std::string& target = {},
                          std::vector<TensorLayout> layouts = {});

  /// The graph's outputs. Every tensor ends at a page that may not be touched (or starts behind
  /// one, when `at_start`); results start as garbage; tasks run one by one, the last first.
  /// std::runtime_error says which tensor was read or written outside.
  std::vector<Array> operator()(std::span<const Array> inputs, bool at_start = false) const;

  /// IR of a kernel as text.
  const std::string& ir(size_t kernel = 0) const { return ir_[kernel]; }
  const EmittedKernel& kernel(size_t k) const { return kernels_[k]; }
  KernelFunction function(size_t kernel) const;
  const Program& program() const { return program_; }

 private:
  Program program_;
  std::vector<TensorLayout> layouts_;
  std::vector<EmittedKernel> kernels_;  // without their modules
  std::vector<std::string> ir_;
  std::vector<std::shared_ptr<LoadedCode>> code_;
};

/// Whether the target that tests without one of their own compile for has FMA (ADJIT_CPU may say
/// that it has not); else multiply-adds are two instructions.
bool target_has_fma();

/// How often `part` stands in a text.
size_t occurrences(std::string_view text, std::string_view part);

/// How many vectors of elements that lie apart a text of IR loads.
size_t gathers(std::string_view ir);

/// The first element in which two results differ, as text; "" when none does. Floats may differ by
/// `tolerance` times max(1, magnitude); where `wide` (the graph in float64) is given, elements that
/// rounding alone moves by more do not count, nor do those that `excused` answers true for, given
/// the output, the element and the value found (tests/fuzz/oracle/rounding.hpp).
using Excused = std::function<bool(size_t, int64_t, double)>;
std::string difference(std::span<const Array> expected, std::span<const Array> actual,
                       double tolerance, std::span<const Array> wide = {},
                       const Excused& excused = {});

/// What compiled code gives against the program interpreter on the inputs, both with the memory
/// before and the memory behind the tensors watched, and what code for a GPU gives
/// (emulated_program.hpp); "" when they agree.
std::string check_emitted(const Program& program, std::span<const Array> inputs,
                          double tolerance = 1e-5);

/// Expects check_emitted to find a program right.
void expect_right(const Program& program);
/// The IR of a program's first kernel, once the program has been found right.
std::string checked_ir(const Program& program);
/// Its IR for an x86 of 256-bit vectors, with mask registers or without; it is not run.
std::string x86_ir(const Program& program, bool mask_registers);

/// How many multiply-adds of 8 floats a text of IR has.
size_t multiply_adds(std::string_view ir);

}  // namespace adjit::testing
