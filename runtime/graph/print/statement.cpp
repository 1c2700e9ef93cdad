// runtime/graph/print/statement.cpp -- a Compute or Scatter stage as a statement, in parts.
#include "runtime/graph/print/statement.hpp"

#include <algorithm>
#include <utility>

#include "runtime/graph/print/expression_printer.hpp"
#include "runtime/graph/print/lists.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

// A row with its positive terms on the left and its negative ones on the right.
std::string row_text(const Affine& row, std::string_view relation,
                     std::span<const std::string> names) {
  Affine left(std::max<int64_t>(row.constant(), 0));
  Affine right(left.constant() - row.constant());
  for (size_t k = 0; k < row.size(); ++k) {
    const int64_t c = row.coefficient(k);
    (c > 0 ? left : right).set_coefficient(k, c > 0 ? c : -c);
  }
  if (left.is_constant() && relation == ">=")
    return to_string(right, names) + " <= " + to_string(left, names);
  return to_string(left, names) + " " + std::string(relation) + " " + to_string(right, names);
}

// The name, with underscores where a tensor or a name of `also` is the same.
std::string fresh(const TensorNames& names, std::string wanted,
                  const std::unordered_set<std::string>& also = {}) {
  while (names.taken().contains(wanted) || also.contains(wanted)) wanted += "_";
  return wanted;
}

// Axes, then divisions.
std::vector<std::string> variable_names(const TensorNames& names, const Stage& stage) {
  std::vector<std::string> list = axis_names(stage);
  std::unordered_set<std::string> used;
  for (std::string& axis : list) used.insert(axis = fresh(names, axis, used));
  for (size_t q = 0; q < stage.domain.divisions.size(); ++q)
    used.insert(list.emplace_back(fresh(names, "q" + std::to_string(q), used)));
  return list;
}

// "q0 = i // 2", "i >= q0"
std::vector<std::string> conditions(const Domain& domain, std::span<const std::string> variables) {
  std::vector<std::string> items;
  for (size_t q = 0; q < domain.divisions.size(); ++q) {
    const Division& d = domain.divisions[q];
    const std::string numerator = to_string(d.numerator, variables);
    const bool bare = numerator.find_first_of(" *-") == std::string::npos;
    items.push_back(variables[domain.rank() + q] + " = " +
                    (bare ? numerator : "(" + numerator + ")") + " // " +
                    std::to_string(d.divisor));
  }
  for (const Affine& row : domain.inequalities) items.push_back(row_text(row, ">=", variables));
  for (const Affine& row : domain.equalities) items.push_back(row_text(row, "==", variables));
  return items;
}

// "+=!", "max=[first]"
std::string update(const Stage& stage) {
  std::vector<std::string> own;
  if (stage.combiner.ties == Ties::First) own.push_back("first");
  if (stage.out_of_range != OutOfRange::Error) own.emplace_back(spelling_of(stage.out_of_range));
  const CombinerKind kind = stage.combiner.kind;
  const bool onto = stage.initial.valid();
  return std::string(spelling_of(kind)) + "=" + (kind == CombinerKind::None || onto ? "" : "!") +
         attributes(std::move(own), stage);
}

std::string left_hand_side(const TensorNames& names, const Stage& stage,
                           std::span<const std::string> variables,
                           std::span<const std::string> target) {
  if (stage.kind == StageKind::Scatter)
    return "scatter " + names.declared(stage.results[0]) + parenthesised(target) + " " +
           update(stage);
  const std::string results =
      stage.results.size() == 1 ? names(stage.results[0]) : parenthesised(names(stage.results));
  return results + parenthesised(variables.first(stage.domain.output_rank)) + " " + update(stage);
}

// "combine (a0, a1), (b0, b1) -> let t0 = ...; (..., ...)" and "identity (...)".
std::vector<std::string> custom(const TensorNames& names, const Stage& stage) {
  LeafNames leaves{names.all(), &names.taken(), {}, {}};
  const size_t n = stage.bodies.size();
  for (const char* side : {"a", "b"})
    for (size_t k = 0; k < n; ++k)
      leaves.arguments.push_back(fresh(names, side + std::to_string(k)));
  const PrintedExpressions combine =
      print_expressions(names.graph(), stage.combiner.combine, leaves, "c");
  std::string text = "combine " + parenthesised(std::span(leaves.arguments).first(n)) + ", " +
                     parenthesised(std::span(leaves.arguments).subspan(n)) + " -> ";
  for (const std::string& let : combine.lets) text += let + " ";
  std::vector<std::string> identity;
  for (ExprId id : stage.combiner.identity)
    identity.push_back(literal_text(names.graph().pool[id]));
  return {text + parenthesised(combine.roots), "identity " + parenthesised(identity)};
}

}  // namespace

TensorNames::TensorNames(const Graph& graph)
    : graph_(graph), names_(printed_tensor_names(graph)), taken_(names_.begin(), names_.end()) {}

std::string TensorNames::operator()(TensorId id) const {
  return id.value < names_.size() ? names_[id.value] : "undefined";
}

std::vector<std::string> TensorNames::operator()(std::span<const TensorId> ids) const {
  std::vector<std::string> list;
  for (TensorId id : ids) list.push_back((*this)(id));
  return list;
}

std::string TensorNames::declared(TensorId id) const {
  return declaration(graph_.info(id), (*this)(id));
}

std::string TensorNames::declared(std::span<const TensorId> ids) const {
  std::vector<std::string> list;
  for (TensorId id : ids) list.push_back(declared(id));
  return parenthesised(list);
}

StatementText statement_text(const TensorNames& names, const Stage& stage) {
  const std::vector<std::string> variables = variable_names(names, stage);
  const auto axes = std::span(variables).first(stage.domain.rank());
  LeafNames leaves{names.all(), &names.taken(), {axes.begin(), axes.end()}, {}};
  for (const std::string& variable : variables)
    if (std::ranges::find(leaves.axes, variable) == leaves.axes.end())
      leaves.arguments.push_back(variable);  // keeps lets off the divisions' names
  const std::vector<ExprId> roots = expressions_of(stage);
  const PrintedExpressions printed = print_expressions(names.graph(), roots, leaves, "t");
  const std::span<const std::string> texts(printed.roots);
  const std::span<const std::string> bodies = texts.first(stage.bodies.size());

  StatementText text;
  text.target = left_hand_side(names, stage, variables, texts.subspan(stage.bodies.size()));
  text.axes = {axes.begin(), axes.end()};
  text.lets = printed.lets;
  text.value = bodies.size() == 1 ? bodies[0] : parenthesised(bodies);
  if (stage.initial.valid()) text.clauses.push_back("from " + names(stage.initial));
  if (stage.combiner.kind == CombinerKind::Custom)
    for (std::string& clause : custom(names, stage)) text.clauses.push_back(std::move(clause));
  text.conditions = conditions(stage.domain, variables);
  return text;
}

std::vector<StatementText> statement_texts(const Graph& graph) {
  const TensorNames names(graph);
  std::vector<StatementText> texts;
  for (const Stage& stage : graph.stages)
    texts.push_back(stage.scan || stage.call || !stage.callee.empty()
                        ? StatementText()
                        : statement_text(names, stage));
  return texts;
}

std::string attributes(std::vector<std::string> own, const Stage& stage) {
  if (stage.stop_gradient) own.push_back("stop_gradient");
  if (stage.region != 0) own.push_back("region " + std::to_string(stage.region));
  return own.empty() ? "" : "[" + joined(own) + "]";
}

}  // namespace adjit::graph
