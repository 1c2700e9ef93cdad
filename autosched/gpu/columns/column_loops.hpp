// autosched/gpu/columns/column_loops.hpp -- kernels that add up columns while they compute rows.
//
// A block goes through some rows, a few at a time: it computes what is attached there (fuse_rows,
// fuse_columns), then each thread adds its columns of these rows to sums that stay in its registers
// until the end.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autosched/gpu/loops/block_loops.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// What a block takes at once of a reduction whose last axes of results are its columns.
struct ColumnGroup {
  size_t inside = 1;               // last axes of results whose points all are columns of a block
  int64_t tile = 0;                // of the last one: so many of its points; 0: all
  size_t along = 0;                // the axis of the reduction that is taken in groups
  int64_t rows = 1;                // points of it in a group
  int64_t threads = kMostThreads;  // of a block, at most
};

/// The threads of a block that share columns out among them.
struct ColumnThreads {
  std::vector<int64_t> along;  // each axis of the columns, outermost first
  int64_t count = 1;           // their product
  int64_t columns = 1;         // that a thread has, at most
};
/// At most `most` threads for columns of these spans, in vectors of `lanes` (which divide the last
/// span) along the last axis.
ColumnThreads column_threads(std::span<const int64_t> spans, int64_t lanes, int64_t most);

/// The loops of a reduction that is a kernel by itself, with plain loops: parallel ones over
/// results outside the columns, serial ones over the reduction, and threads: for the rows of a
/// group, and for the columns, of which each has vectors, and as many as registers take. What is
/// attached outside the first loop of threads, the block computes for each group.
Program column_loops(Program program, size_t root, const ColumnGroup& group);
/// The loops of what is attached there, for as many threads as go along the root's columns.
Program attached_loops(Program program, size_t root);

}  // namespace adjit::sched
