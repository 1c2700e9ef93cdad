// runtime/diff/rules/accumulate.cpp -- sums of contributions as stages.
#include "runtime/diff/rules/accumulate.hpp"

#include <algorithm>

#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/rewrite/reads_in_box.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/graph/affine_constraint.hpp"

namespace adjit::diff {
namespace {

// Conditions larger than this are kept as a bool tensor, so that chains of guards stay linear.
constexpr size_t kInlineSupportNodes = 24;

/// Adds to `open` every domain that is `left` without the points where all rows of `taken` hold:
/// one per row, with the row's opposite.
void open_without(const Domain& left, const Domain& taken, std::vector<Domain>& open) {
  const auto cut = [&](const Affine& row) {  // where row >= 0
    Domain part = left;
    part.divisions = taken.divisions;
    part.inequalities.push_back(row);
    if (!provably_empty(part)) open.push_back(std::move(part));
  };
  for (const Affine& row : taken.inequalities) cut(-row - Affine(1));
  for (const Affine& row : taken.equalities) {
    cut(row - Affine(1));
    cut(-row - Affine(1));
  }
}

class Accumulator {
 public:
  Accumulator(Graph& graph, TensorId tensor, const std::vector<SourceLine>& lines)
      : graph_(graph),
        pool_(graph.pool),
        lines_(lines),
        box_(shape_box(graph.info(tensor).shape)),
        dtype_(graph.info(tensor).dtype),
        name_("d_" + graph.info(tensor).name),
        axes_(axes(graph.pool, box_.output_rank)) {}

  Cotangent operator()(const std::vector<Contribution>& all) {
    if (all.empty()) return {};
    Cotangent result;
    result.support = support(all);
    const auto scatters = std::ranges::count_if(all, &Contribution::scatter);
    const std::vector<ExprId> terms = add_gathers(all, scatters == 0);
    if (scatters == 0 && terms.size() == 1 && pool_.value(terms[0]) && rows_.is_box()) {
      result.constant = terms[0];
    } else if (scatters == 0) {
      result.tensor = settle(terms, dtype_);
    } else {
      result.tensor = add_scatters(all, terms);
    }
    return result;
  }

 private:
  TensorId add_stage(const Domain& domain, CombinerKind kind, ExprId body) {
    Combiner combiner;
    combiner.kind = kind;
    return add_compute(graph_, name_, domain, combiner, {body}, lines_)[0];
  }

  ExprId read_all(TensorId tensor) {
    return pool_.cast(read(graph_, tensor, axes_), accumulator_of(graph_.info(tensor).dtype));
  }

  // One expression over the tensor's axes per term of the final sum; at most kTermsPerStage of
  // them.
  std::vector<ExprId> add_gathers(const std::vector<Contribution>& all, bool may_keep_rows) {
    std::vector<ExprId> terms;
    std::vector<const Contribution*> pointwise;
    std::vector<std::vector<const Contribution*>> groups;
    for (const Contribution& c : all) {
      if (c.scatter) continue;
      if (c.domain.reduction_rank() == 0) {
        pointwise.push_back(&c);
        continue;
      }
      // Same forward stage, same domain: neighbours in the list.
      const auto same = std::ranges::find_if(groups.rbegin(), groups.rend(), [&](const auto& g) {
        return g[0]->origin != c.origin || g[0]->domain == c.domain;
      });
      if (same != groups.rend() && (*same)[0]->origin == c.origin &&
          same->size() < kTermsPerStage) {
        same->push_back(&c);
      } else {
        groups.push_back({&c});
      }
    }
    for (const auto& group : groups) {
      std::vector<ExprId> bodies;
      for (const Contribution* c : group) bodies.push_back(c->body);
      terms.push_back(
          read_all(add_stage(group[0]->domain, CombinerKind::Sum, balanced_sum(pool_, bodies))));
    }
    rows_ = box_;
    const bool one_domain = may_keep_rows && groups.empty() &&
                            std::ranges::all_of(pointwise, [&](const Contribution* c) {
                              return c->domain == pointwise[0]->domain;
                            });
    if (one_domain && pointwise.size() <= kTermsPerStage) rows_ = pointwise[0]->domain;
    for (const Contribution* c : pointwise)
      terms.push_back(rows_ == c->domain ? c->body
                                         : guard(pool_, rows_condition(pool_, c->domain), c->body));
    return shortened(std::move(terms));
  }

  std::vector<ExprId> shortened(std::vector<ExprId> terms) {
    while (terms.size() > kTermsPerStage) {
      std::vector<ExprId> next;
      for (size_t k = 0; k < terms.size(); k += kTermsPerStage) {
        const std::span chunk(terms.data() + k, std::min(kTermsPerStage, terms.size() - k));
        next.push_back(chunk.size() == 1 ? chunk[0]
                                         : read_all(add_stage(box_, CombinerKind::None,
                                                              balanced_sum(pool_, chunk))));
      }
      terms = std::move(next);
    }
    return terms;
  }

  // The sum of the terms as a tensor of that dtype; the result of a lone Sum is taken as it is.
  TensorId settle(const std::vector<ExprId>& terms, DType dtype) {
    if (terms.size() == 1 && rows_ == box_ && pool_.is(terms[0], Op::Read) &&
        pool_.dtype(terms[0]) == dtype) {
      const TensorId only = pool_.read_tensor(terms[0]);
      if (!graph_.stages.empty() && std::ranges::count(graph_.stages.back().results, only) == 1 &&
          graph_.info(only).shape == box_.extents && terms[0] == read(graph_, only, axes_))
        return only;
    }
    return add_stage(rows_, CombinerKind::None, pool_.cast(balanced_sum(pool_, terms), dtype));
  }

  TensorId add_scatters(const std::vector<Contribution>& all, const std::vector<ExprId>& terms) {
    const DType wide = accumulator_of(dtype_);
    TensorId sum = terms.empty() ? TensorId{} : settle(terms, wide);
    for (const Contribution& c : all) {
      if (!c.scatter) continue;
      Stage stage;
      stage.kind = StageKind::Scatter;
      stage.domain = c.domain;
      stage.combiner.kind = CombinerKind::Sum;
      stage.bodies = {c.body};
      stage.target = c.target;
      stage.initial = sum;
      stage.out_of_range = c.out_of_range;
      stage.lines = lines_;
      sum = add_tensor(graph_, name_, wide, box_.extents);
      stage.results = {sum};
      graph_.stages.push_back(std::move(stage));
    }
    if (wide == dtype_) return sum;
    return add_stage(box_, CombinerKind::None, pool_.cast(read_all(sum), dtype_));
  }

  // Whether the contributions whose supports are affine reach every element together, as the even
  // and the odd half of a tensor do. Within a budget: false means "not proven".
  bool cover_box(const std::vector<Contribution>& all) {
    constexpr size_t kMostContributions = 16, kMostParts = 16;
    if (std::ranges::any_of(all, [](const Contribution& c) { return c.support.everywhere(); }))
      return true;
    if (all.size() > kMostContributions) return false;
    std::vector<Domain> open{box_};
    for (const Contribution& c : all) {
      Domain taken = open.empty() ? box_ : open.front();
      taken.inequalities.clear();
      taken.equalities.clear();
      if (c.support.empty || !add_rows(taken, c.support.domain)) continue;
      const Restriction r = restrict_by(pool_, c.support.rest, taken);
      if (r.empty || r.rest.valid()) continue;
      std::vector<Domain> left;
      for (const Domain& part : open) open_without(part, taken, left);
      open = std::move(left);
      if (open.empty()) return true;
      if (open.size() > kMostParts) return false;
    }
    return false;
  }

  ExprId support(const std::vector<Contribution>& all) {
    if (cover_box(all)) return {};
    ExprId any;
    for (const Contribution& c : all) {
      const ExprId here = condition_at_elements(c.support);
      any = &c == &all.front() ? here : either(pool_, any, here);
      if (!any.valid()) return any;
      const ExprId roots[] = {any};
      if (reachable(pool_, roots).size() > kInlineSupportNodes)
        any = read_all(add_compute(graph_, name_ + "_live", box_, Combiner{}, {any}, lines_)[0]);
    }
    return any;
  }

  // A support is evaluated on the whole tensor, but its reads were in range on the contribution's
  // domain only. What they give elsewhere does not matter, the rows of the domain are false.
  ExprId condition_at_elements(const RestrictedDomain& support) {
    return with_reads_in_box(graph_, condition_of(pool_, support), box_);
  }

  Graph& graph_;
  ExprPool& pool_;
  const std::vector<SourceLine>& lines_;
  Domain box_;
  Domain rows_;  // the domain of the final elementwise stage
  DType dtype_;
  std::string name_;
  std::vector<ExprId> axes_;
};

}  // namespace

Cotangent accumulate(Graph& graph, TensorId tensor, const std::vector<Contribution>& contributions,
                     const std::vector<SourceLine>& lines) {
  return Accumulator(graph, tensor, lines)(contributions);
}

ExprId read_cotangent(Graph& graph, const Cotangent& cotangent, std::span<const ExprId> index,
                      ExprId predicate) {
  if (cotangent.constant.valid()) return guard(graph.pool, predicate, cotangent.constant);
  return graph.pool.cast(read(graph, cotangent.tensor, index, predicate),
                         accumulator_of(graph.info(cotangent.tensor).dtype));
}

TensorId materialised(Graph& graph, TensorId like, const Cotangent& cotangent) {
  if (cotangent.tensor.valid()) return cotangent.tensor;
  const TensorInfo info = graph.info(like);
  const ExprId value = cotangent.zero() ? graph.pool.constant(0, info.dtype)
                                        : graph.pool.cast(cotangent.constant, info.dtype);
  return add_compute(graph, "d_" + info.name, shape_box(info.shape), Combiner{}, {value})[0];
}

}  // namespace adjit::diff
