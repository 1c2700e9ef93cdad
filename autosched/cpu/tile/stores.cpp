// autosched/cpu/tile/stores.cpp -- what a register tile's results cost after its last step.
#include "autosched/analysis/gather_access.hpp"
#include "autosched/cpu/tile/tile_model.hpp"

namespace adjit::sched {
double TileModel::stored_apart(const std::vector<int64_t>& factors) const {
  const MemoryAccess& result = p_.accesses.result;
  if (result.irregular[v_]) return core_.irregular_store_cycles;
  const int64_t rows = std::min(lanes_ * factors[v_], p_.spans[v_]);
  const int64_t stride = std::abs(result.strides[v_]) *
                         static_cast<int64_t>(size_of(p_.graph.info(result.tensor).dtype));
  const int64_t piece = row_piece(p_.graph, result.tensor);
  for (size_t a = 0; a < output_rank_; ++a)
    if (a != v_ && piece > 0 && factors[a] >= piece && result.contiguous(a))
      return core_.row_store_cycles +
             (stride % kPageBytes == 0 && rows > core_.set_lines ? core_.missed_store_cycles : 0);
  return core_.apart_store_cycles +
         (lines_stay(rows, stride, p_.target.l1_bytes) ? 0 : core_.missed_store_cycles);
}

double TileModel::storing(const std::vector<int64_t>& factors) const {
  double outputs = 1;
  for (size_t a = 0; a < output_rank_; ++a)
    outputs *= static_cast<double>(std::max<int64_t>(p_.spans[a], 1));
  const double resumed = p_.passes > 1 ? 1 : 0;
  if (in_reduction_) return outputs * (folding(factors) + resumed);
  const MemoryAccess& result = p_.accesses.result;
  if (result.contiguous(v_))
    return outputs / static_cast<double>(lanes_) * core_.resume_cycles * resumed;
  const double loaded = gather_cost(result, v_, lanes_, core_) / static_cast<double>(lanes_);
  return outputs * (stored_apart(factors) + loaded * resumed);
}

double TileModel::folding(const std::vector<int64_t>& factors) const {
  int64_t partials = 1;
  bool side_by_side = false;
  for (size_t a = 0; a < output_rank_; ++a) {
    partials *= factors[a];
    side_by_side |= factors[a] > 1 && p_.accesses.result.contiguous(a);
  }
  return fold_cost(partials, lanes_) + core_.drain_cycles / static_cast<double>(partials) +
         (side_by_side ? 0 : core_.apart_store_cycles);
}

}  // namespace adjit::sched
