// tests/runtime/domain/visit.hpp -- brute force over index maps, and running nests of loop bounds.
#pragma once

#include <cstdint>
#include <ctime>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "patterns.hpp"
#include "runtime/domain/fibre.hpp"
#include "runtime/domain/loops.hpp"

namespace adjit::domain {

using Point = std::vector<int64_t>;
/// (j, source point) of one read.
using Visit = std::pair<Point, Point>;

/// Calls `visit` for every point of the box, last axis fastest.
void for_each_point(std::span<const int64_t> extents,
                    const std::function<void(const Point&)>& visit);

/// All (j, point) with point in source and index(point) = j inside the target, sorted.
std::vector<Visit> brute_force(const Domain& source, std::span<const Affine> index,
                               std::span<const int64_t> target);

struct NestRun {
  int64_t points = 0;  // innermost iterations that passed all guards
  int64_t empty_outer =
      0;  // iterations of a loop that reached no point, the innermost's own guards included
};

/// Runs the nest; axes outside `nest` have their values in `axes`. Calls `visit` with all axes.
NestRun run_nest(const Domain& domain, const LoopNestBounds& nest, Point axes,
                 const std::function<void(const Point&)>& visit);

/// What the pieces of a fibre visit, sorted; loops over t in loop_order, for every j. Adds to
/// `run`.
std::vector<Visit> visits_of(std::span<const FibrePiece> pieces, std::span<const int64_t> target,
                             NestRun& run);

/// A domain as text: "axes j0:8 j1:8 | t0:3; d0 = (j0 + 1) // 2; j0 - t0 >= 0".
std::string to_text(const Domain& domain);
/// to_text of its domain and the source axes: "...; i0 = j0 - t0, i1 = t0".
std::string to_text(const FibrePiece& piece);

/// CPU time of this thread.
inline double cpu_milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

}  // namespace adjit::domain
