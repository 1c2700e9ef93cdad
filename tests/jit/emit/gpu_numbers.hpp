// tests/jit/emit/gpu_numbers.hpp -- what the tests of this program say of code for GPUs, in
// numbers.
//
// ADJIT_GPU_NUMBERS=1 prints them at the end; docs/performance/gpu.md has what was printed.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "jit/cuda/assembler.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

struct GpuNumbers {
  std::mutex mutex;
  int64_t emulated = 0;  // programs, each with all its kernels
  double emulated_s = 0;
  int64_t planted = 0, caught = 0;  // races: barriers left out
  // Of what ptxas was given.
  int64_t assembled = 0, spilling = 0, in_local_memory = 0, most_registers = 0;
  // Instructions of PTX.
  int64_t accesses = 0, wide_accesses = 0;                // of global memory; of 16 bytes
  std::vector<std::string> kernels;                       // of goldens, a line each
  std::map<std::string, std::pair<double, double>> ulps;  // by function: the worst, the bound
};
GpuNumbers& gpu_numbers();

/// Counts what the assembler said, and the accesses in the text that it was given.
void note_assembled(const std::string& ptx, const std::vector<cuda::KernelFacts>& kernels);
/// The same of a program's kernels, each as a line of a table, too.
void note_kernels(const std::string& program, const std::string& gpu, const std::string& ptx,
                  const std::vector<cuda::KernelFacts>& kernels);
/// Of a function named so, on a GPU.
void note_ulps(const std::string& function, double worst, double bound);
/// Barriers left out, and how many of these were told of.
void note_races(int64_t planted, int64_t caught);
/// Of multiply-adds among the instructions of the block of PTX that has most of them.
double multiply_add_share(const std::string& ptx);

}  // namespace adjit::testing
