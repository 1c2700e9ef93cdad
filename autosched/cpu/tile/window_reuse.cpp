// autosched/cpu/tile/window_reuse.cpp -- what instances of a tile along results and along a
// reduction read together: a window's.
#include <algorithm>
#include <cstdlib>

#include "autosched/cpu/tile/tile_model.hpp"

namespace adjit::sched {
namespace {

// Whether steps of two axes move an access over the same elements: one step is several of the
// other one, of which there are enough.
bool meet(const MemoryAccess& access, const std::vector<int64_t>& spans, size_t a, size_t b) {
  if (access.irregular[a] || access.irregular[b]) return false;
  const int64_t by_a = std::abs(access.strides[a]), by_b = std::abs(access.strides[b]);
  if (by_a == 0 || by_b == 0) return false;
  return by_a >= by_b ? by_a % by_b == 0 && by_a / by_b < spans[b]
                      : by_b % by_a == 0 && by_b / by_a < spans[a];
}

}  // namespace

double TileModel::distinct(const MemoryAccess& access, const std::vector<int64_t>& factors) const {
  return sharing(factors).distinct[static_cast<size_t>(&access - p_.accesses.reads.data())];
}

std::optional<size_t> TileModel::window_along(size_t axis) const {
  if (axis == v_) return std::nullopt;
  for (const MemoryAccess& access : p_.accesses.reads) {
    // An element that all lanes take is an operand in memory, which costs nothing beside it.
    if (!access.depends_on(v_) || access.by_data[v_] || access.guarded) continue;
    for (size_t a = p_.first_axis; a < output_rank_; ++a)
      if (a != v_ && p_.may_tile(a) && p_.spans[a] > 1 && meet(access, p_.spans, a, axis)) return a;
  }
  return std::nullopt;
}

double TileModel::window_waits(const std::vector<int64_t>& factors) const {
  const MemoryAccess* shared = shared_read(factors);
  if (!shared || in_reduction_) return 0;
  const auto size = static_cast<double>(size_of(p_.graph.info(shared->tensor).dtype));
  const double vectors = distinct(*shared, factors);
  double steps = 1;  // that stay in these lines
  double walked = vectors * static_cast<double>(lanes_) * size;
  for (size_t a = output_rank_; a < factors.size(); ++a) {
    if (a == v_ || !shared->depends_on(a)) continue;
    const auto count = static_cast<double>(ceil_div(p_.spans[a], factors[a]));
    (shares_lines(*shared, a) ? steps : walked) *= count;
  }
  const double bytes = elements_touched(*shared, p_.stage.domain) * size;
  if (bytes > l3_share_bytes(p_.target))
    return steps > 1 ? core_.window_line_cycles * vectors / steps : 0;
  return walked > core_.near_bytes ? core_.l2_line_cycles * vectors / steps : 0;
}

const MemoryAccess* TileModel::shared_read(const std::vector<int64_t>& factors) const {
  return sharing(factors).read;
}

const TileModel::Sharing& TileModel::sharing(const std::vector<int64_t>& factors) const {
  if (sharing_.factors == factors) return sharing_;
  sharing_.factors = factors;
  sharing_.read = nullptr;
  sharing_.distinct.resize(p_.accesses.reads.size());
  bool reduces = false;
  for (size_t a = output_rank_; a < factors.size(); ++a) reduces |= a != v_ && factors[a] > 1;
  double least = 1;
  for (size_t r = 0; r < p_.accesses.reads.size(); ++r) {
    const MemoryAccess& access = p_.accesses.reads[r];
    double all = 1;
    for (size_t a = 0; a < factors.size(); ++a)
      if (access.depends_on(a)) all *= static_cast<double>(factors[a]);
    sharing_.distinct[r] = reduces ? distinct_reads(access, factors, output_rank_, v_) : all;
    const double share = sharing_.distinct[r] / all;
    if (!reduces || !access.depends_on(v_) || share >= least) continue;
    least = share;
    sharing_.read = &access;
  }
  return sharing_;
}

}  // namespace adjit::sched
