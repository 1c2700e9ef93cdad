// autosched/cpu/tile/loads.cpp -- what a register tile's loads cost in one step of its reduction.
#include "autosched/cpu/tile/loads.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "autosched/analysis/reads/gather_access.hpp"

namespace adjit::sched {
namespace {

// Cycles of a whole vector, in reductions from beyond L1.
double lane_load(const TileSetting& t) {
  return t.in_reduction && t.p.spans[t.v] >= t.core.long_row_bytes / 4 ? t.core.far_load_cycles
                                                                       : t.core.port_cycles;
}

// Loads more for a vector of an operand, on average, since some lie in two cache lines: those of
// rows that begin anywhere, as the caller's arrays do (NumPy's begin 16 bytes behind a line).
double crossing(const TileSetting& t, size_t read) {
  const MemoryAccess& access = t.p.accesses.reads[read];
  if (std::ranges::count(t.packed, read) > 0 || t.lanes < 2) return 0;
  const auto size = static_cast<int64_t>(size_of(t.p.graph.info(access.tensor).dtype));
  bool anywhere = std::ranges::count(t.p.graph.inputs, access.tensor) > 0;
  for (size_t a = 0; a < t.p.spans.size(); ++a)
    anywhere |=
        a != t.v && t.p.spans[a] > 1 && !access.irregular[a] && access.strides[a] % t.lanes != 0;
  if (!anywhere) return 0;
  const double share = static_cast<double>((t.lanes - 1) * size) / kLineBytes;
  return t.in_reduction ? t.core.crossing_loads * share : share;
}

// Of an operand whose lanes data puts anywhere: the axis in the tile along which it is contiguous.
// Its loads are then pieces of rows.
std::optional<size_t> rows_along(const TileSetting& t, const MemoryAccess& access,
                                 const std::vector<int64_t>& factors) {
  const int64_t piece = row_piece(t.p.graph, access.tensor);
  if (piece == 0 || t.lanes % piece != 0 || access.guarded || !t.lies_apart(access))
    return std::nullopt;
  for (size_t a = 0; a < factors.size(); ++a)
    if (a != t.v && factors[a] > 1 && access.strides[a] == 1 && !access.irregular[a] &&
        (factors[a] % piece == 0 || factors[a] == t.p.spans[a]))
      return a;
  return std::nullopt;
}

}  // namespace

double gather_cost(const MemoryAccess& access, size_t axis, int64_t lanes, const CoreCosts& core) {
  const int64_t stride = access.strides[axis] < 0 ? -access.strides[axis] : access.strides[axis];
  if (!access.irregular[axis] && stride <= std::max<int64_t>(2, lanes / 4))
    return static_cast<double>(stride);
  return core.gather_lane_cycles * static_cast<double>(lanes) + core.gather_cycles;
}

double row_load_cost(int64_t lanes, int64_t piece, const CoreCosts& core) {
  const int64_t rounds = std::bit_width(static_cast<uint64_t>(piece)) - 1;
  return core.port_cycles * static_cast<double>(lanes + (lanes - piece) + piece * rounds);
}

double far_lanes(const TileSetting& t, const MemoryAccess& access,
                 const std::vector<int64_t>& factors) {
  const auto size = static_cast<int64_t>(size_of(t.p.graph.info(access.tensor).dtype));
  const int64_t stride = std::abs(access.strides[t.v]) * size;
  if (access.irregular[t.v] || stride < kLineBytes) return 0;
  bool read_again = false;  // by the next steps
  for (size_t a = 0; a < factors.size(); ++a) {
    if (!access.depends_on(a) || !t.shares_lines(access, a)) continue;
    if (factors[a] > 1) return 0;
    read_again |= a >= t.output_rank && t.p.spans[a] > 1;
  }
  if (!read_again || lines_stay(t.lanes * factors[t.v], stride, t.p.machine.l1_bytes)) return 0;
  return t.core.far_element_cycles * static_cast<double>(t.lanes);
}

double load_cost(const TileSetting& t, const WindowReuse& windows, size_t read,
                 const std::vector<int64_t>& factors) {
  const MemoryAccess& access = t.p.accesses.reads[read];
  const double vectors = windows.distinct(access, factors);
  if (!access.depends_on(t.v)) return vectors * t.core.port_cycles;
  if (t.contiguous[read]) return vectors * lane_load(t) * (1 + crossing(t, read));
  const std::optional<size_t> rows = rows_along(t, access, factors);
  if (!rows)
    return vectors *
           (access.by_data[t.v]
                ? t.core.indexed_element_cycles * static_cast<double>(t.lanes)
                : gather_cost(access, t.v, t.lanes, t.core) + far_lanes(t, access, factors));
  const int64_t piece = row_piece(t.p.graph, access.tensor);
  const auto pieces = static_cast<double>(ceil_div(factors[*rows], piece));
  return vectors / static_cast<double>(factors[*rows]) * pieces *
         row_load_cost(t.lanes, piece, t.core);
}

}  // namespace adjit::sched
