// autosched/tile_results.cpp -- what a register tile's results cost after its last step.
#include "autosched/gathered_rows.hpp"
#include "autosched/tile_model.hpp"

namespace adjit {
namespace {

constexpr double kDrain = 30;  // cycles from the last step to the lanes' sum: nothing else to do

}  // namespace

double TileModel::stored_apart(const std::vector<int64_t>& factors) const {
  constexpr double kScattered = 2.5;
  const MemoryAccess& result = p_.accesses.result;
  if (result.irregular[v_]) return kScattered;
  const int64_t piece = row_piece(p_.graph, result.tensor);
  for (size_t a = 0; a < output_rank_; ++a)
    if (a != v_ && piece > 0 && factors[a] >= piece && result.contiguous(a)) return kStoredInRows;
  return kStoredAlone;
}

double TileModel::folding(const std::vector<int64_t>& factors) const {
  int64_t partials = 1;
  bool side_by_side = false;
  for (size_t a = 0; a < output_rank_; ++a) {
    partials *= factors[a];
    side_by_side |= factors[a] > 1 && p_.accesses.result.contiguous(a);
  }
  return fold_cost(partials, lanes_) + kDrain / static_cast<double>(partials) +
         (side_by_side ? 0 : kStoredAlone);
}

}  // namespace adjit
