// autosched/analysis/kernel_calls.hpp -- which kernels a run calls, and how often.
#pragma once

#include <cstdint>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// A kernel of a program, or of the steps of a scan in it.
struct KernelCalls {
  const Program* program = nullptr;  // whose kernel it is
  const Scan* scan = nullptr;        // whose steps that program is, or null
  size_t kernel = 0;
  int64_t calls = 1;  // in one run, INT64_MAX at most; 0 where data says how many steps there are
};

/// All kernels that are no scans, in the order in which they first run: scans' steps stand in
/// place. A kernel that no step changes (scan_invariants.hpp) is called once before them. Linear in
/// the program, which must outlive the result.
std::vector<KernelCalls> kernel_calls(const Program& program);

}  // namespace adjit::sched
