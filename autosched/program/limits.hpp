// autosched/program/limits.hpp -- how far moves go: beyond, code is no better and takes long to
// make.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/process/rooms.hpp"

namespace adjit::sched {

/// Lanes of a vector loop: those of the widest vector, 512 bits, of the smallest elements, 8 bits.
/// Schedulers take up to 16. Local buffers have room for so many behind them (jit/emit/kernel.cpp).
inline constexpr int64_t kLaneLimit = 64;
/// Copies of an unrolled loop.
inline constexpr int64_t kUnrollLimit = 64;
/// Copies that all unrolled loops of a register tile make together (schedulers: up to 160), and
/// their points with lanes.
inline constexpr int64_t kTileCopyLimit = 512, kTilePointLimit = 8192;
/// Instances of the body in a register tile that schedulers choose; more where they share what they
/// read.
inline constexpr int64_t kTileInstances = 96, kSharingInstances = 160;
/// Buffers of a nest of a pipeline.
inline constexpr int64_t kBufferLimit = 8;
/// Nodes of all instances of a body that has a version without masks.
inline constexpr double kInteriorNodes = 1500;
/// Points of a step that goes past its axis: a loop of one trip.
inline constexpr int64_t kStepLimit = 4096;
/// Loops of a nest, and nests that are attached within each other: code is made by walking down.
inline constexpr size_t kLoopLimit = 64, kNestingLimit = 16;
/// Axes of a stage that a move makes. Arrays have up to 64.
inline constexpr size_t kAxisLimit = 256;
/// Factors of a product (runtime/diff/rewrite/factors.hpp).
inline constexpr size_t kFactorLimit = 32;
/// A copy, or rows with gaps, may take so many times the elements that there are, and any small
/// number: panels of few points, and zeros around them, take several times their room.
inline constexpr double kGrowthLimit = 64, kSmallTensor = 1 << 16;
/// Expression nodes that a move may add to a stage.
inline constexpr size_t kNodeLimit = 1 << 18;

}  // namespace adjit::sched
