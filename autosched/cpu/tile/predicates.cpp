// autosched/cpu/tile/predicates.cpp -- masks of a tile, versions that ask fewer, tiles left out.
#include "autosched/cpu/tile/predicates.hpp"

#include <algorithm>
#include <utility>

#include "autosched/machine/thresholds.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::sched {

double TilePredicates::mask_cost(const std::vector<bool>& row,
                                 const std::vector<int64_t>& factors) const {
  double distinct = 1;
  bool in_tile = row[t_.v], steps = false, reduced = false;
  for (size_t a = 0; a < factors.size(); ++a) {
    if (!row[a]) continue;
    distinct *= static_cast<double>(factors[a]);
    in_tile |= factors[a] > 1;
    steps |= a >= t_.output_rank && factors[a] < t_.p.spans[a];
    reduced |= a >= t_.output_rank;
  }
  // Rows outside the tile bound its loops; rows of results alone are asked at the end.
  if (!in_tile || !reduced) return 0;
  if (!steps) return t_.core.bound_cycles * distinct;
  // Asked again when a reduction loop steps that the row mentions, not in the loops inside it.
  double inside = 1;
  for (size_t a = factors.size() - 1; a >= t_.output_rank; --a) {  // one of them steps
    if (row[a] && factors[a] < t_.p.spans[a]) break;
    inside *= static_cast<double>(ceil_div(t_.p.spans[a], factors[a]));
  }
  return std::max(t_.core.outer_bound_cycles / inside, t_.core.bound_cycles) * distinct;
}

TilePredicates::Shares TilePredicates::shares_of(const Affine& row,
                                                 const std::vector<int64_t>& factors) const {
  constexpr size_t kMostPlaces = 1 << 12;
  if (std::ranges::find(t_.p.spans, 0) != t_.p.spans.end()) return {};
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
    const int64_t tile = t_.points(a, factors);
    // A nest in another's loops has some of an axis' points at a time, anywhere.
    const int64_t places = ceil_div(t_.p.stage.domain.extents[a], tile);
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

double TilePredicates::touched(const Affine& row, std::vector<int64_t> factors) const {
  if (t_.p.stage.kind == StageKind::Scatter || running_of(t_.p.graph, t_.p.stage)) return 1;
  if (t_.v < t_.output_rank) factors[t_.v] = 1;  // vectors of a tile are left out one by one
  size_t axes = 0;
  int64_t places = 0;
  bool reduces = false, steps = false;
  for (size_t a = 0; a < row.size(); ++a) {
    if (row.coefficient(a) == 0) continue;
    ++axes;
    const int64_t tile = t_.points(a, factors);
    places = std::max(places, ceil_div(t_.p.stage.domain.extents[a], tile));
    if (a < t_.output_rank) continue;
    reduces = true;
    steps |= tile < t_.p.spans[a];
  }
  if (axes < 2 || places < thresholds().few_places || (reduces && !steps)) return 1;
  const double share = shares_of(row, factors).touched;
  return share > thresholds().inside_share ? 1 : share;
}

double TilePredicates::visited(const std::vector<int64_t>& factors) const {
  double share = 1;
  for (const Affine* row : t_.plain_rows) share *= touched(*row, factors);
  return share;
}

TilePredicates::RowMasks TilePredicates::row_masks(const std::vector<int64_t>& factors) const {
  double instances = 1;
  for (const int64_t factor : factors) instances *= static_cast<double>(factor);
  const bool shared = windows_.shared_read(factors) != nullptr;
  RowMasks masks;
  bool kept_apart = false;  // contributions are masked one by one
  for (const std::vector<bool>& row : t_.rows) {
    double cost = mask_cost(row, factors);
    if (cost == 0) continue;
    if (row[t_.v]) masks.lanes += cost;
    if (shared && !row[t_.v]) {
      double values = 1;
      for (size_t a = 0; a < factors.size(); ++a)
        if (row[a]) values += static_cast<double>(factors[a] - 1);
      cost = std::min(cost, t_.core.branch_cost * values);
    } else {
      kept_apart = true;
    }
    masks.all += cost;
  }
  if (kept_apart) masks.all += instances;
  if (masks.lanes > 0) masks.lanes += instances;
  return masks;
}

TilePredicates::Border TilePredicates::border(const std::vector<int64_t>& factors) const {
  const bool is_sum = t_.p.stage.combiner.kind == CombinerKind::Sum;  // others gain less by it
  double instances = static_cast<double>(nodes_);
  for (const int64_t factor : factors) instances *= static_cast<double>(factor);
  if (!is_sum || instances > kInteriorNodes || t_.plain_rows.size() < t_.rows.size()) return {1, 0};
  double inside = 1, inside_lanes = 1;
  for (const Affine* row : t_.plain_rows) {
    const double share = shares_of(*row, factors).inside /
                         std::max(touched(*row, factors), thresholds().interior_share);
    (row->coefficient(t_.v) != 0 ? inside_lanes : inside) *= std::min(share, 1.0);
  }
  if (inside * inside_lanes < thresholds().interior_share) return {1, 0};
  return {1 - inside, inside * (1 - inside_lanes)};
}

}  // namespace adjit::sched
