// autosched/cpu/tile/predicates.cpp -- rows of the domain that differ between the points of a
// register tile: masks, versions of the tile that ask fewer of them, tiles that are left out
// (jit/emit/tile_versions.hpp).
#include <algorithm>
#include <utility>

#include "autosched/cpu/tile/tile_model.hpp"
#include "autosched/machine/thresholds.hpp"

namespace adjit::sched {

bool TileModel::masked(size_t axis) const {
  return std::ranges::any_of(rows_, [&](const std::vector<bool>& row) { return row[axis]; });
}

double TileModel::mask_cost(const std::vector<bool>& row,
                            const std::vector<int64_t>& factors) const {
  double distinct = 1;
  bool in_tile = row[v_], steps = false, reduced = false;
  for (size_t a = 0; a < factors.size(); ++a) {
    if (!row[a]) continue;
    distinct *= static_cast<double>(factors[a]);
    in_tile |= factors[a] > 1;
    steps |= a >= output_rank_ && factors[a] < p_.spans[a];
    reduced |= a >= output_rank_;
  }
  // Rows outside the tile bound its loops; rows of results alone are asked at the end.
  if (!in_tile || !reduced) return 0;
  if (!steps) return core_.bound_cycles * distinct;
  // Asked again when a reduction loop steps that the row mentions, not in the loops inside it.
  double inside = 1;
  for (size_t a = factors.size() - 1; a >= output_rank_; --a) {  // one of them steps
    if (row[a] && factors[a] < p_.spans[a]) break;
    inside *= static_cast<double>(ceil_div(p_.spans[a], factors[a]));
  }
  return std::max(core_.outer_bound_cycles / inside, core_.bound_cycles) * distinct;
}

TileModel::Shares TileModel::shares_of(const Affine& row,
                                       const std::vector<int64_t>& factors) const {
  constexpr size_t kMostPlaces = 1 << 12;
  if (std::ranges::find(p_.spans, 0) != p_.spans.end()) return {};
  // Most tiles differ along other axes.
  std::vector<int64_t> along{row.constant()};
  for (size_t a = 0; a < row.size(); ++a)
    along.insert(along.end(), {row.coefficient(a), row.coefficient(a) == 0 ? 0 : factors[a]});
  const auto [known, fresh] = shares_.try_emplace(std::move(along));
  if (!fresh) return known->second;
  const auto constant = static_cast<double>(row.constant());
  std::vector<std::pair<double, double>> bounds{{constant, constant}};  // at each place
  for (size_t a = 0; a < row.size(); ++a) {
    const auto scale = static_cast<double>(row.coefficient(a));
    if (scale == 0) continue;
    const int64_t tile = factors[a] * (a == v_ ? lanes_ : 1);
    // A nest in another's loops has some of an axis' points at a time, anywhere.
    const int64_t places = ceil_div(p_.stage.domain.extents[a], tile);
    const int64_t sampled =
        std::min(places, static_cast<int64_t>(std::max<size_t>(1, kMostPlaces / bounds.size())));
    std::vector<std::pair<double, double>> next;
    for (int64_t k = 0; k < sampled; ++k) {
      const int64_t first = tile * (k * (places - 1) / std::max<int64_t>(1, sampled - 1));
      const auto [low, high] = std::minmax(
          {scale * static_cast<double>(first), scale * static_cast<double>(first + tile - 1)});
      for (const auto& [least, most] : bounds) next.emplace_back(least + low, most + high);
    }
    bounds = std::move(next);
  }
  const auto share = [&](auto holds) {
    return static_cast<double>(std::ranges::count_if(bounds, holds)) /
           static_cast<double>(bounds.size());
  };
  return known->second = {share([](const auto& place) { return place.first >= 0; }),
                          share([](const auto& place) { return place.second >= 0; })};
}

double TileModel::touched(const Affine& row, std::vector<int64_t> factors) const {
  if (p_.stage.kind == StageKind::Scatter || p_.stage.running) return 1;
  if (v_ < output_rank_) factors[v_] = 1;  // vectors of a tile are left out one by one
  size_t axes = 0;
  int64_t places = 0;
  bool reduces = false, steps = false;
  for (size_t a = 0; a < row.size(); ++a) {
    if (row.coefficient(a) == 0) continue;
    ++axes;
    const int64_t tile = factors[a] * (a == v_ ? lanes_ : 1);
    places = std::max(places, ceil_div(p_.stage.domain.extents[a], tile));
    if (a < output_rank_) continue;
    reduces = true;
    steps |= tile < p_.spans[a];
  }
  if (axes < 2 || places < thresholds().few_places || (reduces && !steps)) return 1;
  const double share = shares_of(row, factors).touched;
  return share > thresholds().inside_share ? 1 : share;
}

double TileModel::visited(const std::vector<int64_t>& factors) const {
  double share = 1;
  for (const Affine* row : plain_rows_) share *= touched(*row, factors);
  return share;
}

TileModel::RowMasks TileModel::row_masks(const std::vector<int64_t>& factors) const {
  double instances = 1;
  for (const int64_t factor : factors) instances *= static_cast<double>(factor);
  const bool shared = shared_read(factors) != nullptr;
  RowMasks masks;
  bool kept_apart = false;  // contributions are masked one by one
  for (const std::vector<bool>& row : rows_) {
    double cost = mask_cost(row, factors);
    if (cost == 0) continue;
    if (row[v_]) masks.lanes += cost;
    if (shared && !row[v_]) {
      double values = 1;
      for (size_t a = 0; a < factors.size(); ++a)
        if (row[a]) values += static_cast<double>(factors[a] - 1);
      cost = std::min(cost, core_.branch_cost * values);
    } else {
      kept_apart = true;
    }
    masks.all += cost;
  }
  if (kept_apart) masks.all += instances;
  if (masks.lanes > 0) masks.lanes += instances;
  return masks;
}

TileModel::Border TileModel::border(const std::vector<int64_t>& factors) const {
  const bool is_sum = p_.stage.combiner.kind == CombinerKind::Sum;  // others gain less by it
  double instances = static_cast<double>(nodes_);
  for (const int64_t factor : factors) instances *= static_cast<double>(factor);
  if (!is_sum || instances > thresholds().interior_nodes || plain_rows_.size() < rows_.size())
    return {1, 0};
  double inside = 1, inside_lanes = 1;
  for (const Affine* row : plain_rows_) {
    const double share = shares_of(*row, factors).inside /
                         std::max(touched(*row, factors), thresholds().interior_share);
    (row->coefficient(v_) != 0 ? inside_lanes : inside) *= std::min(share, 1.0);
  }
  if (inside * inside_lanes < thresholds().interior_share) return {1, 0};
  return {1 - inside, inside * (1 - inside_lanes)};
}

}  // namespace adjit::sched
