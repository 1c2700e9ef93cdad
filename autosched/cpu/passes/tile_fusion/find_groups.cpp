// autosched/cpu/passes/tile_fusion/find_groups.cpp -- groups of stages whose rows pay for being
// taken in blocks.
#include "autosched/cpu/passes/tile_fusion/find_groups.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "autosched/analysis/exact_counts.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/moves/moves.hpp"

namespace adjit::sched {
namespace {

constexpr size_t kMostFailures = 32;  // before no more are looked for: bounds the time that takes

}  // namespace

std::optional<RowsFound> RowGroupFinder::operator()(std::set<TensorId>& seen,
                                                    const std::set<TensorId>& only_kept,
                                                    size_t& failures) const {
  std::vector<TensorId> candidates;
  for (const Stage& s : program().graph.stages)
    for (TensorId id : s.results)
      if (reads_.is_large(id) && is_product_sum(program().graph, s) && !seen.contains(id))
        candidates.push_back(id);
  std::ranges::stable_sort(candidates, std::greater<>(),
                           [&](TensorId id) { return tensor_bytes(program().graph, id); });
  for (TensorId id : candidates) {
    if (failures >= kMostFailures) break;
    seen.insert(id);
    for (const RowPlace& place : places_of(id)) {
      const RowStages common = stages_in_common(reads_, id, place, taken_);
      if (common.stages.empty()) continue;
      const RowLevels levels = levels_of(reads_, common, kept_);
      std::optional<RowPassing> passing = passing_of(reads_, common, levels, kept_);
      if (passing && !passing->again.empty() && !only_kept.contains(id) &&
          pays_again(common, levels, *passing))
        return RowsFound{
            id, {}, std::move(passing->again), std::move(passing->kept), seeds_of(common, levels)};
      RowGroup group = group_at(common, levels, levels.of[reads_.producer(id)]);
      // What is larger was looked at with its own batch around the rows.
      const bool looked_at = std::ranges::any_of(
          group.passed, [&](TensorId other) { return other != id && seen.contains(other); });
      if (looked_at || !pays(group)) continue;
      seen.insert(group.passed.begin(), group.passed.end());
      return RowsFound{id, std::move(group), {}, passing ? passing->kept : kept_, {}};
    }
    ++failures;
  }
  return std::nullopt;
}

bool RowGroupFinder::finds_from(TensorId id) const {
  return std::ranges::any_of(places_of(id), [&](const RowPlace& place) {
    const RowStages common = stages_in_common(reads_, id, place, taken_);
    if (common.stages.empty()) return false;
    const RowLevels levels = levels_of(reads_, common, kept_);
    return pays(group_at(common, levels, levels.of[reads_.producer(id)]));
  });
}

// The dimensions of a result that may be its rows.
std::vector<RowPlace> RowGroupFinder::places_of(TensorId id) const {
  const std::vector<int64_t>& shape = program().graph.info(id).shape;
  std::vector<RowPlace> places;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 2 * thresholds().block_rows) continue;
    RowPlace place{d, {}};
    for (size_t b = 0; b < d; ++b)
      if (shape[b] > 1) place.batch.push_back(b);
    places.push_back(std::move(place));
  }
  return places;
}

// For every level that contractions give something large, the largest of it.
std::vector<TensorId> RowGroupFinder::seeds_of(const RowStages& common,
                                               const RowLevels& levels) const {
  std::map<int, TensorId> seeds;
  for (TensorId id : common.passed) {
    const size_t s = reads_.producer(id);
    if (!reads_.is_contraction(s)) continue;
    const auto [at, fresh] = seeds.emplace(levels.of[s], id);
    if (!fresh && tensor_bytes(program().graph, id) > tensor_bytes(program().graph, at->second))
      at->second = id;
  }
  std::vector<TensorId> found;
  for (const auto& [level, id] : seeds) found.push_back(id);
  return found;
}

// The stages of a level, and what only they write and read.
RowGroup RowGroupFinder::group_at(const RowStages& common, const RowLevels& levels,
                                  int level) const {
  RowGroup group;
  group.rows = common.rows;
  group.batches = common.batches;
  std::vector<size_t> stages;
  for (const auto& [s, axes] : common.stages) {
    if (levels.of[s] != level) continue;
    group.stages.emplace(s, axes);
    stages.push_back(s);
    if (reads_.reduces(s, axes)) group.sums.push_back(s);
  }
  if (stages.size() < 2 || !can_gather(program(), stages)) return {};
  for (TensorId id : common.passed)
    if (group.stages.contains(reads_.producer(id)) &&
        std::ranges::all_of(program().readers[id.value],
                            [&](size_t reader) { return group.stages.contains(reader); })) {
      group.passed.push_back(id);
      if (reads_.is_stored(id)) group.stored.push_back(id);
    }
  group.closed = levels.last == 0 && is_closed(reads_, common);
  costs_.choose_blocks(group);
  return group;
}

bool RowGroupFinder::pays(const RowGroup& group) const {
  if (group.stages.empty() || !costs_.is_right_size(group)) return false;
  double arithmetic = 0;
  for (const auto& [s, axes] : group.stages)
    if (reads_.is_contraction(s)) arithmetic += costs_.arithmetic_of(s);
  const double stored = costs_.bytes_of(group.stored);
  // Blocks cost what they have around them, too.
  if (!group.closed && 2 * stored < static_cast<double>(reads_.machine().l3_bytes)) return false;
  return costs_.cycles_as_wholes(group.stored, group.sums) - costs_.added_by_sums(group) >
         thresholds().blocks_gain * arithmetic;
}

// Whether groups of all levels, with what is computed again for them and what is kept, take less
// time than large results that all exist as a whole.
bool RowGroupFinder::pays_again(const RowStages& common, const RowLevels& levels,
                                const RowPassing& passing) const {
  std::vector<TensorId> stored;
  for (TensorId id : common.passed)
    if (reads_.is_stored(id)) stored.push_back(id);
  double arithmetic = 0, added = 0;
  std::vector<size_t> sums;
  for (const auto& [s, axes] : common.stages) {
    if (reads_.is_contraction(s)) arithmetic += costs_.arithmetic_of(s);
    if (reads_.reduces(s, axes)) sums.push_back(s);
  }
  for (int level = 0; level <= levels.last; ++level) {
    RowGroup group = group_at(common, levels, level);
    if (group.stages.empty()) continue;
    group.stored.clear();  // with what is computed again for it
    for (TensorId id : stored)
      if (group.stages.contains(reads_.producer(id)) ||
          std::ranges::any_of(program().readers[id.value],
                              [&](size_t reader) { return group.stages.contains(reader); }))
        group.stored.push_back(id);
    if (group.stored.empty()) continue;
    costs_.choose_blocks(group);
    if (!costs_.is_right_size(group)) return false;
    added += costs_.added_by_sums(group);
  }
  for (const RowsAgain& stages : passing.again)
    for (TensorId name : stages.stages) added += costs_.cycles_again(reads_.producer(name));
  for (TensorId id : passing.kept)
    if (common.passed.contains(id)) added += costs_.cost_of_keeping(common, id, {});
  return costs_.bytes_of(stored) > static_cast<double>(reads_.machine().l3_bytes) &&
         (passing.too_much ||
          costs_.cycles_as_wholes(stored, sums) - added > thresholds().blocks_gain * arithmetic);
}

}  // namespace adjit::sched
