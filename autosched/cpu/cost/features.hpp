// autosched/cpu/cost/features.hpp -- what a kernel's loops do, counted: the numbers that its cost
// is made of.
#pragma once

#include <limits>
#include <vector>

#include "autosched/analysis/traffic.hpp"
#include "autosched/cpu/cost/tile_features.hpp"

namespace adjit::sched {

/// Of one nest in all its runs within one run of its kernel, on one core. "Vectors" are
/// instructions on the nest's lanes, whatever their number (1 without a vector loop).
struct NestFeatures {
  size_t stage = 0;
  double runs = 1;        // how often the nest is entered
  double points = 0;      // of its domain that are computed
  double steps = 0;       // passes over the register tile
  double operations = 0;  // vectors of arithmetic, weighed as work.hpp does
  double masks = 0;       // vectors that compute which lanes run
  double loads = 0;       // vectors loaded
  double stores = 0;      // vectors stored
  double spills = 0;      // vectors that go to the stack and come back
  double apart = 0;       // vectors more for accesses whose lanes lie apart
  double waits = 0;       // operations in the longest chain of accumulations
  double folds = 0;       // accumulators whose lanes are combined
  double loop_steps = 0;  // of serial loops
  double bytes_per_vector = 64;
  bool accumulates = false;  // over reduction axes, or as a scatter
  bool in_memory = false;    // partial results are read and stored again
  bool attached = false;     // to another nest
  TileFeatures tile;
  Traffic traffic;
};

struct KernelFeatures {
  std::vector<NestFeatures> nests;  // hosts before what is attached to them
  double tasks = 1;
  bool parallel = false;
  /// Bytes of every array that it reads or writes outside its own loops, once.
  double array_bytes = 0;
};

/// What of a program's arrays there is at a time.
struct Residence {
  double bytes = 0;  // of every array that is not local to a kernel
  /// Per tensor that stays within the tasks of a chain (task_chains.hpp): bytes of all such tensors
  /// of the chain that one task has; 0: any other. None: no chains are looked at.
  std::vector<double> in_task;
};
/// `scan`: whose steps the program is, or null. Linear in the program.
Residence residence_of(const Program& program, const Scan* scan = nullptr);

/// Linear in the kernel's size. Not for scans, whose steps have kernels of their own.
KernelFeatures features_of(const Program& program, const Kernel& kernel, const CpuMachine& machine,
                           const Residence& residence);

/// Bytes of every array of a program that is not local to a kernel, as if there were no chains.
/// Counted no farther than needed to see that they are more than `most`.
double program_bytes(const Program& program, double most = std::numeric_limits<double>::infinity());

}  // namespace adjit::sched
