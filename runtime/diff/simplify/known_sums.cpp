// runtime/diff/simplify/known_sums.cpp -- names each sum by its read and the axes that it uses.
#include "runtime/diff/simplify/known_sums.hpp"

#include <algorithm>

#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"

namespace adjit::diff {

std::vector<size_t> KnownSums::axes_of(const ExprPool& pool, ExprId read, const Domain& domain) {
  const AxisSet used = axes_used(pool, read);
  std::vector<size_t> axes;
  for (size_t a = 0; a < domain.output_rank; ++a)
    if (used & bit(a)) axes.push_back(a);
  return axes;
}

std::optional<KnownSums::Key> KnownSums::key_of(ExprPool& pool, ExprId read, const Domain& domain) {
  if (!domain.is_box() || !pool.is(read, Op::Read)) return std::nullopt;
  const AxisSet used = axes_used(pool, read);
  std::vector<size_t> axes = axes_of(pool, read, domain);
  // How many there are of results tells the reduction's axes from these.
  std::vector<int64_t> extents{static_cast<int64_t>(axes.size())};
  for (size_t a = domain.output_rank; a < domain.rank(); ++a) {
    if (!(used & bit(a))) return std::nullopt;
    axes.push_back(a);
  }
  std::vector<ExprId> numbered;
  for (size_t a = 0; a < domain.rank(); ++a) numbered.push_back(pool.axis(a));
  for (size_t k = 0; k < axes.size(); ++k) {
    numbered[axes[k]] = pool.axis(k);
    extents.push_back(domain.extents[axes[k]]);
  }
  return Key{substitute_axes(pool, read, numbered), std::move(extents)};
}

KnownSums::KnownSums(Graph& graph) {
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::Sum ||
        stage.bodies.size() != 1 || stage.stop_gradient || stage.domain.rank() >= 63 ||
        stage.domain.reduction_rank() == 0)
      continue;
    const Product product = factors_of(graph.pool, stage.bodies[0]);
    if (product.factors.size() != 1 || product.factors[0].inverse) continue;
    const ExprId read = product.factors[0].expr;
    auto key = key_of(graph.pool, read, stage.domain);
    if (!key) continue;
    KnownSum known{.stage = s,
                   .result = stage.results[0],
                   .negative = product.negative,
                   .places = std::vector<std::optional<size_t>>(stage.domain.output_rank)};
    const std::vector<size_t> axes = axes_of(graph.pool, read, stage.domain);
    for (size_t k = 0; k < axes.size(); ++k) known.places[axes[k]] = k;
    sums_.try_emplace(*std::move(key), std::move(known));
  }
}

const KnownSum* KnownSums::find(ExprPool& pool, ExprId read, const Domain& domain) const {
  const auto key = key_of(pool, read, domain);
  if (!key) return nullptr;
  const auto found = sums_.find(*key);
  return found == sums_.end() ? nullptr : &found->second;
}

}  // namespace adjit::diff
