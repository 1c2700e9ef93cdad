// autosched/machine/gpu_machine.hpp -- what schedules for a GPU and their costs know of it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/process/rooms.hpp"

namespace adjit::sched {

inline constexpr int kWarpThreads = 32;        // that run in step
inline constexpr int kAccessBits = 128;        // of the widest load or store of a thread
inline constexpr int kSectorBytes = 32;        // that memory is read and written in
inline constexpr int kAllocationBytes = 256;   // that divide the addresses of the driver's memory
inline constexpr int kFlatBlockThreads = 128;  // of a block whose threads have a task each
inline constexpr double kClockShare =
    0.946;                                 // of it that multiply-adds reach: 63.3 of 66.9 TFLOP/s
inline constexpr int kWarpSchedulers = 4;  // of a multiprocessor: a warp's instruction a cycle each

/// So many kernels are launched as a graph (finding 0106). Fewer would save 1 to 2 us of a call;
/// making a graph takes 3 to 4 us a kernel, 6 ms and more of many.
inline constexpr size_t kLeastGraphKernels = 4, kMostGraphKernels = 2000;

/// The defaults are an H100 with 80 GB: facts that its driver tells (CUDA 13, driver 580), and,
/// where a comment says measured, what kernels reached on it. Those of another GPU come from its
/// driver; nothing here is measured when a program runs. Results never depend on a machine beyond
/// the order of reductions, which the moves fix.
struct GpuMachine {
  int capability = 90;                     // 90 for 9.0: kernels are compiled for sm_90
  int multiprocessors = 132;               // that blocks of threads are given to
  int threads = 2048;                      // of a multiprocessor, at once
  int block_threads = 1024;                // of a block, at most
  int registers = 64 << 10;                // of 32 bits, of a multiprocessor
  int64_t shared_bytes = 228 << 10;        // of a multiprocessor
  int64_t block_shared_bytes = 227 << 10;  // of a block that asks for more than 48 KB
  int64_t l2_bytes = 50 << 20;             // of the whole GPU
  int64_t memory_bytes = int64_t{80} << 30;
  double ghz = 1.98;        // of the multiprocessors, at most
  double memory_gb = 3350;  // GB/s, by the memory's clock and width; a copy was measured at 3010
  double l2_gb = 5500;      // GB/s of what L2 holds; measured: 6100 at 48 MB, 7600 up to 32 MB
  double launch_microseconds = 2.3;       // from a kernel to the next one; measured, 3.2 at most
  double node_microseconds = 1;           // the same in a graph; measured, 0.97
  double graph_microseconds = 1.5;        // a launch of a graph; measured
  int64_t kept_bytes = int64_t{4} << 30;  // of rows that wait for others, before they are computed
                                          // again: a guess, a twentieth of the memory
};

/// Of all threads, one a clock and lane.
inline double operations_of_microsecond(const GpuMachine& machine) {
  return 1e3 * machine.ghz * machine.multiprocessors * kWarpSchedulers * kWarpThreads;
}

}  // namespace adjit::sched
