// autosched/analysis/footprint.hpp -- how the accesses of a kernel move through memory, loop by
// loop.
//
// A *path* is the list of loops around a nest's body: those of the nests that it is attached to,
// then its own. Example: B[k, j] in C = A B, tiled by i/12, j/32 around k: on the path i, j, k, i',
// j' it moves by 0, 128, 4 N, 0, 4 bytes a trip; inside the loops [3, 5) it touches two cache
// lines, inside [2, 5) 2 K.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "autosched/analysis/access.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// How far one trip of a loop moves an access.
struct Stride {
  double bytes = 0;   // with a sign; on average where trips differ
  bool even = true;   // the same in every trip: of a division, when steps are multiples of it
  bool data = false;  // to where data says
};

/// One access along the path of its nest.
struct Walk {
  TensorId tensor;
  std::vector<Stride> strides;  // per loop of the path
  double offset = 0;  // bytes, where all axes of its stage are 0; what data adds is left out
  double element_bytes = 4;
  double most_bytes = 0;   // that there are: of the tensor, or of a local region
  double data_places = 1;  // that data chooses from
  double data_apart = 0;   // bytes from one of these to the next
  bool local = false;      // in a buffer of the kernel's own
  bool store = false;
  double in_task = 0;  // bytes that a task keeps of it and its like (Residence); 0: all of it
};

/// Pieces of so many bytes (or, if farther apart, places) that data chooses from.
double data_pieces(const Walk& walk, double piece);

/// A nest of a kernel with what is around it.
struct PlacedNest {
  const Nest* nest = nullptr;
  size_t host = SIZE_MAX;   // number of the nest that it is attached to; SIZE_MAX: the root
  size_t end = 0;           // one past the last nest attached to it, directly or not
  std::vector<Loop> path;   // loops around its body, outermost first
  size_t first = 0;         // of its own loops in the path
  double runs = 1;          // in one run of the kernel
  std::vector<Walk> walks;  // of its reads and its results
};

/// All nests of a kernel, hosts just before what is attached to them. `kernel` must outlive them.
std::vector<PlacedNest> placed_nests(const Program& program, const Kernel& kernel);

/// How often the loops [0, depth) of a nest step in one run of it, ragged tiles counted as they
/// are.
double iterations(const Nest& nest, size_t depth);

/// What loops touch that move an access by so many bytes, so many times.
struct Rows {
  double extent = 0;  // bytes from a row's first to its last
  double count = 1;   // of rows, equal ones counted once
  double apart = 0;   // bytes from a row to the next one; 0: there is one row
};
/// Sorts the pairs of bytes (> 0) and trips. What lies within `piece` bytes of what is touched
/// extends a row, what is farther away makes others.
Rows rows_touched(std::span<std::pair<double, double>> loops, double element_bytes, double piece);

/// Cache lines that an access touches in one iteration of the loops [0, from) of its path; `places`
/// of them no prefetcher foresees: where data says, or first in short rows that lie pages apart.
struct Lines {
  double count = 0, places = 0;
};
Lines lines_touched(const Walk& walk, const std::vector<Loop>& path, size_t from);

}  // namespace adjit::sched
