// runtime/graph/index_map.hpp -- indices as values: affine forms, and the domain that they are
// over.
//
// A form may need divisions that the domain of its stage does not have. The answer holds the domain
// with them, and the domain that was asked about stays as it is. Over 0 <= i < 8, 0 <= j < 4 the
// read x[(i + 1) // 2, j, p[i]] has the forms d0, j and none, where d0 = floor((i + 1) / 2).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {

/// One index as a form over `domain`, the domain asked about with the divisions that making the
/// form added, of which it may not use all.
struct IndexForm {
  Affine form;
  Domain domain;
};

/// As as_affine: nullopt for an index that is not quasi-affine, or whose value may leave int64.
std::optional<IndexForm> index_form(const ExprPool& pool, ExprId index, Domain domain);

/// The indices of a read, or of a scatter's target, as forms over one domain.
struct IndexMap {
  Domain domain;                             // the domain asked about, with divisions likewise
  std::vector<std::optional<Affine>> forms;  // one per index; nullopt: as in index_form
  /// Whether every index has a form.
  bool is_affine() const;
};

IndexMap index_map(const ExprPool& pool, std::span<const ExprId> index, Domain domain);

/// A form over the axes of a tensor at the point that `index` reads, as a form over the domain: 2 *
/// axis 0 + axis 2 at x[i, j, i + k] is 3 i + k. Only the indices that the form uses count. nullopt
/// where one of them has no form, or the sum has numbers of more than 64 bits.
std::optional<IndexForm> at_index(const ExprPool& pool, const Affine& form,
                                  std::span<const ExprId> index, Domain domain);

/// to_expr of each form.
std::vector<ExprId> to_exprs(ExprPool& pool, std::span<const Affine> forms, const Domain& domain);

}  // namespace adjit::graph
