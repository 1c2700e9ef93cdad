// autosched/program/graph_edit.cpp -- expressions at other points, stages that come and go.
#include "autosched/program/graph_edit.hpp"

#include <algorithm>

#include "autosched/program/limits.hpp"
#include "autosched/program/nests.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {

bool uses(const ExprPool& pool, ExprId expr, size_t axis) {
  const ExprId roots[] = {expr};
  return std::ranges::any_of(reachable(pool, roots), [&](ExprId id) {
    return pool.is(id, Op::Axis) && pool.axis_number(id) == axis;
  });
}

bool is_identity(const ExprPool& pool, std::span<const ExprId> index) {
  for (size_t k = 0; k < index.size(); ++k)
    if (!pool.is(index[k], Op::Axis) || pool.axis_number(index[k]) != k) return false;
  return true;
}

ExprId body_at(ExprPool& pool, ExprId body, std::span<const ExprId> index, ExprId predicate) {
  if (!predicate.valid() && is_identity(pool, index)) return body;
  // The pool grows meanwhile: the index may lie in it.
  const std::vector<ExprId> at(index.begin(), index.end());
  Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId> operands) {
    if (pool.is(leaf, Op::Axis)) return at.at(pool.axis_number(leaf));
    if (!pool.is(leaf, Op::Read) || !predicate.valid()) return ExprId{};
    const bool guarded = pool.read_predicate(leaf).valid();
    const std::vector<ExprId> coordinates(operands.begin(), operands.end() - (guarded ? 1 : 0));
    const ExprId both = guarded ? pool.logical_and(predicate, operands.back()) : predicate;
    return pool.read(pool.read_tensor(leaf), pool.dtype(leaf), coordinates, both);
  });
  return rebuild(body);
}

bool has_partial_results(CombinerKind kind) {
  return kind == CombinerKind::Sum || kind == CombinerKind::Product || kind == CombinerKind::Max ||
         kind == CombinerKind::Min || kind == CombinerKind::Any || kind == CombinerKind::All;
}

Domain with_rows_of(ExprPool& pool, const Domain& domain, Domain made,
                    std::span<const ExprId> now) {
  const auto rewritten = [&](const std::vector<Affine>& rows) {
    std::vector<ExprId> there = to_exprs(pool, rows, domain);
    for (ExprId& row : there) row = body_at(pool, row, now, {});
    IndexMap map = index_map(pool, there, std::move(made));
    if (!map.is_affine())
      throw Error(ErrorCode::Schedule, "a condition has numbers of more than 64 bits there");
    made = std::move(map.domain);
    std::vector<Affine> forms;
    for (std::optional<Affine>& form : map.forms) forms.push_back(std::move(*form));
    return forms;
  };
  std::vector<Affine> inequalities = rewritten(domain.inequalities);
  made.equalities = rewritten(domain.equalities);
  made.inequalities = std::move(inequalities);
  return made;
}

Op combining_op(CombinerKind kind, DType dtype) {
  switch (kind) {
    case CombinerKind::Product: return dtype == DType::Bool ? Op::BitAnd : Op::Mul;
    case CombinerKind::Max: return Op::Max;
    case CombinerKind::Min: return Op::Min;
    case CombinerKind::Any: return Op::Or;
    case CombinerKind::All: return Op::And;
    default: return dtype == DType::Bool ? Op::BitOr : Op::Add;
  }
}

void substitute_variables(Domain& domain, const std::vector<Affine>& now) {
  for (Division& d : domain.divisions) d.numerator = substitute(d.numerator, now);
  for (Affine& row : domain.inequalities) row = substitute(row, now);
  for (Affine& row : domain.equalities) row = substitute(row, now);
}

std::vector<Affine> whole_axes(const Domain& domain, size_t axis, int64_t chunk) {
  std::vector<Affine> axes;
  for (size_t a = 0; a < domain.rank(); ++a) axes.push_back(Affine::variable(a + 1));
  if (chunk == 1) axes[axis] = Affine();  // a part is one point
  axes[axis] += Affine::variable(0, chunk);
  return axes;
}

Domain partial_domain(const Domain& domain, size_t axis, int64_t parts, int64_t chunk) {
  Domain partial;
  partial.extents = domain.extents;
  partial.extents[axis] = chunk;
  partial.extents.insert(partial.extents.begin(), parts);
  partial.output_rank = domain.output_rank + 1;
  std::vector<Affine> now = whole_axes(domain, axis, chunk);
  for (const Division& d : domain.divisions) {
    partial.divisions.push_back({substitute(d.numerator, now), d.divisor});
    now.push_back(Affine::variable(now.size() + 1));
  }
  for (const Affine& row : domain.inequalities)
    partial.inequalities.push_back(substitute(row, now));
  for (const Affine& row : domain.equalities) partial.equalities.push_back(substitute(row, now));
  if (parts * chunk != domain.extents[axis])
    partial.inequalities.push_back(Affine(domain.extents[axis] - 1) - now[axis]);
  return partial;
}

namespace {

template <typename Renumber>
void renumber_stages(Program& program, Renumber&& renumber) {
  for (Kernel& kernel : program.kernels)
    for_each_nest(kernel.root, [&](Nest& nest) { nest.stage = renumber(nest.stage); });
}

void drop_attached(Nest& nest, const std::vector<bool>& dead) {
  std::erase_if(nest.attached, [&](const Nest::Attached& a) { return dead[a.nest.stage]; });
  for (Nest::Attached& attached : nest.attached) drop_attached(attached.nest, dead);
}

}  // namespace

void remove_stages(Program& program, std::span<const size_t> stages) {
  if (stages.empty()) return;
  std::vector<bool> dead(program.graph.stages.size(), false);
  for (size_t s : stages) {
    dead[s] = true;
    for (TensorId id : program.graph.stages[s].results) program.scopes[id.value] = Scope::None;
  }
  std::vector<size_t> now(dead.size());
  size_t kept = 0;
  for (size_t s = 0; s < dead.size(); ++s) {
    now[s] = kept;
    if (dead[s]) continue;
    if (kept != s) program.graph.stages[kept] = std::move(program.graph.stages[s]);
    ++kept;
  }
  program.graph.stages.resize(kept);
  forget_removed(program.graph);
  std::erase_if(program.kernels, [&](const Kernel& k) { return dead[k.root.stage]; });
  for (Kernel& kernel : program.kernels) drop_attached(kernel.root, dead);
  renumber_stages(program, [&](size_t s) { return now[s]; });
  index_readers(program);
}

// Rewritings that take axes apart can be repeated.
void require_few_axes(const Graph& graph, const Stage& stage) {
  if (stage.domain.rank() > kAxisLimit)
    throw Error(ErrorCode::Schedule, "'" + stage_name(graph, stage) + "' would have " +
                                         std::to_string(stage.domain.rank()) + " axes; at most " +
                                         std::to_string(kAxisLimit) + " are scheduled");
}

void insert_stage(Program& program, size_t at, Stage stage) {
  require_few_axes(program.graph, stage);
  program.scopes.resize(program.graph.tensors.size(), Scope::None);
  for (TensorId id : stage.results) program.scopes[id.value] = Scope::Workspace;
  renumber_stages(program, [&](size_t s) { return s >= at ? s + 1 : s; });
  program.graph.stages.insert(program.graph.stages.begin() + static_cast<std::ptrdiff_t>(at),
                              std::move(stage));
  Kernel kernel;
  kernel.root = plain_nest(program.graph, at, kernel.variable_count);
  const auto place = std::ranges::lower_bound(program.kernels, at, {},
                                              [](const Kernel& k) { return k.root.stage; });
  program.kernels.insert(place, std::move(kernel));
  index_readers(program);
}

void sort_stages(Program& program, std::span<const size_t> order) {
  std::vector<Stage> stages;
  std::vector<size_t> now(order.size());
  for (size_t k = 0; k < order.size(); ++k) {
    stages.push_back(std::move(program.graph.stages[order[k]]));
    now[order[k]] = k;
  }
  program.graph.stages = std::move(stages);
  renumber_stages(program, [&](size_t s) { return now[s]; });
  for (Kernel& kernel : program.kernels)
    for_each_nest(kernel.root, [](Nest& nest) {
      std::ranges::sort(nest.attached, {}, [](const Nest::Attached& attached) {
        return std::pair(attached.depth, attached.nest.stage);
      });
    });
  std::ranges::sort(program.kernels, {}, [](const Kernel& k) { return k.root.stage; });
  index_readers(program);
}

void reset_nest(Program& program, size_t stage) {
  require_few_axes(program.graph, program.graph.stages[stage]);
  const NestPath path = *find_nest(program, stage);
  Kernel& kernel = program.kernels[path.kernel];
  invariant(path.steps.empty() && kernel.root.attached.empty(),
            "a stage is rewritten that has others attached to it");
  kernel.variable_count = 0;
  kernel.root = plain_nest(program.graph, stage, kernel.variable_count);
}

}  // namespace adjit::sched
