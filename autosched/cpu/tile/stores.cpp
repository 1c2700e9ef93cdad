// autosched/cpu/tile/stores.cpp -- what a register tile's results cost after its last step.
#include "autosched/cpu/tile/stores.hpp"

#include <algorithm>
#include <cstdlib>

#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/analysis/work.hpp"
#include "autosched/cpu/tile/loads.hpp"

namespace adjit::sched {

double stored_apart(const TileSetting& t, const std::vector<int64_t>& factors) {
  const MemoryAccess& result = t.p.accesses.result;
  if (result.irregular[t.v]) return t.core.irregular_store_cycles;
  const int64_t rows = std::min(t.lanes * factors[t.v], t.p.spans[t.v]);
  const int64_t stride = std::abs(result.strides[t.v]) *
                         static_cast<int64_t>(size_of(t.p.graph.info(result.tensor).dtype));
  const int64_t piece = row_piece(t.p.graph, result.tensor);
  for (size_t a = 0; a < t.output_rank; ++a)
    if (a != t.v && piece > 0 && factors[a] >= piece && result.contiguous(a))
      return t.core.row_store_cycles +
             (stride % kPageBytes == 0 && rows > t.core.set_lines ? t.core.missed_store_cycles : 0);
  return t.core.apart_store_cycles +
         (lines_stay(rows, stride, t.p.machine.l1_bytes) ? 0 : t.core.missed_store_cycles);
}

double storing(const TileSetting& t, const std::vector<int64_t>& factors) {
  double outputs = 1;
  for (size_t a = 0; a < t.output_rank; ++a)
    outputs *= static_cast<double>(std::max<int64_t>(t.p.spans[a], 1));
  const double resumed = t.p.passes > 1 ? 1 : 0;
  if (t.in_reduction) return outputs * (folding(t, factors) + resumed);
  const MemoryAccess& result = t.p.accesses.result;
  if (result.contiguous(t.v))
    return outputs / static_cast<double>(t.lanes) * t.core.resume_cycles * resumed;
  const double loaded = gather_cost(result, t.v, t.lanes, t.core) / static_cast<double>(t.lanes);
  return outputs * (stored_apart(t, factors) + loaded * resumed);
}

double folding(const TileSetting& t, const std::vector<int64_t>& factors) {
  int64_t partials = 1;
  bool side_by_side = false;
  for (size_t a = 0; a < t.output_rank; ++a) {
    partials *= factors[a];
    side_by_side |= factors[a] > 1 && t.p.accesses.result.contiguous(a);
  }
  return fold_cost(partials, t.lanes) + t.core.drain_cycles / static_cast<double>(partials) +
         (side_by_side ? 0 : t.core.apart_store_cycles);
}

}  // namespace adjit::sched
