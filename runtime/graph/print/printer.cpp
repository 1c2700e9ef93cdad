// runtime/graph/print/printer.cpp -- graphs and stages as text notation. The grammar stands in
// parser.hpp.
#include "runtime/graph/print/printer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <unordered_set>
#include <utility>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/print/expression_printer.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

constexpr size_t kLineWidth = 100;
constexpr int64_t kMaxListedElements = 64;  // longer constants print as hexadecimal bytes

std::string joined(std::span<const std::string> parts, std::string_view separator = ", ") {
  std::string text;
  for (size_t k = 0; k < parts.size(); ++k) {
    if (k > 0) text += separator;
    text += parts[k];
  }
  return text;
}

std::string parenthesised(std::span<const std::string> parts) { return "(" + joined(parts) + ")"; }

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
    return right.to_string(names) + " <= " + left.to_string(names);
  return left.to_string(names) + " " + std::string(relation) + " " + right.to_string(names);
}

std::string hex_text(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\"";
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text + "\"";
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& graph, LongConstants constants = LongConstants::Whole)
      : graph_(graph),
        constants_(constants),
        names_(printed_tensor_names(graph)),
        taken_(names_.begin(), names_.end()) {}

  std::string definition() const {
    std::vector<std::string> inputs;
    for (TensorId id : graph_.inputs) inputs.push_back(declared(id));
    std::string text = "def " + (is_reserved(graph_.name) ? graph_.name + "_" : graph_.name) +
                       parenthesised(inputs) + " -> " + parenthesised(names(graph_.outputs)) +
                       " {\n" + body("  ") + "}\n";
    return text;
  }

  StatementText statement(const Stage& stage) const {
    const std::vector<std::string> variables = variable_names(stage);
    LeafNames leaves{
        names_, &taken_, {variables.begin(), variables.begin() + axis_count(stage)}, {}};
    for (const std::string& variable : variables)
      if (std::ranges::find(leaves.axes, variable) == leaves.axes.end())
        leaves.arguments.push_back(variable);  // keeps lets off the divisions' names
    const std::vector<ExprId> roots = expressions_of(stage);
    const PrintedExpressions printed = print_expressions(graph_, roots, leaves, "t");
    const std::span<const std::string> texts(printed.roots);
    const std::span<const std::string> bodies = texts.first(stage.bodies.size());

    StatementText text;
    text.target = left_hand_side(stage, variables, texts.subspan(stage.bodies.size()));
    text.axes = {variables.begin(), variables.begin() + axis_count(stage)};
    text.lets = printed.lets;
    text.value = bodies.size() == 1 ? bodies[0] : parenthesised(bodies);
    if (stage.initial.valid()) text.clauses.push_back("from " + name(stage.initial));
    if (stage.combiner.kind == CombinerKind::Custom)
      for (std::string& clause : custom(stage)) text.clauses.push_back(std::move(clause));
    text.conditions = conditions(stage.domain, variables);
    return text;
  }

  std::string stage(const Stage& stage, const std::string& indent) const {
    switch (stage.kind) {
      case StageKind::Compute:
      case StageKind::Scatter: return pointwise(stage, indent);
      case StageKind::Scan: return scan(stage, indent);
      case StageKind::Call: return call(stage, indent);
    }
    return "";
  }

 private:
  std::string name(TensorId id) const {
    return id.value < names_.size() ? names_[id.value] : "undefined";
  }
  std::vector<std::string> names(std::span<const TensorId> ids) const {
    std::vector<std::string> list;
    for (TensorId id : ids) list.push_back(name(id));
    return list;
  }
  std::string declared(TensorId id) const { return declaration(graph_.info(id), name(id)); }

  std::string body(const std::string& indent) const {
    std::string text;
    for (const ConstantData& c : graph_.constants) text += constant(c, indent);
    for (const Stage& s : graph_.stages) text += stage(s, indent);
    return text;
  }

  std::string constant(const ConstantData& data, const std::string& indent) const {
    const TensorInfo& info = graph_.info(data.tensor);
    return indent + "const " + declared(data.tensor) + " = " + elements(info, data.bytes) + "\n";
  }

  std::string elements(const TensorInfo& info, std::span<const std::byte> bytes) const {
    const size_t count = bytes.size() / size_of(info.dtype);
    if (static_cast<int64_t>(count) > kMaxListedElements)
      return constants_ == LongConstants::Whole
                 ? "hex " + hex_text(bytes)
                 : "... (" + std::to_string(bytes.size()) + " bytes)";
    ExprPool pool;
    std::vector<std::string> list;
    for (size_t k = 0; k < count; ++k) {
      const Scalar v = load_element(bytes.data() + k * size_of(info.dtype), info.dtype);
      if (is_float(info.dtype) && std::isnan(v.f)) return "hex " + hex_text(bytes);
      list.push_back(literal_text(pool[is_float(info.dtype) ? pool.constant_float(v.f, info.dtype)
                                                            : pool.constant_int(v.i, info.dtype)]));
    }
    return "[" + joined(list) + "]";
  }

  std::string fresh(std::string wanted, const std::unordered_set<std::string>& also = {}) const {
    while (taken_.contains(wanted) || also.contains(wanted)) wanted += "_";
    return wanted;
  }

  // Axes, then divisions.
  std::vector<std::string> variable_names(const Stage& stage) const {
    std::vector<std::string> list = axis_names(stage);
    std::unordered_set<std::string> used;
    for (std::string& axis : list) used.insert(axis = fresh(axis, used));
    for (size_t q = 0; q < stage.domain.divisions.size(); ++q)
      used.insert(list.emplace_back(fresh("q" + std::to_string(q), used)));
    return list;
  }

  // "i in 0:4"
  static std::vector<std::string> ranges(const Domain& domain,
                                         std::span<const std::string> variables) {
    std::vector<std::string> items;
    for (size_t k = 0; k < domain.rank(); ++k)
      items.push_back(variables[k] + " in 0:" + std::to_string(domain.extents[k]));
    return items;
  }

  // "q0 = i // 2", "i >= q0"
  static std::vector<std::string> conditions(const Domain& domain,
                                             std::span<const std::string> variables) {
    std::vector<std::string> items;
    for (size_t q = 0; q < domain.divisions.size(); ++q) {
      const Division& d = domain.divisions[q];
      const std::string numerator = d.numerator.to_string(variables);
      const bool bare = numerator.find_first_of(" *-") == std::string::npos;
      items.push_back(variables[domain.rank() + q] + " = " +
                      (bare ? numerator : "(" + numerator + ")") + " // " +
                      std::to_string(d.divisor));
    }
    for (const Affine& row : domain.inequalities) items.push_back(row_text(row, ">=", variables));
    for (const Affine& row : domain.equalities) items.push_back(row_text(row, "==", variables));
    return items;
  }

  // What every kind of stage may carry.
  static std::vector<std::string> common_attributes(const Stage& stage) {
    std::vector<std::string> list;
    if (stage.stop_gradient) list.push_back("stop_gradient");
    if (stage.region != 0) list.push_back("region " + std::to_string(stage.region));
    return list;
  }

  static std::string attributes(const Stage& stage) {
    std::vector<std::string> list;
    if (stage.combiner.ties == Ties::First) list.push_back("first");
    if (stage.out_of_range != OutOfRange::Error) list.emplace_back(spelling_of(stage.out_of_range));
    for (std::string& attribute : common_attributes(stage)) list.push_back(std::move(attribute));
    return list.empty() ? "" : "[" + joined(list) + "]";
  }

  static std::string update(const Stage& stage) {
    const CombinerKind kind = stage.combiner.kind;
    const bool onto = stage.initial.valid();
    return std::string(spelling_of(kind)) + "=" + (kind == CombinerKind::None || onto ? "" : "!") +
           attributes(stage);
  }

  // "combine (a0, a1), (b0, b1) -> let t0 = ...; (..., ...)" and "identity (...)".
  std::vector<std::string> custom(const Stage& stage) const {
    LeafNames leaves{names_, &taken_, {}, {}};
    const size_t n = stage.bodies.size();
    for (const char* side : {"a", "b"})
      for (size_t k = 0; k < n; ++k) leaves.arguments.push_back(fresh(side + std::to_string(k)));
    const PrintedExpressions combine =
        print_expressions(graph_, stage.combiner.combine, leaves, "c");
    std::string text = "combine " + parenthesised(std::span(leaves.arguments).first(n)) + ", " +
                       parenthesised(std::span(leaves.arguments).subspan(n)) + " -> ";
    for (const std::string& let : combine.lets) text += let + " ";
    std::vector<std::string> identity;
    for (ExprId id : stage.combiner.identity) identity.push_back(literal_text(graph_.pool[id]));
    return {text + parenthesised(combine.roots), "identity " + parenthesised(identity)};
  }

  std::string pointwise(const Stage& stage, const std::string& indent) const {
    const StatementText statement = this->statement(stage);
    std::vector<std::string> where = ranges(stage.domain, variable_names(stage));
    where.insert(where.end(), statement.conditions.begin(), statement.conditions.end());
    std::vector<std::string> tail = statement.clauses;
    if (!where.empty()) tail.push_back("where " + joined(where));
    std::vector<std::string> lines = statement.lets;
    lines.push_back(statement.value);
    return layout(indent, statement.target, lines, tail);
  }

  static std::ptrdiff_t axis_count(const Stage& stage) {
    return static_cast<std::ptrdiff_t>(stage.domain.rank());
  }

  std::string left_hand_side(const Stage& stage, std::span<const std::string> variables,
                             std::span<const std::string> target) const {
    if (stage.kind == StageKind::Scatter)
      return "scatter " + declared(stage.results[0]) + parenthesised(target) + " " + update(stage);
    const std::string results =
        stage.results.size() == 1 ? name(stage.results[0]) : parenthesised(names(stage.results));
    return results + parenthesised(variables.first(stage.domain.output_rank)) + " " + update(stage);
  }

  // One line when it fits; else the clauses, and before them the lets, on lines of their own.
  static std::string layout(const std::string& indent, const std::string& head,
                            std::span<const std::string> lines, std::span<const std::string> tail) {
    const std::string clauses = joined(tail, " ");
    std::string text = indent + head;
    if (lines.size() == 1 && text.size() + lines[0].size() + clauses.size() + 2 <= kLineWidth)
      return text + " " + lines[0] + (clauses.empty() ? "" : " " + clauses) + "\n";
    if (lines.size() == 1) {
      text += " " + lines[0] + "\n";
    } else {
      text += "\n";
      for (const std::string& line : lines) text += indent + "    " + line + "\n";
    }
    for (const std::string& clause : tail) text += indent + "  " + clause + "\n";
    return text;
  }

  // scan (h, ys) = step[10](carry float(4) h = h0, over float(3) x = X, fixed float W = W0) -> (h1,
  // y) { ... }
  std::string scan(const Stage& stage, const std::string& indent) const {
    const Scan& scan = *stage.scan;
    const auto role = [&](size_t k) {
      return k < scan.carries ? "carry " : k < scan.carries + scan.scanned ? "over " : "fixed ";
    };
    std::vector<std::string> items;
    if (scan.conditional)
      items.push_back("while");
    else
      items.push_back(std::to_string(scan.trips));
    if (scan.reverse) items.push_back("reverse");
    if (scan.segment != 0) items.push_back("segment " + std::to_string(scan.segment));
    for (std::string& attribute : common_attributes(stage)) items.push_back(std::move(attribute));
    std::string text = indent + "scan " + parenthesised(names(stage.results)) + " = " +
                       applied(*scan.body, stage, "[" + joined(items) + "]", role, indent);
    return text + "\n";
  }

  // call (float(4) v, int64(4) i) = sort(x)
  // call (y) = f[recompute](float(4) x = x0) -> (y0) { ... }
  std::string call(const Stage& stage, const std::string& indent) const {
    if (stage.call) return call_with_body(stage, indent);
    std::vector<std::string> results;
    for (TensorId id : stage.results) results.push_back(declared(id));
    return indent + "call " + parenthesised(results) + " =" + attributes(stage) + " " +
           stage.callee + parenthesised(names(stage.operands)) + "\n";
  }

  std::string call_with_body(const Stage& stage, const std::string& indent) const {
    const Call& call = *stage.call;
    const auto role = [&](size_t k) {
      return k < stage.operands.size() - call.closed ? "" : "closed ";
    };
    std::vector<std::string> items;
    if (call.recompute) items.push_back("recompute");
    if (call.forward) items.push_back("custom");
    for (std::string& attribute : common_attributes(stage)) items.push_back(std::move(attribute));
    std::string text =
        indent + "call " + parenthesised(names(stage.results)) + " = " +
        applied(*call.body, stage, items.empty() ? "" : "[" + joined(items) + "]", role, indent);
    if (call.forward)
      text +=
          subgraph("forward", *call.forward, indent) + subgraph("backward", *call.backward, indent);
    return text + "\n";
  }

  // name[attributes](float(4) x = x0, ...) -> (y) { ... }, with each operand beside its parameter.
  template <class Role>
  std::string applied(const Graph& body, const Stage& stage, const std::string& attributes,
                      Role&& role, const std::string& indent) const {
    const GraphPrinter inner(body, constants_);
    std::vector<std::string> parameters;
    for (size_t k = 0; k < body.inputs.size() && k < stage.operands.size(); ++k)
      parameters.push_back(role(k) + inner.declared(body.inputs[k]) + " = " +
                           name(stage.operands[k]));
    const std::string title = is_reserved(body.name) ? body.name + "_" : body.name;
    return title + attributes + parenthesised(parameters) + " -> " +
           parenthesised(inner.names(body.outputs)) + " {\n" + inner.body(indent + "  ") + indent +
           "}";
  }

  // " forward (float(4) x) -> (y, r) { ... }"
  std::string subgraph(const std::string& title, const Graph& graph,
                       const std::string& indent) const {
    const GraphPrinter inner(graph, constants_);
    std::vector<std::string> parameters;
    for (TensorId id : graph.inputs) parameters.push_back(inner.declared(id));
    return " " + title + " " + parenthesised(parameters) + " -> " +
           parenthesised(inner.names(graph.outputs)) + " {\n" + inner.body(indent + "  ") + indent +
           "}";
  }

  const Graph& graph_;
  LongConstants constants_;
  std::vector<std::string> names_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

std::string declaration(const TensorInfo& info, const std::string& name) {
  std::vector<std::string> extents;
  for (int64_t extent : info.shape) extents.push_back(std::to_string(extent));
  return std::string(text_name_of(info.dtype)) + (extents.empty() ? "" : parenthesised(extents)) +
         " " + name;
}

std::vector<std::string> default_axis_names(const Domain& domain) {
  static constexpr std::string_view kLetters = "ijklmnopq";
  std::vector<std::string> names;
  for (size_t k = 0; k < domain.rank(); ++k) {
    std::string name = k < domain.output_rank ? "" : "r_";
    name += k < kLetters.size() ? std::string(1, kLetters[k]) : "i" + std::to_string(k);
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> axis_names(const Stage& stage) {
  Domain shown;
  shown.extents = stage.domain.extents;
  shown.output_rank =
      stage.kind == StageKind::Scatter ? stage.domain.rank() : stage.domain.output_rank;
  return default_axis_names(shown);
}

std::vector<StatementText> statement_texts(const Graph& graph) {
  const GraphPrinter printer(graph);
  std::vector<StatementText> texts;
  for (const Stage& stage : graph.stages)
    texts.push_back(stage.scan || stage.call || !stage.callee.empty() ? StatementText()
                                                                      : printer.statement(stage));
  return texts;
}

std::string print(const Graph& graph, LongConstants constants) {
  return GraphPrinter(graph, constants).definition();
}

std::string print_stage(const Graph& graph, const Stage& stage) {
  return GraphPrinter(graph).stage(stage, "");
}

}  // namespace adjit::graph
