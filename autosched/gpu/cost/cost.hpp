// autosched/gpu/cost/cost.hpp -- how long a program would take on a GPU.
//
// An analytic model of each kernel: its launch, and the longest of what it does at once. The
// accesses of a warp are counted in sectors, which L2 gives; what is touched at all comes from
// memory, unless everything that the program keeps stays in L2; threads compute side by side; and
// where they are few, each waits for what it reads. Everything is a pure function of program and
// machine: nothing is measured.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

enum class GpuCostTerm : uint8_t {
  Launch,      // from the kernel before to this one
  Arithmetic,  // instructions, those of addresses and accesses included
  L2,          // sectors that warps ask for
  Memory,      // bytes that are touched at all
  Latency,     // a thread's steps, one after the other
};
inline constexpr size_t kGpuCostTerms = 5;
/// "launch", "arithmetic", ...
std::string_view name_of(GpuCostTerm term);

/// Microseconds by term, as if nothing else were done.
using GpuCostTerms = std::array<double, kGpuCostTerms>;

/// One call of a kernel.
struct GpuKernelCost {
  const Program* program = nullptr;  // of the kernel, which may be that of a scan's steps
  size_t kernel = 0;
  int64_t calls = 1;  // in one run
  double threads = 1;
  GpuCostTerms terms{};
  double microseconds = 0;  // the launch and the longest of the others
};

struct GpuProgramCost {
  std::vector<GpuKernelCost>
      kernels;              // in the order in which they first run, scans' steps in place
  double microseconds = 0;  // of one run
};

/// Linear in the program's size. `program` must outlive the result.
GpuProgramCost predict(const Program& program, const GpuMachine& machine);

/// The least microseconds that so many floating operations and bytes through memory take: the
/// roofline. 0 flops: unknown, bytes only.
double roofline(double flops, double bytes, const GpuMachine& machine, bool from_memory);

/// Whether the program's tensors together are more than L2 holds.
bool leaves_l2(const Program& program, const GpuMachine& machine);

}  // namespace adjit::sched
