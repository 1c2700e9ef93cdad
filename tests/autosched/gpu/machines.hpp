// tests/autosched/gpu/machines.hpp -- GPUs that tests schedule for.
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "runtime/process/rooms.hpp"

namespace adjit::sched {

inline constexpr GpuMachine kGpu;
/// So small that programs of a few dozen points keep it busy.
inline constexpr GpuMachine kSmallGpu{.multiprocessors = 1, .threads = 8};

/// So slow that a kernel of a few thousand points is worth a search for its loops.
inline constexpr GpuMachine kSlowGpu{.multiprocessors = 2, .threads = 512, .ghz = 1e-3, .l2_gb = 1};

/// One multiprocessor, and launches that take nothing: a few thousand reads are worth a copy of
/// what they read.
inline constexpr GpuMachine kNarrowGpu{.multiprocessors = 1, .launch_microseconds = 1e-3};

}  // namespace adjit::sched
