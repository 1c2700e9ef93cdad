// autosched/analysis/reads/aligned_axes.cpp -- axes that reads leave as they are.
#include "autosched/analysis/reads/aligned_axes.hpp"

#include <algorithm>
#include <map>
#include <optional>

#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// For each dimension of a stage's results, the axis of the last stage that it follows; nullopt: it
// follows none.
using Places = std::vector<std::optional<size_t>>;

// The places of a tensor that a stage with the places `own` reads.
Places places_of(const Graph& graph, const Stage& stage, const Places& own, ExprId read) {
  const IndexMap map = index_map(graph.pool, graph.pool.read_index(read), stage.domain);
  Places there(map.forms.size());
  for (size_t d = 0; d < there.size(); ++d)
    for (size_t a = 0; a < own.size(); ++a)
      if (map.forms[d] == Affine::variable(a)) there[d] = own[a];
  return there;
}

}  // namespace

AlignedAxes aligned_axes(const LoweredGraph& graph, std::span<const size_t> producers, size_t stage,
                         const std::function<bool(size_t)>& takes_part) {
  std::map<size_t, Places> places;
  const size_t rank = graph.stages[stage].domain.output_rank;
  for (size_t a = 0; a < rank; ++a) places[stage].emplace_back(a);
  AlignedAxes aligned;
  for (size_t s = stage + 1; s-- > 0;) {
    const auto own = places.find(s);
    if (own == places.end()) continue;
    aligned.stages.push_back(s);
    for (const ExprId read : reads_of(graph, graph.stages[s])) {
      const size_t producer = producers[graph.pool.read_tensor(read).value];
      if (producer == SIZE_MAX || !takes_part(producer)) continue;
      const Places there = places_of(graph, graph.stages[s], own->second, read);
      const auto [before, is_new] = places.try_emplace(producer, there);
      for (size_t d = 0; !is_new && d < there.size(); ++d)
        if (before->second[d] != there[d]) before->second[d].reset();
    }
  }
  std::ranges::reverse(aligned.stages);
  for (size_t a = 0; a < rank; ++a)
    if (std::ranges::all_of(places, [&](const auto& of) {
          return std::ranges::find(of.second, std::optional(a)) != of.second.end();
        }))
      aligned.axes.push_back(a);
  return aligned;
}

}  // namespace adjit::sched
