// autosched/cpu/tile/cache_lines.cpp -- what a register tile waits for: cache lines from
// L2, and from beyond it.
#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "autosched/cpu/tile/matmul_like.hpp"
#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/points.hpp"

namespace adjit::sched {
double TileModel::lines_in_step(size_t read, const std::vector<int64_t>& factors) const {
  const Walked walked = walked_in_tile(read, factors);
  if (walked.bytes <= core_.near_bytes) return 0;
  if (in_reduction_) {  // every vector is another line
    if (!contiguous_[read]) return 0;
    double lines = walked.rows;
    for (size_t a = output_rank_; a < factors.size(); ++a)
      if (p_.accesses.reads[read].depends_on(a)) lines *= static_cast<double>(factors[a]);
    return std::min(lines, distinct(p_.accesses.reads[read], factors));
  }
  const bool anew = is_copied(read) || walked.collides || walked.step >= kLineBytes;
  return walked.rows * (anew ? walked.lines : walked.step / kLineBytes);
}

// Counted where an operand is copied for the lanes, or these lie along the reduction: other tiles
// keep more of what they walk in L1 than its size says. Tiles of 16 registers multiply
// so little in a step that they wait for their loads in any case.
double TileModel::streamed_lines(const std::vector<int64_t>& factors) const {
  if (registers_ < 32) return 0;
  double lines = 0;
  for (size_t r = 0; r < p_.accesses.reads.size(); ++r) {
    const MemoryAccess& access = p_.accesses.reads[r];
    if (!in_reduction_ && access.depends_on(v_) && !is_copied(r)) return 0;
    lines += lines_in_step(r, factors);
  }
  return lines;
}

// A bound, where every line counts: only tiles that read as much as they multiply come near it, and
// for these nothing hides what L2 takes.
double TileModel::second_cache(const std::vector<int64_t>& factors, double above) const {
  double most = 0;  // a line for every vector, or for every element that is gathered
  for (size_t r = 0; r < p_.accesses.reads.size(); ++r) {
    const MemoryAccess& access = p_.accesses.reads[r];
    const bool gathered = access.depends_on(v_) && !contiguous_[r];
    double vectors = gathered ? static_cast<double>(lanes_) : 1;
    for (size_t a = 0; a < factors.size(); ++a)
      if (access.depends_on(a)) vectors *= static_cast<double>(factors[a]);
    most += vectors;
  }
  if (core_.l2_line_cycles * most < above) return 0;
  double lines = 0;
  for (size_t r = 0; r < p_.accesses.reads.size(); ++r) lines += lines_in_step(r, factors);
  return core_.l2_line_cycles * lines;
}

TileModel::Walked TileModel::walked_in_tile(size_t read,
                                            const std::vector<int64_t>& factors) const {
  const MemoryAccess& access = p_.accesses.reads[read];
  const auto size = static_cast<double>(size_of(p_.graph.info(access.tensor).dtype));
  Walked walked;
  walked.bytes = size;
  double row = size;  // bytes that lie close together
  for (size_t a = 0; a < factors.size(); ++a) {
    if (!access.depends_on(a)) continue;
    double stride = static_cast<double>(std::abs(access.strides[a])) * size;
    if (access.irregular[a]) stride = kLineBytes;
    if (a == v_ && contiguous_[read]) stride = size;
    if (a >= output_rank_) {
      walked.bytes *= static_cast<double>(p_.spans[a]);
      if (p_.spans[a] > 1) walked.step = std::min(walked.step, stride);
      continue;
    }
    const auto points = static_cast<double>(factors[a] * (a == v_ ? lanes_ : 1));
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

// Whether several steps along an axis stay in one cache line.
bool TileModel::shares_lines(const MemoryAccess& access, size_t axis) const {
  const auto size = static_cast<int64_t>(size_of(p_.graph.info(access.tensor).dtype));
  return !access.irregular[axis] && std::abs(access.strides[axis]) * size <= kLineBytes / 4;
}

bool TileModel::fetches_far(const MemoryAccess& access) const {
  if (in_reduction_ || p_.stage.domain.reduction_rank() != 1 || access.depends_on(v_)) return false;
  if (p_.spans[output_rank_] <= thresholds().whole_reduction) return false;
  const bool packed_in_rows = box_points(p_.stage.domain) * access.repeats >=
                              thresholds().column_reuse * elements_touched(access, p_.stage.domain);
  if (p_.accesses.result.contiguous(v_) && packed_in_rows) return false;
  const auto size = static_cast<int64_t>(size_of(p_.graph.info(access.tensor).dtype));
  return std::abs(access.strides[output_rank_]) * size >= core_.long_row_bytes &&
         elements_touched(access, p_.stage.domain) * static_cast<double>(size) >
             static_cast<double>(p_.target.l2_bytes);
}

double TileModel::memory_waits(const std::vector<int64_t>& factors, double computing) const {
  Domain domain = p_.stage.domain;
  if (p_.passes > 1) domain.extents = p_.spans;  // of one pass
  double waits = 0;
  for (const MemoryAccess& access : p_.accesses.reads) {
    const auto size = static_cast<double>(size_of(p_.graph.info(access.tensor).dtype));
    const double bytes = elements_touched(access, domain) * size;
    // Rows along the lanes of results are copied or streamed (matmul_like.hpp).
    if (bytes < l3_share_bytes(p_.target) || (!in_reduction_ && access.depends_on(v_))) continue;
    double passes = 1;
    for (size_t a = 0; a < output_rank_; ++a)
      if (!access.depends_on(a))
        passes *= std::ceil(static_cast<double>(p_.spans[a]) /
                            static_cast<double>(factors[a] * (a == v_ ? lanes_ : 1)));
    if (passes > 1)
      waits += std::max(0.0, bytes / kLineBytes * core_.memory_line_cycles - computing / passes);
  }
  return waits;
}

double TileModel::distance(const MemoryAccess& access, const std::vector<int64_t>& factors) const {
  const auto size = static_cast<int64_t>(size_of(p_.graph.info(access.tensor).dtype));
  bool collide = false;
  int64_t rows = 1;
  for (size_t a = 0; a < factors.size(); ++a) {
    const int64_t stride = std::abs(access.strides[a]) * size;
    if (a == v_ || factors[a] < 2 || stride < kPageBytes) continue;
    rows *= factors[a];
    collide |= factors[a] > core_.streams && stride % kPageBytes == 0;
  }
  if (!access.depends_on(v_))
    return collide ? core_.collision_cycles : 0;  // a line serves 16 steps
  const auto streams = static_cast<double>(std::max<int64_t>(0, rows - core_.streams));
  double apart = 0;
  if (in_reduction_ && rows > 1 && passing_ > static_cast<double>(p_.target.l2_bytes))
    apart =
        (passing_ > l3_share_bytes(p_.target) ? core_.memory_rows_cycles : core_.l3_rows_cycles) *
        static_cast<double>(lanes_ * size) / kLineBytes;
  return std::min(core_.most_stream_cycles, core_.stream_cycles * streams) +
         (collide ? core_.colliding_rows_cycles : 0) + apart;
}

}  // namespace adjit::sched
