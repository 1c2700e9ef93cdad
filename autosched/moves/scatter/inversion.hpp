// autosched/moves/scatter/inversion.hpp -- points of a scatter sorted by the row that they write.
//
//   order     the points by their keys, those with one key in their order
//   offsets   offsets[r] is how many points have a key below r
// so that order[offsets[r]], ..., order[offsets[r + 1] - 1] are the points with key r.
//
// It is a radix sort by stages that are plain ones but for one: each pass counts the digits of the
// keys in chunks of the points, adds up what stands before each chunk, and puts every point where
// it belongs, which is a scatter that is known to write each element once (LoweredGraph::distinct).
#pragma once

#include <cstdint>

#include "autosched/program/program.hpp"

namespace adjit::sched {

struct Inversion {
  TensorId order;    // int32, a point each
  TensorId offsets;  // int32, one more than there are rows
  /// int32, for each whole block of places the row that all its points have, or -1; invalid where
  /// none were asked for, or there is no whole one.
  TensorId blocks;
};

/// What the stages of an inversion are made for.
struct InversionOf {
  Stage keys;  // int32 along one axis: rows from 0 on, or `rows` for points that write nothing
  int64_t rows = 0;
  int64_t chunk = 0;  // points of a chunk, and at most so many values of a digit
  int64_t block = 0;  // places of a block; 0: none
  std::string name;   // of the scatter
};

/// Puts the stages before the stage `at`, which moves on by as many. Those of an inversion of the
/// same keys that stands in front are taken as they are.
Inversion invert_keys(Program& program, size_t& at, InversionOf of);

}  // namespace adjit::sched
