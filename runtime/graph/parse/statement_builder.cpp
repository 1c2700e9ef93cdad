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

class PointwiseBuilder {
 public:
  PointwiseBuilder(Block& block, const StatementSyntax& statement)
      : block_(block), scope_(block.scope), statement_(statement), expressions_(block.scope) {
    const auto old = scope_.tensors.find(statement.results[0].text);
    if (old != scope_.tensors.end() && statement.results.size() == 1) {
      existing_ = old->second;
      existing_shape_ = scope_.graph->info(existing_).shape;
    }
  }

  void operator()() {
    check_components();
    // A fresh reduction forgets the old version; "=" and "+=" leave what they do not write.
    const bool keeps =
        existing_.valid() && (!statement_.fresh || statement_.combiner == CombinerKind::None);
    domain_ = statement_domain(scope_, statement_, keeps ? &existing_shape_ : nullptr);
    name_variables();
    if (domain_.scatter) return scatter(keeps);
    if (statement_.from) fail("'from' belongs to a scatter");
    if (statement_.combiner == CombinerKind::None && domain_.domain.reduction_rank() > 0)
      scope_.fail(domain_.indices[domain_.left_count].offset,
                  "'" + std::string(domain_.indices[domain_.left_count].text) +
                      "' stands only on the right of '=': reduce over it with +=!, max=!, ...");
    compute(keeps);
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    scope_.fail(statement_.offset, message);
  }
  ExprPool& pool() { return scope_.graph->pool; }

  void check_components() const {
    const CombinerKind kind = statement_.combiner;
    const size_t n = statement_.results.size();
    if (statement_.bodies.size() != n)
      fail("the left-hand side has " + std::to_string(n) + " results, the right-hand side " +
           std::to_string(statement_.bodies.size()) + " values");
    if ((kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin) && n != 2)
      fail(std::string(name_of(kind)) + " needs (value, index)(...) on the left");
    if (kind == CombinerKind::Custom &&
        (statement_.combine.size() != n || statement_.arguments.size() != 2 * n ||
         statement_.identity.size() != n))
      fail(
          "custom=! needs `combine (a, ...), (b, ...) -> (...)` and `identity (...)`, one of each "
          "per result");
    if (n > 1 && statement_.fresh == false) fail("a tuple cannot be accumulated onto: use =!");
  }

  // Axes with their shifts, then named values of `where`, then lets.
  void name_variables() {
    for (size_t k = 0; k < domain_.indices.size(); ++k) {
      const ExprId axis = pool().axis(k);
      expressions_.variables[domain_.indices[k].text] =
          domain_.shifts[k] == 0 ? axis : pool().add(axis, pool().constant_int(domain_.shifts[k]));
    }
    for (const WhereSyntax& w : statement_.where)
      if (w.kind == WhereSyntax::Kind::Let)
        expressions_.variables[w.name] = build_expression(expressions_, w.first);
    for (const LetSyntax& let : statement_.lets)
      expressions_.variables[let.name] = build_expression(expressions_, let.value);
  }

  ExprId body(size_t k) {
    const CombinerKind kind = statement_.combiner;
    const SyntaxId root = statement_.bodies[k];
    const bool index = k == 1 && (kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin);
    std::optional<DType> wanted;
    if (statement_.type)
      wanted = statement_.type->dtype;
    else if (existing_.valid())
      wanted = scope_.graph->info(existing_).dtype;
    if (index) wanted = DType::Int64;
    const ExprId built = wanted ? build_expression(expressions_, root, *wanted)
                                : build_expression(expressions_, root);
    if (index && numbers_points(built)) return built;
    return statement_.type || index ? pool().cast(built, *wanted) : built;
  }

  // Whether an index is the int32 by which derivatives number points: of positions, not of data,
  // which may be any int32.
  bool numbers_points(ExprId index) {
    if (!pool().is(index, Op::Cast) || pool().dtype(index) != DType::Int32) return false;
    const ExprId roots[] = {index};
    return std::ranges::none_of(reachable(pool(), roots),
                                [&](ExprId id) { return pool().is(id, Op::Read); });
  }

  Stage stage() {
    Stage s;
    s.domain = domain_.domain;
    s.combiner.kind = statement_.combiner;
    s.combiner.ties = statement_.ties;
    for (size_t k = 0; k < statement_.bodies.size(); ++k) s.bodies.push_back(body(k));
    if (statement_.combiner == CombinerKind::Custom) custom(s);
    ask_conditions(s);
    s.out_of_range = statement_.mode;
    s.stop_gradient = statement_.stop_gradient;
    s.region = block_.region(statement_);
    s.lines = block_.lines(statement_.offset);
    return s;
  }

  // Conditions that are no rows of the domain: where one fails, a point adds nothing.
  void ask_conditions(Stage& s) {
    if (domain_.asked.empty()) return;
    const CombinerKind kind = s.combiner.kind;
    const bool sets = domain_.scatter && kind == CombinerKind::None;
    if (sets || kind == CombinerKind::ArgMax || kind == CombinerKind::ArgMin)
      scope_.fail(scope_.node(domain_.asked[0]).offset,
                  "a side of this comparison leaves 64 bits, and " +
                      std::string(sets ? "a scatter that sets" : name_of(kind)) +
                      " leaves out no point by such a condition: compare smaller numbers");
    const ExprId holds = asked_conditions();
    for (size_t k = 0; k < s.bodies.size(); ++k) {
      const DType dtype = pool().dtype(s.bodies[k]);
      const ExprId nothing =
          kind == CombinerKind::Custom ? s.combiner.identity[k] : identity_of(pool(), kind, dtype);
      s.bodies[k] = pool().select(holds, s.bodies[k], pool().cast(nothing, dtype));
    }
  }

  ExprId asked_conditions() {
    ExprId all = pool().constant_int(1, DType::Bool);
    for (SyntaxId condition : domain_.asked)
      all = pool().logical_and(all, build_expression(expressions_, condition));
    return all;
  }

  void custom(Stage& s) {
    ExpressionContext combine(scope_);
    const size_t n = s.bodies.size();
    const auto dtype = [&](size_t k) { return accumulator_of(pool().dtype(s.bodies[k % n])); };
    for (size_t k = 0; k < 2 * n; ++k)
      combine.variables[statement_.arguments[k].text] = pool().argument(k, dtype(k));
    for (const LetSyntax& let : statement_.combine_lets)
      combine.variables[let.name] = build_expression(combine, let.value);
    for (size_t k = 0; k < n; ++k) {
      s.combiner.combine.push_back(build_expression(combine, statement_.combine[k], dtype(k)));
      const ExprId identity = build_expression(combine, statement_.identity[k], dtype(k));
      if (!pool().is(identity, Op::Constant)) fail("the identity must be constant");
      s.combiner.identity.push_back(identity);
    }
  }

  void compute(bool keeps) {
    Stage s = stage();
    if (keeps && s.combiner.kind != CombinerKind::None) return accumulate(std::move(s));
    if (keeps && domain_.partial) return overwrite(std::move(s));
    const std::vector<int64_t> shape(
        s.domain.extents.begin(), s.domain.extents.begin() + static_cast<long>(domain_.left_count));
    if (statement_.type && !statement_.type->extents.empty() &&
        block_.extents(*statement_.type) != shape)
      throw Error(ErrorCode::Shape,
                  located(*scope_.source, statement_.offset,
                          "the declared shape is not the one that the ranges of the indices give"));
    for (size_t k = 0; k < s.bodies.size(); ++k)
      s.results.push_back(block_.declare(statement_.results[k], pool().dtype(s.bodies[k]), shape));
    scope_.graph->stages.push_back(std::move(s));
  }

  // "+=" onto a tensor: the statement's own reduction, then one addition per element.
  void accumulate(Stage s) {
    const Op op = accumulation_of(s.combiner.kind);
    if (op == Op::Constant)
      fail(std::string(name_of(s.combiner.kind)) + " cannot continue from a tensor: use =!");
    const auto combined = [&](ExprId old, ExprId now) {
      const DType stored = pool().dtype(old), computed = accumulator_of(stored);
      const ExprId both = pool().make(op, {pool().cast(old, computed), pool().cast(now, computed)});
      return pool().cast(both, stored);
    };
    if (s.domain.reduction_rank() > 0 || !s.domain.is_box()) return merge(std::move(s), combined);
    s.combiner.kind = CombinerKind::None;
    const DType dtype = scope_.graph->info(existing_).dtype;
    s.bodies[0] = combined(here(existing_), pool().cast(s.bodies[0], dtype));
    s.results = {block_.declare(statement_.results[0], dtype, existing_shape_)};
    scope_.graph->stages.push_back(std::move(s));
  }

  // A tensor of the result's shape at the indices on the left.
  ExprId here(TensorId tensor) {
    std::vector<ExprId> index;
    for (size_t k = 0; k < existing_shape_.size(); ++k) index.push_back(pool().axis(k));
    return pool().read(tensor, scope_.graph->info(tensor).dtype, index);
  }

  // "=" on a part of a tensor: the rest keeps its values.
  void overwrite(Stage s) {
    const Domain domain = s.domain;
    merge(std::move(s), [&](ExprId old, ExprId now) {
      ExprId inside = asked_conditions();
      for (const auto* rows : {&domain.inequalities, &domain.equalities})
        for (const Affine& row : *rows)
          inside = pool().logical_and(
              inside, to_condition(pool(), row, rows == &domain.equalities, domain));
      return pool().select(inside, now, old);
    });
  }

  template <class Merge>
  void merge(Stage s, Merge&& merged) {
    const DType dtype = scope_.graph->info(existing_).dtype;
    s.bodies[0] = pool().cast(s.bodies[0], dtype);
    const std::string name(statement_.results[0].text);
    const TensorId part = block_.temporary(name + "_part", dtype, existing_shape_);
    s.results = {part};
    Stage join;
    join.domain.extents = existing_shape_;
    join.domain.output_rank = existing_shape_.size();
    join.lines = s.lines;
    join.stop_gradient = s.stop_gradient;
    join.region = s.region;
    join.bodies = {merged(here(existing_), here(part))};
    scope_.graph->stages.push_back(std::move(s));
    join.results = {block_.declare(statement_.results[0], dtype, existing_shape_)};
    scope_.graph->stages.push_back(std::move(join));
  }

  void scatter(bool keeps) {
    if (statement_.results.size() != 1) fail("a scatter has one result");
    const CombinerKind kind = statement_.combiner;
    if (kind != CombinerKind::None && accumulation_of(kind) == Op::Constant)
      fail("a scatter cannot combine with " + std::string(name_of(kind)));
    Stage s = stage();
    s.kind = StageKind::Scatter;
    for (SyntaxId index : statement_.left) s.target.push_back(build_index(expressions_, index));
    if (statement_.from)
      s.initial = block_.find(*statement_.from);
    else if (keeps)
      s.initial = existing_;
    std::vector<int64_t> shape;
    if (statement_.type && statement_.type->extents.size() == statement_.left.size()) {
      shape = block_.extents(*statement_.type);
    } else if (s.initial.valid()) {
      shape = scope_.graph->info(s.initial).shape;
    } else {
      fail("the shape of a scatter's result is not inferred: declare it, as in float(N) " +
           std::string(statement_.results[0].text) + "(...) " + std::string(spelling_of(kind)) +
           "=! ...");
    }
    if (shape.size() != statement_.left.size())
      fail("the result has " + std::to_string(shape.size()) + " dimensions but is written with " +
           std::to_string(statement_.left.size()) + " indices");
    if (s.initial.valid()) {
      const TensorInfo& initial = scope_.graph->info(s.initial);
      if (initial.shape != shape) fail("a scatter and what it starts from differ in shape");
      s.bodies[0] = pool().cast(s.bodies[0], initial.dtype);
    }
    s.results = {block_.declare(statement_.results[0], pool().dtype(s.bodies[0]), shape)};
    scope_.graph->stages.push_back(std::move(s));
  }

  Block& block_;
  const SymbolTable& scope_;
  const StatementSyntax& statement_;
  ExpressionContext expressions_;
  TensorId existing_;
  std::vector<int64_t> existing_shape_;
  StatementDomain domain_;
};

}  // namespace

void build_pointwise(Block& block, const StatementSyntax& statement) {
  PointwiseBuilder(block, statement)();
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
