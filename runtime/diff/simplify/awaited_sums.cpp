// runtime/diff/simplify/awaited_sums.cpp -- goes through what defines the factors of a sum.
#include "runtime/diff/simplify/awaited_sums.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

namespace adjit::diff {
namespace {

// The stages that these tensors need; nullopt: they are many.
std::optional<std::set<size_t>> needed_by(const Graph& graph, const StageOf& stage_of,
                                          std::span<const TensorId> tensors) {
  constexpr size_t kMostStages = 64;  // a batch norm's gradient has 20
  std::set<size_t> needed;
  std::vector<TensorId> open(tensors.begin(), tensors.end());
  while (!open.empty()) {
    const auto found = stage_of.find(open.back().value);
    open.pop_back();
    if (found == stage_of.end() || !needed.insert(found->second).second) continue;
    if (needed.size() > kMostStages) return std::nullopt;
    const std::vector<TensorId> read = tensors_read(graph, graph.stages[found->second]);
    open.insert(open.end(), read.begin(), read.end());
  }
  return needed;
}

}  // namespace

bool any_waits_for_reduction_of(const Graph& graph, const StageOf& stage_of,
                                std::span<const TensorId> factors, std::span<const TensorId> others,
                                const Domain& domain_of_sum) {
  const auto by_factors = needed_by(graph, stage_of, factors);
  if (!by_factors) return false;
  const auto by_others = needed_by(graph, stage_of, others);
  if (!by_others) return false;
  return std::ranges::any_of(*by_factors, [&](size_t s) {
    const Stage& stage = graph.stages[s];
    if (stage.kind != StageKind::Compute || stage.domain.reduction_rank() == 0 ||
        stage.domain.box_points() != domain_of_sum.box_points() || by_others->contains(s))
      return false;
    return std::ranges::any_of(tensors_read(graph, stage), [&](TensorId id) {
      return std::ranges::find(others, id) != others.end();
    });
  });
}

}  // namespace adjit::diff
