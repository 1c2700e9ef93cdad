// autosched/moves/split_residues.cpp -- one output axis taken apart by its residues, so that
// divisions by it disappear.
//
//   dX[l] = sum over r of dY[(l + 1) // 2 - r] * w[...], l < 56, by residues modulo 2, l = 2 q + p:
//   R[p, q] = sum over r of dY[q + (p + 1) // 2 - r] * w[...];   dX[l] = R[l % 2, l // 2].
// Along q the reads are contiguous, and conditions on the residue are conditions on p alone. Where
// residues are what groups have in common (j = 8 q + p is channel p of group q), they stand just
// behind the quotient, and what is put together lies as it did.
#include <numeric>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// The domain over the outputs, with the quotient in place of the axis and the residue at `place`,
// and the reductions.
Domain residue_domain(ExprPool& pool, const Domain& domain, size_t axis, int64_t modulus,
                      size_t place, std::span<const ExprId> now) {
  Domain box;
  box.extents = domain.extents;
  box.extents[axis] = ceil_div(domain.extents[axis], modulus);
  box.extents.insert(box.extents.begin() + static_cast<std::ptrdiff_t>(place), modulus);
  box.output_rank = domain.output_rank + 1;
  Domain result = with_rows_of(pool, domain, std::move(box), now);
  if (domain.extents[axis] % modulus != 0)
    result.inequalities.push_back(Affine::variable(place, -1, domain.extents[axis] - 1) -
                                  Affine::variable(axis < place ? axis : axis + 1, modulus));
  return result;
}

// Coefficients of the axis in the divisions that a form uses: the modulus under which they are
// whole multiples of the divisor. 0 when the axis stands inside a division of a division.
int64_t modulus_of(const Domain& domain, const Affine& form, size_t axis) {
  int64_t modulus = 1;
  for (size_t v = domain.rank(); v < form.size(); ++v) {
    if (form.coefficient(v) == 0) continue;
    const Division& division = domain.divisions[v - domain.rank()];
    if (modulus_of(domain, division.numerator, axis) != 1) return 0;
    const int64_t scale = division.numerator.coefficient(axis);
    if (scale % division.divisor == 0) continue;
    modulus = std::lcm(modulus, division.divisor / std::gcd(scale, division.divisor));
  }
  return modulus;
}

}  // namespace

int64_t residue_modulus(const Graph& graph, const Stage& stage, size_t axis) {
  int64_t modulus = 1;
  const auto join = [&](const Domain& domain, const Affine& form) {
    const int64_t m = modulus_of(domain, form, axis);
    modulus = m == 0 || modulus == 0 ? 0 : std::lcm(modulus, m);
    if (modulus > kLargestGroup) modulus = 0;
  };
  for (const Affine& row : stage.domain.inequalities) join(stage.domain, row);
  for (const Affine& row : stage.domain.equalities) join(stage.domain, row);
  for (ExprId read : reads_of(graph, stage)) {
    const IndexMap map = index_map(graph.pool, graph.pool.read_index(read), stage.domain);
    for (const std::optional<Affine>& form : map.forms)
      if (form) join(map.domain, *form);
  }
  return modulus;
}

Program split_residues(Program program, size_t stage, size_t axis, int64_t modulus, bool inside) {
  const Move move = begin_move("split_residues", program, stage);
  const Stage& whole = move.stage_ref();
  move.require(whole.kind == StageKind::Compute && !running_of(program.graph, whole),
               "only compute stages have output axes that can be taken apart");
  move.require(axis < whole.domain.output_rank, "that is not an output axis");
  move.require(modulus >= 2 && modulus <= whole.domain.extents[axis],
               "there must be 2 residues to one a point");
  move.own_kernel("take it apart before attaching it or others to it");
  ExprPool& pool = program.graph.pool;
  std::vector<ExprId> now;
  const size_t place = inside ? axis + 1 : std::min<size_t>(axis, 1);  // of the residues
  for (size_t a = 0; a < whole.domain.rank(); ++a) now.push_back(pool.axis(a < place ? a : a + 1));
  now[axis] = pool.add(pool.mul(now[axis], pool.constant_int(modulus)), pool.axis(place));

  Stage residues = whole;
  residues.domain = residue_domain(pool, whole.domain, axis, modulus, place, now);
  const std::vector<int64_t> shape(
      residues.domain.extents.begin(),
      residues.domain.extents.begin() + static_cast<std::ptrdiff_t>(residues.domain.output_rank));
  std::vector<ExprId> index;
  for (size_t a = 0; a < whole.domain.output_rank; ++a) index.push_back(pool.axis(a));
  index[axis] = pool.make(Op::FloorDiv, {pool.axis(axis), pool.constant_int(modulus)});
  index.insert(index.begin() + static_cast<std::ptrdiff_t>(place),
               pool.make(Op::Mod, {pool.axis(axis), pool.constant_int(modulus)}));
  std::vector<ExprId> joined;
  for (size_t k = 0; k < whole.bodies.size(); ++k) {
    residues.bodies[k] = body_at(pool, whole.bodies[k], now, {});
    const TensorInfo info = program.graph.info(whole.results[k]);
    residues.results[k] = add_tensor(program.graph, info.name + "_residues", info.dtype, shape);
    joined.push_back(pool.read(residues.results[k], info.dtype, index));
  }
  Stage& last = program.graph.stages[stage];  // was the whole one until here
  last.domain.extents.resize(last.domain.output_rank);
  last.domain.divisions.clear();
  last.domain.inequalities.clear();
  last.domain.equalities.clear();
  last.combiner = {};
  last.bodies = std::move(joined);
  reset_nest(program, stage);
  insert_stage(program, stage, std::move(residues));
  const Move moved{move.name, program, stage + 1};
  moved.record({{"axis", axis}, {"modulus", modulus}, {"inside", inside}});
  return program;
}

}  // namespace adjit::sched
