// runtime/graph/parse/statement_builder.cpp -- pointwise statements and scatters to stages.
#include "runtime/graph/parse/statement_builder.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/affine_constraint.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/parse/statement_domain.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

Op accumulation_of(CombinerKind kind) {
  switch (kind) {
    case CombinerKind::Sum: return Op::Add;
    case CombinerKind::Product: return Op::Mul;
    case CombinerKind::Max: return Op::Max;
    case CombinerKind::Min: return Op::Min;
    case CombinerKind::Any: return Op::Or;
    case CombinerKind::All: return Op::And;
    default: return Op::Constant;
  }
}

// A pointwise statement as far as it is built.
struct PointwiseState {
  PointwiseState(Block& around, const StatementSyntax& built)
      : block(around), scope(around.scope), statement(built), expressions(around.scope) {
    const auto old = scope.tensors.find(built.results[0].text);
    if (old != scope.tensors.end() && built.results.size() == 1) {
      existing = old->second;
      existing_shape = scope.graph->info(existing).shape;
    }
  }

  Block& block;
  const SymbolTable& scope;
  const StatementSyntax& statement;
  ExpressionContext expressions;
  TensorId existing;  // the tensor of the result's name so far
  std::vector<int64_t> existing_shape;
  StatementDomain domain;
};

[[noreturn]] void fail(const PointwiseState& b, const std::string& message) {
  b.scope.fail(b.statement.offset, message);
}

void check_components(const PointwiseState& b) {
  const CombinerKind kind = b.statement.combiner;
  const size_t n = b.statement.results.size();
  if (b.statement.bodies.size() != n)
    fail(b, "the left-hand side has " + std::to_string(n) + " results, the right-hand side " +
                std::to_string(b.statement.bodies.size()) + " values");
  if ((kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin) && n != 2)
    fail(b, std::string(name_of(kind)) + " needs (value, index)(...) on the left");
  if (kind == CombinerKind::Custom &&
      (b.statement.combine.size() != n || b.statement.arguments.size() != 2 * n ||
       b.statement.identity.size() != n))
    fail(b,
         "custom=! needs `combine (a, ...), (b, ...) -> (...)` and `identity (...)`, one of each "
         "per result");
  if (n > 1 && b.statement.fresh == false) fail(b, "a tuple cannot be accumulated onto: use =!");
}

ExprPool& pool_of(PointwiseState& b) { return b.scope.graph->pool; }

// Axes with their shifts, then named values of `where`, then lets.
void name_variables(PointwiseState& b) {
  for (size_t k = 0; k < b.domain.indices.size(); ++k) {
    const ExprId axis = pool_of(b).axis(k);
    b.expressions.variables[b.domain.indices[k].text] =
        b.domain.shifts[k] == 0 ? axis
                                : pool_of(b).add(axis, pool_of(b).constant_int(b.domain.shifts[k]));
  }
  for (const WhereSyntax& w : b.statement.where)
    if (w.kind == WhereSyntax::Kind::Let)
      b.expressions.variables[w.name] = build_expression(b.expressions, w.first);
  for (const LetSyntax& let : b.statement.lets)
    b.expressions.variables[let.name] = build_expression(b.expressions, let.value);
}

// Whether an index is the int32 by which derivatives number points: of positions, not of data,
// which may be any int32.
bool numbers_points(PointwiseState& b, ExprId index) {
  if (!pool_of(b).is(index, Op::Cast) || pool_of(b).dtype(index) != DType::Int32) return false;
  const ExprId roots[] = {index};
  return std::ranges::none_of(reachable(pool_of(b), roots),
                              [&](ExprId id) { return pool_of(b).is(id, Op::Read); });
}

ExprId build_body(PointwiseState& b, size_t k) {
  const CombinerKind kind = b.statement.combiner;
  const SyntaxId root = b.statement.bodies[k];
  const bool index = k == 1 && (kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin);
  std::optional<DType> wanted;
  if (b.statement.type)
    wanted = b.statement.type->dtype;
  else if (b.existing.valid())
    wanted = b.scope.graph->info(b.existing).dtype;
  if (index) wanted = DType::Int64;
  const ExprId built = wanted ? build_expression(b.expressions, root, *wanted)
                              : build_expression(b.expressions, root);
  if (index && numbers_points(b, built)) return built;
  return b.statement.type || index ? pool_of(b).cast(built, *wanted) : built;
}

ExprId asked_conditions(PointwiseState& b) {
  ExprId all = pool_of(b).constant_int(1, DType::Bool);
  for (SyntaxId condition : b.domain.asked)
    all = pool_of(b).logical_and(all, build_expression(b.expressions, condition));
  return all;
}

// Conditions that are no rows of the domain: where one fails, a point adds nothing.
void ask_conditions(PointwiseState& b, Stage& s) {
  if (b.domain.asked.empty()) return;
  const CombinerKind kind = s.combiner.kind;
  const bool sets = b.domain.scatter && kind == CombinerKind::None;
  if (sets || kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin)
    b.scope.fail(b.scope.node(b.domain.asked[0]).offset,
                 "a side of this comparison leaves 64 bits, and " +
                     std::string(sets ? "a scatter that sets" : name_of(kind)) +
                     " leaves out no point by such a condition: compare smaller numbers");
  const ExprId holds = asked_conditions(b);
  for (size_t k = 0; k < s.bodies.size(); ++k) {
    const DType dtype = pool_of(b).dtype(s.bodies[k]);
    const ExprId nothing = kind == CombinerKind::Custom ? s.combiner.identity[k]
                                                        : identity_of(pool_of(b), kind, dtype);
    s.bodies[k] = pool_of(b).select(holds, s.bodies[k], pool_of(b).cast(nothing, dtype));
  }
}

void build_custom(PointwiseState& b, Stage& s) {
  ExpressionContext combine(b.scope);
  const size_t n = s.bodies.size();
  const auto dtype = [&](size_t k) { return accumulator_of(pool_of(b).dtype(s.bodies[k % n])); };
  for (size_t k = 0; k < 2 * n; ++k)
    combine.variables[b.statement.arguments[k].text] = pool_of(b).argument(k, dtype(k));
  for (const LetSyntax& let : b.statement.combine_lets)
    combine.variables[let.name] = build_expression(combine, let.value);
  for (size_t k = 0; k < n; ++k) {
    s.combiner.combine.push_back(build_expression(combine, b.statement.combine[k], dtype(k)));
    const ExprId identity = build_expression(combine, b.statement.identity[k], dtype(k));
    if (!pool_of(b).is(identity, Op::Constant)) fail(b, "the identity must be constant");
    s.combiner.identity.push_back(identity);
  }
}

Stage build_stage(PointwiseState& b) {
  Stage s;
  s.domain = b.domain.domain;
  s.combiner.kind = b.statement.combiner;
  s.combiner.ties = b.statement.ties;
  for (size_t k = 0; k < b.statement.bodies.size(); ++k) s.bodies.push_back(build_body(b, k));
  if (b.statement.combiner == CombinerKind::Custom) build_custom(b, s);
  ask_conditions(b, s);
  s.out_of_range = b.statement.mode;
  s.stop_gradient = b.statement.stop_gradient;
  s.region = b.block.region(b.statement);
  s.lines = b.block.lines(b.statement.offset);
  return s;
}

// A tensor of the result's shape at the indices on the left.
ExprId here(PointwiseState& b, TensorId tensor) {
  std::vector<ExprId> index;
  for (size_t k = 0; k < b.existing_shape.size(); ++k) index.push_back(pool_of(b).axis(k));
  return pool_of(b).read(tensor, b.scope.graph->info(tensor).dtype, index);
}

template <class Merge>
void merge(PointwiseState& b, Stage s, Merge&& merged) {
  const DType dtype = b.scope.graph->info(b.existing).dtype;
  s.bodies[0] = pool_of(b).cast(s.bodies[0], dtype);
  const std::string name(b.statement.results[0].text);
  const TensorId part = b.block.temporary(name + "_part", dtype, b.existing_shape);
  s.results = {part};
  Stage join;
  join.domain.extents = b.existing_shape;
  join.domain.output_rank = b.existing_shape.size();
  join.lines = s.lines;
  join.stop_gradient = s.stop_gradient;
  join.region = s.region;
  join.bodies = {merged(here(b, b.existing), here(b, part))};
  b.scope.graph->stages.push_back(std::move(s));
  join.results = {b.block.declare(b.statement.results[0], dtype, b.existing_shape)};
  b.scope.graph->stages.push_back(std::move(join));
}

// "+=" onto a tensor: the statement's own reduction, then one addition per element.
void accumulate(PointwiseState& b, Stage s) {
  const Op op = accumulation_of(s.combiner.kind);
  if (op == Op::Constant)
    fail(b, std::string(name_of(s.combiner.kind)) + " cannot continue from a tensor: use =!");
  const auto combined = [&](ExprId old, ExprId now) {
    const DType stored = pool_of(b).dtype(old), computed = accumulator_of(stored);
    const ExprId both =
        pool_of(b).make(op, {pool_of(b).cast(old, computed), pool_of(b).cast(now, computed)});
    return pool_of(b).cast(both, stored);
  };
  if (s.domain.reduction_rank() > 0 || !s.domain.is_box()) return merge(b, std::move(s), combined);
  s.combiner.kind = CombinerKind::None;
  const DType dtype = b.scope.graph->info(b.existing).dtype;
  s.bodies[0] = combined(here(b, b.existing), pool_of(b).cast(s.bodies[0], dtype));
  s.results = {b.block.declare(b.statement.results[0], dtype, b.existing_shape)};
  b.scope.graph->stages.push_back(std::move(s));
}

// "=" on a part of a tensor: the rest keeps its values.
void overwrite(PointwiseState& b, Stage s) {
  const Domain domain = s.domain;
  merge(b, std::move(s), [&](ExprId old, ExprId now) {
    ExprId inside = asked_conditions(b);
    for (const auto* rows : {&domain.inequalities, &domain.equalities})
      for (const Affine& row : *rows)
        inside = pool_of(b).logical_and(
            inside, to_condition(pool_of(b), row, rows == &domain.equalities, domain));
    return pool_of(b).select(inside, now, old);
  });
}

void add_compute_stage(PointwiseState& b, bool keeps) {
  Stage s = build_stage(b);
  if (keeps && s.combiner.kind != CombinerKind::None) return accumulate(b, std::move(s));
  if (keeps && b.domain.partial) return overwrite(b, std::move(s));
  const std::vector<int64_t> shape(
      s.domain.extents.begin(), s.domain.extents.begin() + static_cast<long>(b.domain.left_count));
  if (b.statement.type && !b.statement.type->extents.empty() &&
      b.block.extents(*b.statement.type) != shape)
    throw Error(ErrorCode::Shape,
                located(*b.scope.source, b.statement.offset,
                        "the declared shape is not the one that the ranges of the indices give"));
  for (size_t k = 0; k < s.bodies.size(); ++k)
    s.results.push_back(
        b.block.declare(b.statement.results[k], pool_of(b).dtype(s.bodies[k]), shape));
  b.scope.graph->stages.push_back(std::move(s));
}

void add_scatter_stage(PointwiseState& b, bool keeps) {
  if (b.statement.results.size() != 1) fail(b, "a scatter has one result");
  const CombinerKind kind = b.statement.combiner;
  if (kind != CombinerKind::None && accumulation_of(kind) == Op::Constant)
    fail(b, "a scatter cannot combine with " + std::string(name_of(kind)));
  Stage s = build_stage(b);
  s.kind = StageKind::Scatter;
  for (SyntaxId index : b.statement.left) s.target.push_back(build_index(b.expressions, index));
  if (b.statement.from)
    s.initial = b.block.find(*b.statement.from);
  else if (keeps)
    s.initial = b.existing;
  std::vector<int64_t> shape;
  if (b.statement.type && b.statement.type->extents.size() == b.statement.left.size()) {
    shape = b.block.extents(*b.statement.type);
  } else if (s.initial.valid()) {
    shape = b.scope.graph->info(s.initial).shape;
  } else {
    fail(b, "the shape of a scatter's result is not inferred: declare it, as in float(N) " +
                std::string(b.statement.results[0].text) + "(...) " +
                std::string(spelling_of(kind)) + "=! ...");
  }
  if (shape.size() != b.statement.left.size())
    fail(b, "the result has " + std::to_string(shape.size()) + " dimensions but is written with " +
                std::to_string(b.statement.left.size()) + " indices");
  if (s.initial.valid()) {
    const TensorInfo& initial = b.scope.graph->info(s.initial);
    if (initial.shape != shape) fail(b, "a scatter and what it starts from differ in shape");
    s.bodies[0] = pool_of(b).cast(s.bodies[0], initial.dtype);
  }
  s.results = {b.block.declare(b.statement.results[0], pool_of(b).dtype(s.bodies[0]), shape)};
  b.scope.graph->stages.push_back(std::move(s));
}

void build_statement(PointwiseState& b) {
  check_components(b);
  // A fresh reduction forgets the old version; "=" and "+=" leave what they do not write.
  const bool keeps =
      b.existing.valid() && (!b.statement.fresh || b.statement.combiner == CombinerKind::None);
  b.domain = statement_domain(b.scope, b.statement, keeps ? &b.existing_shape : nullptr);
  name_variables(b);
  if (b.domain.scatter) return add_scatter_stage(b, keeps);
  if (b.statement.from) fail(b, "'from' belongs to a scatter");
  if (b.statement.combiner == CombinerKind::None && b.domain.domain.reduction_rank() > 0)
    b.scope.fail(b.domain.indices[b.domain.left_count].offset,
                 "'" + std::string(b.domain.indices[b.domain.left_count].text) +
                     "' stands only on the right of '=': reduce over it with +=!, max=!, ...");
  add_compute_stage(b, keeps);
}

}  // namespace

void build_pointwise(Block& block, const StatementSyntax& statement) {
  PointwiseState state(block, statement);
  build_statement(state);
}

std::string Block::numbered(const std::string& name) {
  size_t& next = numbers[name];
  std::string unique;
  do {
    unique = name + "_" + std::to_string(next++);
  } while (!names.insert(unique).second);
  return unique;
}

TensorId Block::temporary(const std::string& name, DType dtype, std::vector<int64_t> shape) {
  std::string unique = names.insert(name).second ? name : numbered(name);
  scope.graph->tensors.push_back({std::move(unique), dtype, std::move(shape)});
  return TensorId{static_cast<uint32_t>(scope.graph->tensors.size() - 1)};
}

TensorId Block::declare(const NameSyntax& name, DType dtype, std::vector<int64_t> shape) {
  Graph& graph = *scope.graph;
  const auto old = scope.tensors.find(name.text);
  if (old != scope.tensors.end()) {
    if (std::ranges::find(graph.inputs, old->second) != graph.inputs.end())
      scope.fail(name.offset, "'" + std::string(name.text) +
                                  "' is an input and cannot be written: choose another name");
    graph.tensors[old->second.value].name = numbered(std::string(name.text));
    scope.tensors.erase(old);
    names.erase(std::string(name.text));
  }
  if (scope.symbols.contains(name.text))
    scope.fail(name.offset, "'" + std::string(name.text) + "' is an extent already");
  const TensorId id = temporary(std::string(name.text), dtype, std::move(shape));
  scope.tensors.emplace(name.text, id);
  return id;
}

TensorId Block::find(const NameSyntax& name) const {
  const auto at = scope.tensors.find(name.text);
  if (at == scope.tensors.end())
    scope.fail(name.offset, "there is no tensor '" + std::string(name.text) + "'");
  return at->second;
}

std::vector<SourceLine> Block::lines(uint32_t offset) const {
  return {{std::string(scope.source->name), position_of(*scope.source, offset).line,
           std::string(definition)}};
}

uint32_t Block::region(const StatementSyntax& statement) const {
  if (!statement.region) return 0;
  const int64_t region = evaluate_integer(scope, *statement.region);
  if (region < 0 || region > INT32_MAX)
    scope.fail(statement.offset, "this is no number of a region");
  return static_cast<uint32_t>(region);
}

std::vector<int64_t> Block::extents(const TypeSyntax& type) const {
  std::vector<int64_t> list;
  for (SyntaxId extent : type.extents) {
    list.push_back(evaluate_integer(scope, extent));
    if (list.back() < 0) scope.fail(scope.node(extent).offset, "an extent is negative");
  }
  return list;
}

}  // namespace adjit::graph
