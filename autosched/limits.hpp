// autosched/limits.hpp -- how far moves go: beyond, code is no better and takes long to make.
#pragma once

#include <cstddef>
#include <cstdint>

namespace adjit {

/// Lanes of a vector loop: those of the widest vector, 512 bits, of the smallest elements, 8 bits.
/// Local buffers have room for so many lanes behind them (jit/emit/kernel.cpp).
inline constexpr int64_t kMostLanes = 64;
/// Copies of an unrolled loop.
inline constexpr int64_t kMostCopies = 64;
/// Copies that all unrolled loops of a register tile make together, and their points with lanes.
inline constexpr int64_t kMostTileCopies = 512, kMostTilePoints = 8192;
/// Loops of a nest, and nests that are attached within each other: code is made by walking down.
inline constexpr size_t kMostLoops = 64, kDeepestNest = 16;
/// Axes of a stage that a move makes.
inline constexpr size_t kMostAxes = 32;
/// Expression nodes that a move may add to a stage.
inline constexpr size_t kMostNodes = 1 << 18;

}  // namespace adjit
