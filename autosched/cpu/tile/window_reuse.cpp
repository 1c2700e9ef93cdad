// autosched/cpu/tile/window_reuse.cpp -- what instances of a tile read together.
#include "autosched/cpu/tile/window_reuse.hpp"

#include <algorithm>
#include <cstdlib>

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

double WindowReuse::distinct(const MemoryAccess& access,
                             const std::vector<int64_t>& factors) const {
  return sharing(factors).distinct[static_cast<size_t>(&access - t_.p.accesses.reads.data())];
}

const MemoryAccess* WindowReuse::shared_read(const std::vector<int64_t>& factors) const {
  return sharing(factors).read;
}

const WindowReuse::Sharing& WindowReuse::sharing(const std::vector<int64_t>& factors) const {
  if (sharing_.factors == factors) return sharing_;
  sharing_.factors = factors;
  sharing_.read = nullptr;
  sharing_.distinct.resize(t_.p.accesses.reads.size());
  bool reduces = false;
  for (size_t a = t_.output_rank; a < factors.size(); ++a) reduces |= a != t_.v && factors[a] > 1;
  double least = 1;
  for (size_t r = 0; r < t_.p.accesses.reads.size(); ++r) {
    const MemoryAccess& access = t_.p.accesses.reads[r];
    double all = 1;
    for (size_t a = 0; a < factors.size(); ++a)
      if (access.depends_on(a)) all *= static_cast<double>(factors[a]);
    sharing_.distinct[r] = reduces ? distinct_reads(access, factors, t_.output_rank, t_.v) : all;
    const double share = sharing_.distinct[r] / all;
    if (!reduces || !access.depends_on(t_.v) || share >= least) continue;
    least = share;
    sharing_.read = &access;
  }
  return sharing_;
}

std::optional<size_t> window_along(const TileSetting& t, size_t axis) {
  if (axis == t.v) return std::nullopt;
  for (const MemoryAccess& access : t.p.accesses.reads) {
    // An element that all lanes take is an operand in memory, which costs nothing beside it.
    if (!access.depends_on(t.v) || access.by_data[t.v] || access.guarded) continue;
    for (size_t a = t.p.first_axis; a < t.output_rank; ++a)
      if (a != t.v && t.p.may_tile(a) && t.p.spans[a] > 1 && meet(access, t.p.spans, a, axis))
        return a;
  }
  return std::nullopt;
}

double window_waits(const TileSetting& t, const WindowReuse& windows,
                    const std::vector<int64_t>& factors) {
  const MemoryAccess* shared = windows.shared_read(factors);
  if (!shared || t.in_reduction) return 0;
  const auto size = static_cast<double>(size_of(t.p.graph.info(shared->tensor).dtype));
  const double vectors = windows.distinct(*shared, factors);
  double steps = 1;  // that stay in these lines
  double walked = vectors * static_cast<double>(t.lanes) * size;
  for (size_t a = t.output_rank; a < factors.size(); ++a) {
    if (a == t.v || !shared->depends_on(a)) continue;
    const auto count = static_cast<double>(ceil_div(t.p.spans[a], factors[a]));
    (t.shares_lines(*shared, a) ? steps : walked) *= count;
  }
  const double bytes = elements_touched(*shared, t.p.stage.domain) * size;
  if (bytes > l3_share_bytes(t.p.machine))
    return steps > 1 ? t.core.window_line_cycles * vectors / steps : 0;
  return walked > t.core.near_bytes ? t.core.l2_line_cycles * vectors / steps : 0;
}

}  // namespace adjit::sched
