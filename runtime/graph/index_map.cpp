// runtime/graph/index_map.cpp -- forms of indices, one by one or together.
#include "runtime/graph/index_map.hpp"

#include <algorithm>
#include <utility>

namespace adjit::graph {

std::optional<IndexForm> index_form(const ExprPool& pool, ExprId index, Domain domain) {
  std::optional<Affine> form = as_affine(pool, index, domain);
  if (!form) return std::nullopt;
  return IndexForm{std::move(*form), std::move(domain)};
}

bool IndexMap::is_affine() const {
  return std::ranges::all_of(forms, [](const auto& form) { return form.has_value(); });
}

IndexMap index_map(const ExprPool& pool, std::span<const ExprId> index, Domain domain) {
  IndexMap map{std::move(domain), {}};
  map.forms.reserve(index.size());
  for (ExprId coordinate : index) map.forms.push_back(as_affine(pool, coordinate, map.domain));
  return map;
}

std::optional<IndexForm> at_index(const ExprPool& pool, const Affine& form,
                                  std::span<const ExprId> index, Domain domain) {
  Affine total(form.constant());
  for (size_t d = 0; d < form.size(); ++d) {
    if (form.coefficient(d) == 0) continue;
    const std::optional<Affine> at = as_affine(pool, index[d], domain);
    if (!at) return std::nullopt;
    try {
      total += *at * form.coefficient(d);
    } catch (const Overflow&) {
      return std::nullopt;
    }
  }
  return IndexForm{std::move(total), std::move(domain)};
}

std::vector<ExprId> to_exprs(ExprPool& pool, std::span<const Affine> forms, const Domain& domain) {
  std::vector<ExprId> made;
  made.reserve(forms.size());
  for (const Affine& form : forms) made.push_back(to_expr(pool, form, domain));
  return made;
}

}  // namespace adjit::graph
