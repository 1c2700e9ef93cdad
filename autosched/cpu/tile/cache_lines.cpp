// autosched/cpu/tile/cache_lines.cpp -- what a register tile waits for: cache lines from L2 and
// from beyond it.
#include "autosched/cpu/tile/cache_lines.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "autosched/machine/thresholds.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
namespace {

// Lines of an operand that a step takes from L2, if its walk leaves L1.
double lines_in_step(const TileSetting& t, const WindowReuse& windows, size_t read,
                     const std::vector<int64_t>& factors) {
  const Walked walked = walked_in_tile(t, read, factors);
  if (walked.bytes <= t.core.near_bytes) return 0;
  if (t.in_reduction) {  // every vector is another line
    if (!t.contiguous[read]) return 0;
    double lines = walked.rows;
    for (size_t a = t.output_rank; a < factors.size(); ++a)
      if (t.p.accesses.reads[read].depends_on(a)) lines *= static_cast<double>(factors[a]);
    return std::min(lines, windows.distinct(t.p.accesses.reads[read], factors));
  }
  const bool anew = t.is_copied(read) || walked.collides || walked.step >= kLineBytes;
  return walked.rows * (anew ? walked.lines : walked.step / kLineBytes);
}

}  // namespace

// Counted where an operand is copied for the lanes, or these lie along the reduction: other tiles
// keep more of what they walk in the L1 than its size says. Tiles of 16 registers multiply
// so little in a step that they wait for their loads in any case.
double streamed_lines(const TileSetting& t, const WindowReuse& windows,
                      const std::vector<int64_t>& factors) {
  if (t.registers < 32) return 0;
  double lines = 0;
  for (size_t r = 0; r < t.p.accesses.reads.size(); ++r) {
    const MemoryAccess& access = t.p.accesses.reads[r];
    if (!t.in_reduction && access.depends_on(t.v) && !t.is_copied(r)) return 0;
    lines += lines_in_step(t, windows, r, factors);
  }
  return lines;
}

// A bound, where every line counts: only tiles that read as much as they multiply come near it, and
// for these nothing hides what the L2 takes.
double l2_cycles(const TileSetting& t, const WindowReuse& windows,
                 const std::vector<int64_t>& factors, double above) {
  double most = 0;  // a line for every vector, or for every element that is gathered
  for (size_t r = 0; r < t.p.accesses.reads.size(); ++r) {
    const MemoryAccess& access = t.p.accesses.reads[r];
    const bool gathered = access.depends_on(t.v) && !t.contiguous[r];
    double vectors = gathered ? static_cast<double>(t.lanes) : 1;
    for (size_t a = 0; a < factors.size(); ++a)
      if (access.depends_on(a)) vectors *= static_cast<double>(factors[a]);
    most += vectors;
  }
  if (t.core.l2_line_cycles * most < above) return 0;
  double lines = 0;
  for (size_t r = 0; r < t.p.accesses.reads.size(); ++r)
    lines += lines_in_step(t, windows, r, factors);
  return t.core.l2_line_cycles * lines;
}

Walked walked_in_tile(const TileSetting& t, size_t read, const std::vector<int64_t>& factors) {
  const MemoryAccess& access = t.p.accesses.reads[read];
  const auto size = static_cast<double>(size_of(t.p.graph.info(access.tensor).dtype));
  Walked walked;
  walked.bytes = size;
  double row = size;  // bytes that lie close together
  for (size_t a = 0; a < factors.size(); ++a) {
    if (!access.depends_on(a)) continue;
    double stride = static_cast<double>(std::abs(access.strides[a])) * size;
    if (access.irregular[a]) stride = kLineBytes;
    if (a == t.v && t.contiguous[read]) stride = size;
    if (a >= t.output_rank) {
      walked.bytes *= static_cast<double>(t.p.spans[a]);
      if (t.p.spans[a] > 1) walked.step = std::min(walked.step, stride);
      continue;
    }
    const auto points = static_cast<double>(t.points(a, factors));
    walked.bytes *= points;
    if (stride < kLineBytes) {
      row += (points - 1) * stride;
    } else {
      walked.rows *= points;
      walked.collides |=
          points > static_cast<double>(kCacheWays) && std::fmod(stride, kPageBytes) == 0;
    }
  }
  walked.lines = std::max(1.0, row / kLineBytes);
  return walked;
}

bool fetches_far(const TileSetting& t, const MemoryAccess& access) {
  if (t.in_reduction || t.p.stage.domain.reduction_rank() != 1 || access.depends_on(t.v))
    return false;
  if (t.p.spans[t.output_rank] <= thresholds().whole_reduction) return false;
  const bool packed_in_rows =
      box_points(t.p.stage.domain) * access.repeats >=
      thresholds().column_reuse * elements_touched(access, t.p.stage.domain);
  if (t.p.accesses.result.contiguous(t.v) && packed_in_rows) return false;
  const auto size = static_cast<int64_t>(size_of(t.p.graph.info(access.tensor).dtype));
  return std::abs(access.strides[t.output_rank]) * size >= t.core.long_row_bytes &&
         elements_touched(access, t.p.stage.domain) * static_cast<double>(size) >
             static_cast<double>(t.p.machine.l2_bytes);
}

double memory_waits(const TileSetting& t, const std::vector<int64_t>& factors, double computing) {
  Domain domain = t.p.stage.domain;
  if (t.p.passes > 1) domain.extents = t.p.spans;  // of one pass
  double waits = 0;
  for (const MemoryAccess& access : t.p.accesses.reads) {
    const auto size = static_cast<double>(size_of(t.p.graph.info(access.tensor).dtype));
    const double bytes = elements_touched(access, domain) * size;
    // Rows along the lanes of results are copied or streamed (matmul_like.hpp).
    if (bytes < l3_share_bytes(t.p.machine) || (!t.in_reduction && access.depends_on(t.v)))
      continue;
    double passes = 1;
    for (size_t a = 0; a < t.output_rank; ++a)
      if (!access.depends_on(a))
        passes *= std::ceil(static_cast<double>(t.p.spans[a]) /
                            static_cast<double>(t.points(a, factors)));
    if (passes > 1)
      waits += std::max(0.0, bytes / kLineBytes * t.core.memory_line_cycles - computing / passes);
  }
  return waits;
}

double distance_cycles(const TileSetting& t, const MemoryAccess& access,
                       const std::vector<int64_t>& factors) {
  const auto size = static_cast<int64_t>(size_of(t.p.graph.info(access.tensor).dtype));
  bool collide = false;
  int64_t rows = 1;
  for (size_t a = 0; a < factors.size(); ++a) {
    const int64_t stride = std::abs(access.strides[a]) * size;
    if (a == t.v || factors[a] < 2 || stride < kPageBytes) continue;
    rows *= factors[a];
    collide |= factors[a] > t.core.streams && stride % kPageBytes == 0;
  }
  if (!access.depends_on(t.v))
    return collide ? t.core.collision_cycles : 0;  // a line serves 16 steps
  const auto streams = static_cast<double>(std::max<int64_t>(0, rows - t.core.streams));
  double apart = 0;
  if (t.in_reduction && rows > 1 && t.passing > static_cast<double>(t.p.machine.l2_bytes))
    apart = (t.passing > l3_share_bytes(t.p.machine) ? t.core.memory_rows_cycles
                                                     : t.core.l3_rows_cycles) *
            static_cast<double>(t.lanes * size) / kLineBytes;
  return std::min(t.core.most_stream_cycles, t.core.stream_cycles * streams) +
         (collide ? t.core.colliding_rows_cycles : 0) + apart;
}

}  // namespace adjit::sched
