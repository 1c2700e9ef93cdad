// autosched/gpu/products/products.cpp -- the moves that make a product of a contraction.
#include "autosched/gpu/products/products.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <utility>

#include "autosched/analysis/access.hpp"
#include "autosched/gpu/loops/pointwise_reader.hpp"
#include "autosched/gpu/products/contraction.hpp"
#include "autosched/gpu/products/product.hpp"
#include "autosched/gpu/products/product_tile.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/zero_factors.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/points.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/diff/rewrite/factors.hpp"

namespace adjit::sched {
namespace {

// Whether a stage is a sum of products, and a plain kernel.
bool may_be_product(const Program& program, size_t s) {
  const Stage& stage = program.graph.stages[s];
  if (stage.kind != StageKind::Compute || running_of(program.graph, stage) ||
      !is_product_sum(program.graph, stage))
    return false;
  return is_plain_kernel(program, s);
}

// A contraction, and the stages behind it that put its results where they were, as one.
struct Rewriting {
  Program program;
  size_t stage = 0;
  bool moved = false;

  const Stage& contraction() const { return program.graph.stages[stage]; }
  // After a move that has put such a stage behind the contraction.
  void join_moves() {
    const size_t between[] = {stage + 1};
    if (moved) program = inline_stages(std::move(program), between);
    moved = true;
  }
};

// By what an output axis is to be taken apart, where operands divide it; 0: not at all.
int64_t residues_of(const LoweredGraph& graph, const Stage& stage, size_t axis) {
  const Accesses accesses = accesses_of(graph, stage);
  bool divided = false;
  for (const MemoryAccess& read : accesses.reads) {
    if (!read.depends_on(axis) || read.by_data[axis]) return 0;
    divided |= read.irregular[axis];
  }
  if (!divided) return 0;
  const int64_t modulus = residue_modulus(graph, stage, axis);
  return modulus >= 2 && 2 * modulus <= stage.domain.extents[axis] ? modulus : 0;
}

// Axes that one operand divides, and the other one has the remainder of, are two: of a strided
// adjoint, the images of each residue are a batch, as groups are, whose channels stand together.
// Returns the axes of residues that are no groups' channels.
std::vector<size_t> split_divided_axes(Rewriting& rewriting) {
  std::vector<size_t> residues;
  for (size_t axis = 0; axis < rewriting.contraction().domain.output_rank; ++axis) {
    const int64_t modulus = residues_of(rewriting.program.graph, rewriting.contraction(), axis);
    if (modulus == 0) continue;
    const bool inside = modulus > kLargestResidue;
    rewriting.program =
        split_residues(std::move(rewriting.program), rewriting.stage, axis, modulus, inside);
    rewriting.join_moves();
    const size_t place = inside ? axis + 1 : std::min<size_t>(axis, 1);
    for (size_t& residue : residues) residue += residue >= place ? 1 : 0;
    if (!inside) residues.push_back(place);
    ++axis;  // there is one more
  }
  return residues;
}

// Sums that another stage puts together.
struct Parts {
  Program program;
  std::vector<TensorId> results;
};

// A stage for each residue, over the terms that it has: of a filter of three taps and stride two,
// one residue has two and the other one. The stage behind the contraction takes each result from
// its stage.
Parts split_by_residues(Rewriting rewriting, std::vector<size_t> axes) {
  std::ranges::sort(axes, std::ranges::greater{});
  Parts parts{std::move(rewriting.program), {}};
  Program& program = parts.program;
  parts.results.push_back(program.graph.stages[rewriting.stage].results.front());
  for (const size_t axis : axes) {
    std::vector<TensorId> points;
    for (const TensorId whole : parts.results) {
      const size_t s = defining_stages(program.graph)[whole.value];
      const size_t before = program.graph.stages.size();
      program = split_points(std::move(program), s, axis);
      const size_t made = program.graph.stages.size() - before;
      for (size_t k = 0; k < made; ++k)
        points.push_back(program.graph.stages[s + k].results.front());
      const size_t joining[] = {s + made};
      program = inline_stages(std::move(program), joining);
    }
    parts.results = std::move(points);
  }
  return parts;
}

// Whether some residues have fewer terms than others. As a batch of equal sums they would have
// zeros of the filter for those that they lack, and zero times a cotangent that is no number is
// none.
bool have_fewer_terms(const Parts& parts, const Stage& whole) {
  const std::vector<size_t> stages = defining_stages(parts.program.graph);
  double terms = 0;
  for (const TensorId part : parts.results)
    terms += box_points(parts.program.graph.stages[stages[part.value]].domain);
  return terms < box_points(whole.domain);
}

// Moves the output axes into this order, those behind the first that is out of order to the end,
// one by one.
void put_in_order(Rewriting& rewriting, const std::vector<size_t>& order) {
  std::vector<size_t> now(order.size());
  std::iota(now.begin(), now.end(), size_t{0});
  for (size_t p = static_cast<size_t>(std::ranges::is_sorted_until(order) - order.begin());
       p < order.size() && now != order; ++p) {
    const auto at = std::ranges::find(now, order[p]);
    if (at + 1 == now.end()) continue;
    rewriting.program = transpose_output(std::move(rewriting.program), rewriting.stage,
                                         static_cast<size_t>(at - now.begin()));
    rewriting.join_moves();
    std::rotate(at, at + 1, now.end());
  }
}

void fuse_outputs(Rewriting& rewriting, size_t first, size_t count) {
  for (; count > 1; --count) {
    rewriting.program = fuse_axes(std::move(rewriting.program), rewriting.stage, first);
    rewriting.join_moves();
  }
}

void fuse_reductions(Rewriting& rewriting) {
  while (rewriting.contraction().domain.reduction_rank() > 1) {
    const size_t first = rewriting.contraction().domain.output_rank;
    rewriting.program = fuse_axes(std::move(rewriting.program), rewriting.stage, first);
  }
}

// Whether an operand is one read, at axes of the stage, under no conditions.
bool is_plain(const ExprPool& pool, const Stage& stage, const Operand& operand) {
  const diff::Product product = factors_of(pool, stage.bodies.front());
  const diff::Factor& factor = product.factors[operand.factors.front()];
  if (product.negative || operand.factors.size() > 1 || factor.inverse) return false;
  ExprId read = factor.expr;
  if (pool.is(read, Op::Cast)) read = pool.operand(read, 0);
  if (!pool.is(read, Op::Read) || pool.read_predicate(read).valid()) return false;
  std::vector<bool> used(stage.domain.rank(), false);
  for (ExprId index : pool.read_index(read)) {
    if (!pool.is(index, Op::Axis) || used[pool.axis_number(index)]) return false;
    used[pool.axis_number(index)] = true;
  }
  return true;
}

// Whether rows that zeros may stand for mention no other axes than the operand's.
bool has_rows(const LoweredGraph& graph, const Stage& stage, const Operand& operand) {
  const Domain& domain = stage.domain;
  if (domain.is_box() || !rows_follow_from_reads(graph, stage)) return false;
  const auto inside = [&](const Affine& row) {
    std::vector<bool> used(domain.rank(), false);
    domain.mark_axes(row, used);
    return std::ranges::equal(used, operand.axes,
                              [](bool uses, bool moves) { return !uses || moves; });
  };
  return std::ranges::any_of(domain.inequalities, inside) ||
         std::ranges::any_of(domain.equalities, inside);
}

// Operands that are not plain become stages; then one that the rows are about, until none is left.
void materialize_operands(Rewriting& rewriting) {
  for (bool done = false; !done;) {
    const Stage& stage = rewriting.contraction();
    const LoweredGraph& graph = rewriting.program.graph;
    const std::optional<Contraction> contraction = contraction_of(graph, stage);
    if (!contraction)
      throw Error(ErrorCode::Schedule, "'" + stage_name(graph, stage) +
                                           "' has no two operands when its axes are joined");
    const Operand* next = nullptr;
    for (const Operand* operand : {&contraction->first, &contraction->second})
      if (!next && !is_plain(graph.pool, stage, *operand)) next = operand;
    for (const Operand* operand : {&contraction->first, &contraction->second})
      if (!next && has_rows(graph, stage, *operand)) next = operand;
    done = !next;
    if (done) continue;
    const std::vector<size_t> factors = next->factors;
    rewriting.program = materialize(std::move(rewriting.program), rewriting.stage, factors);
    ++rewriting.stage;
  }
}

// Neighbouring output axes, from `first` on.
struct Axes {
  size_t first = 0, count = 1;
};

// Whether a read goes on from one of these axes to the next as if they were one.
bool is_walked_as_one(const MemoryAccess& read, const Domain& domain, const Axes& axes) {
  for (size_t a = axes.first; a < axes.first + axes.count; ++a) {
    if (read.irregular[a]) return false;
    if (a > axes.first && read.strides[a - 1] != read.strides[a] * domain.extents[a]) return false;
  }
  return true;
}

// Whether a kernel of its own does.
bool reads_in_a_kernel(const Program& program, size_t reader, TensorId tensor) {
  return is_plain_kernel(program, reader) &&
         reads_point_by_point(program.graph, program.graph.stages[reader], tensor);
}

// Whether it has one result and loses nothing when these axes are one.
bool may_join_axes(const Program& program, size_t reader, std::span<const Axes> joined) {
  const Stage& stage = program.graph.stages[reader];
  return stage.bodies.size() == 1 &&
         std::ranges::all_of(accesses_of(program.graph, stage).reads,
                             [&](const MemoryAccess& read) {
                               return std::ranges::all_of(joined, [&](const Axes& axes) {
                                 return is_walked_as_one(read, stage.domain, axes);
                               });
                             });
}

// A stage that alone reads a product point by point, in the shape that its results had, joins these
// axes, too: it may then be computed tile by tile with the product.
void join_axes_of_reader(Rewriting& rewriting, std::span<const Axes> joined) {
  const Program& before = rewriting.program;
  const TensorId shaped = before.graph.stages[rewriting.stage + 1].results.front();
  const std::vector<size_t>& readers = before.readers[shaped.value];
  if (before.scopes[shaped.value] != Scope::Workspace || readers.size() != 1 ||
      !reads_in_a_kernel(before, readers.front(), shaped) ||
      !may_join_axes(before, readers.front(), joined))
    return;
  const size_t reader = readers.front() - 1;  // once that one has gone
  const size_t between[] = {rewriting.stage + 1};
  rewriting.program = inline_stages(std::move(rewriting.program), between);
  Rewriting of_reader{std::move(rewriting.program), reader};
  for (const Axes& axes : joined) fuse_outputs(of_reader, axes.first, axes.count);
  rewriting.program = std::move(of_reader.program);
}

// Results that lie elsewhere than they are to need not be moved for stages that read each once.
void read_where_they_are(Rewriting& rewriting) {
  const Program& before = rewriting.program;
  const TensorId moved = before.graph.stages[rewriting.stage + 1].results.front();
  if (before.scopes[moved.value] != Scope::Workspace ||
      !std::ranges::all_of(before.readers[moved.value],
                           [&](size_t reader) { return reads_in_a_kernel(before, reader, moved); }))
    return;
  const size_t moving[] = {rewriting.stage + 1};
  rewriting.program = inline_stages(std::move(rewriting.program), moving);
}

bool divides_axes(const LoweredGraph& graph, const Stage& stage) {
  for (size_t axis = 0; axis < stage.domain.output_rank; ++axis)
    if (residues_of(graph, stage, axis) > 0) return true;
  return false;
}

std::optional<Arrangement> arrangement_of(const Rewriting& rewriting, bool reshapes) {
  const LoweredGraph& graph = rewriting.program.graph;
  const std::optional<Contraction> contraction = contraction_of(graph, rewriting.contraction());
  if (!contraction) return std::nullopt;
  return arrangement_of(graph, rewriting.contraction(), *contraction, reshapes);
}

Program as_product(Rewriting rewriting, const Arrangement& arrangement) {
  const size_t outputs = arrangement.order.size();
  const Axes joined[] = {{outputs - arrangement.n_axes, arrangement.n_axes},
                         {arrangement.m, arrangement.m_axes}};
  put_in_order(rewriting, arrangement.order);
  const bool elsewhere = rewriting.moved;
  for (const Axes& axes : joined) fuse_outputs(rewriting, axes.first, axes.count);
  fuse_reductions(rewriting);
  materialize_operands(rewriting);
  if (elsewhere)
    read_where_they_are(rewriting);
  else if (rewriting.moved)
    join_axes_of_reader(rewriting, joined);
  return std::move(rewriting.program);
}

// Whether an operand is more than a read, or the cast of one.
bool is_computed(const ExprPool& pool, const Stage& stage, const Operand& operand) {
  if (operand.factors.size() > 1) return true;
  ExprId factor = factors_of(pool, stage.bodies.front()).factors[operand.factors.front()].expr;
  if (pool.is(factor, Op::Cast)) factor = pool.operand(factor, 0);
  return !pool.is(factor, Op::Read);
}

// Whether an operand has many values of few elements, as those of a kernel's pairs: what is read
// for it has fewer than a half of its points.
bool is_of_pairs(const LoweredGraph& graph, const Stage& stage, const Operand& operand) {
  double points = 1, read = 0;
  for (size_t a = 0; a < operand.axes.size(); ++a)
    if (operand.axes[a]) points *= static_cast<double>(stage.domain.extents[a]);
  const std::vector<diff::Factor> factors = factors_of(graph.pool, stage.bodies.front()).factors;
  std::vector<ExprId> roots;
  for (const size_t f : operand.factors) roots.push_back(factors[f].expr);
  const std::vector<ExprId> nodes = reachable(graph.pool, roots);
  for (const MemoryAccess& access : accesses_of(graph, stage).reads)
    if (std::ranges::find(nodes, access.read) != nodes.end())
      read += elements_touched(access, stage.domain);
  return 2 * read < points;
}

// Whether one of m and n is so short that a kernel which computes values where it multiplies them
// (register_tile.hpp) takes less than one whose blocks do so for shared memory: values of pairs,
// and where tiles are too few for all multiprocessors.
bool computes_for_few(const Rewriting& rewriting, const Arrangement& arrangement) {
  const LoweredGraph& graph = rewriting.program.graph;
  const Stage& stage = rewriting.contraction();
  const auto points = [&](size_t first, size_t end) {
    double all = 1;
    for (size_t p = first; p < end; ++p)
      all *= static_cast<double>(stage.domain.extents[arrangement.order[p]]);
    return all;
  };
  const size_t outputs = arrangement.order.size();
  const double m = points(arrangement.m, arrangement.m + arrangement.m_axes),
               n = points(outputs - arrangement.n_axes, outputs);
  if (std::min(m, n) >= kLeastResults) return false;
  const Contraction contraction = *contraction_of(graph, stage);
  // Guesses: terms of a part of a sum that blocks share, and results of a thread, beside which
  // values that it computes take all registers.
  constexpr double kLeastTerms = 256, kFew = 8;
  const double tiles = points(0, outputs) / std::min(m, n) / kLeastBesideFew *
                       std::max(1.0, terms_of(stage.domain) / kLeastTerms);
  const auto* machine = std::get_if<GpuMachine>(&rewriting.program.target);
  const bool few = std::min(m, n) < kFew || (machine && 2 * tiles < machine->multiprocessors);
  return std::ranges::any_of(std::array{&contraction.first, &contraction.second},
                             [&](const Operand* operand) {
                               return is_computed(graph.pool, stage, *operand) &&
                                      (few || is_of_pairs(graph, stage, *operand));
                             });
}

// The program with a contraction as a product, if that is worth it.
Program undivided_product(Rewriting rewriting, bool reshapes) {
  const std::optional<Arrangement> arrangement = arrangement_of(rewriting, reshapes);
  return arrangement && !computes_for_few(rewriting, *arrangement)
             ? as_product(std::move(rewriting), *arrangement)
             : std::move(rewriting.program);
}

// The same of one that divides axes: as a product of each residue, or of all as batches.
Program divided_product(Program program, size_t s) {
  Rewriting rewriting{program, s};
  const std::vector<size_t> residues = split_divided_axes(rewriting);
  const std::optional<Arrangement> arrangement = arrangement_of(rewriting, true);
  if (!arrangement) return program;
  if (residues.empty()) return as_product(std::move(rewriting), *arrangement);
  Parts parts = split_by_residues(rewriting, residues);
  if (!have_fewer_terms(parts, rewriting.contraction()))
    return as_product(std::move(rewriting), *arrangement);
  for (const TensorId part : parts.results) {
    const size_t stage = defining_stages(parts.program.graph)[part.value];
    parts.program = undivided_product({std::move(parts.program), stage}, true);
  }
  return std::move(parts.program);
}

Program product_made(Program program, size_t s, bool reshapes) {
  if (reshapes && divides_axes(program.graph, program.graph.stages[s]))
    return divided_product(std::move(program), s);
  return undivided_product({std::move(program), s}, reshapes);
}

}  // namespace

Program make_products(Program program, bool reshapes, Attempts& attempts) {
  // From the last one on: stages that come in stand behind those that are left.
  for (size_t s = program.graph.stages.size(); s-- > 0;) {
    if (!may_be_product(program, s)) continue;
    const std::string& name = stage_name(program.graph, program.graph.stages[s]);
    attempts(program, "product '" + name + "'",
             [&](Program& p) { p = product_made(std::move(p), s, reshapes); });
  }
  return program;
}

}  // namespace adjit::sched
