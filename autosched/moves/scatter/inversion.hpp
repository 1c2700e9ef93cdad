// autosched/moves/scatter/inversion.hpp -- points of a scatter sorted by the row that they write.
//
//   order     the points by their keys, those with one key in their order
//   offsets   offsets[r] is how many points have a key below r
// so that order[offsets[r]], ..., order[offsets[r + 1] - 1] are the points with key r.
//
// It is a radix sort by stages that are plain ones but for one: each pass counts the digits of the
// keys in chunks of the points, adds up what stands before each chunk, and puts every point where
// it belongs, which is a scatter that is known to write each element once (LoweredGraph::distinct)
// and starts from nothing.
#pragma once

#include <cstdint>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Values of a digit are counted for each chunk: more bits are fewer passes over the points, and
/// more counts.
inline constexpr int64_t kMostBitsOfDigit = 8;

/// All int32.
struct Inversion {
  TensorId keys;                 // a point each, by chunks, words of these and points of a word
  TensorId order;                // a point each
  TensorId offsets;              // one more than there are rows
  int64_t words = 1, width = 1;  // of a chunk, points of a word
};

/// The key of the point that is at a place of the order; `there`: where it is read.
ExprId key_at(ExprPool& pool, const Inversion& inversion, ExprId place, ExprId there = {});

/// What the stages of an inversion are made for.
struct InversionOf {
  Stage keys;  // int32 along one axis: rows from 0 on, or `rows` for points that write nothing
  int64_t rows = 0;
  int64_t chunk = 0;  // points that are counted together, up to 31 more
  std::string name;   // of the scatter
};

/// Puts the stages before the stage `at`, which moves on by as many. Those of an inversion of the
/// same keys that stands in front are taken as they are.
Inversion invert_keys(Program& program, size_t& at, InversionOf of);

}  // namespace adjit::sched
