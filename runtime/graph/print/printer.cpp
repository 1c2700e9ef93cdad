// runtime/graph/print/printer.cpp -- graphs and stages as text notation. The grammar stands in
// parser.hpp.
#include "runtime/graph/print/printer.hpp"

#include <cmath>
#include <utility>

#include "runtime/expr/scalar.hpp"
#include "runtime/graph/print/expression_printer.hpp"
#include "runtime/graph/print/lists.hpp"
#include "runtime/graph/print/statement.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

constexpr size_t kLineWidth = 100;
constexpr int64_t kMaxListedElements = 64;  // longer constants print as hexadecimal bytes

std::string hex_text(std::span<const std::byte> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text = "\"";
  for (std::byte b : bytes) {
    text += kDigits[std::to_integer<unsigned>(b) >> 4];
    text += kDigits[std::to_integer<unsigned>(b) & 15];
  }
  return text + "\"";
}

std::string elements(const TensorInfo& info, std::span<const std::byte> bytes,
                     LongConstants constants) {
  const size_t count = bytes.size() / size_of(info.dtype);
  if (static_cast<int64_t>(count) > kMaxListedElements)
    return constants == LongConstants::Whole ? "hex " + hex_text(bytes)
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

// One line when it fits; else the clauses, and before them the lets, on lines of their own.
std::string layout(const std::string& indent, const std::string& head,
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

std::string pointwise(const TensorNames& names, const Stage& stage, const std::string& indent) {
  const StatementText statement = statement_text(names, stage);
  std::vector<std::string> where;
  for (size_t k = 0; k < stage.domain.rank(); ++k)
    where.push_back(statement.axes[k] + " in 0:" + std::to_string(stage.domain.extents[k]));
  where.insert(where.end(), statement.conditions.begin(), statement.conditions.end());
  std::vector<std::string> tail = statement.clauses;
  if (!where.empty()) tail.push_back("where " + joined(where));
  std::vector<std::string> lines = statement.lets;
  lines.push_back(statement.value);
  return layout(indent, statement.target, lines, tail);
}

std::string title(const Graph& graph) {
  return is_reserved(graph.name) ? graph.name + "_" : graph.name;
}

class GraphPrinter {
 public:
  explicit GraphPrinter(const Graph& graph, LongConstants constants = LongConstants::Whole)
      : graph_(graph), constants_(constants), names_(graph) {}

  std::string definition() const {
    return "def " + title(graph_) + names_.declared(graph_.inputs) + block("") + "\n";
  }

  std::string stage(const Stage& stage, const std::string& indent) const {
    switch (stage.kind) {
      case StageKind::Compute:
      case StageKind::Scatter: return pointwise(names_, stage, indent);
      case StageKind::Scan: return scan(stage, indent);
      case StageKind::Call: return stage.call ? call(stage, indent) : opaque_call(stage, indent);
    }
    return "";
  }

 private:
  // " -> (y) { ... }"
  std::string block(const std::string& indent) const {
    std::string text = " -> " + parenthesised(names_(graph_.outputs)) + " {\n";
    for (const ConstantData& data : graph_.constants) text += constant(data, indent + "  ");
    for (const Stage& s : graph_.stages) text += stage(s, indent + "  ");
    return text + indent + "}";
  }

  std::string constant(const ConstantData& data, const std::string& indent) const {
    return indent + "const " + names_.declared(data.tensor) + " = " +
           elements(graph_.info(data.tensor), data.bytes, constants_) + "\n";
  }

  // scan (h, ys) = step[10](carry float(4) h = h0, over float(3) x = X, fixed float W = W0) -> (h1,
  // y) { ... }
  std::string scan(const Stage& stage, const std::string& indent) const {
    const Scan& scan = *stage.scan;
    const auto role = [&](size_t k) {
      return k < scan.carries ? "carry " : k < scan.carries + scan.scanned ? "over " : "fixed ";
    };
    std::vector<std::string> items{scan.conditional ? "while" : std::to_string(scan.trips)};
    if (scan.reverse) items.push_back("reverse");
    if (scan.segment != 0) items.push_back("segment " + std::to_string(scan.segment));
    return indent + "scan " + parenthesised(names_(stage.results)) + " = " +
           applied(*scan.body, stage, attributes(std::move(items), stage), role, indent) + "\n";
  }

  // call (float(4) v, int64(4) i) = sort(x)
  std::string opaque_call(const Stage& stage, const std::string& indent) const {
    return indent + "call " + names_.declared(stage.results) + " =" + attributes({}, stage) + " " +
           stage.callee + parenthesised(names_(stage.operands)) + "\n";
  }

  // call (y) = f[recompute](float(4) x = x0) -> (y0) { ... }
  std::string call(const Stage& stage, const std::string& indent) const {
    const Call& call = *stage.call;
    const auto role = [&](size_t k) {
      return k < stage.operands.size() - call.closed ? "" : "closed ";
    };
    std::vector<std::string> items;
    if (call.recompute) items.push_back("recompute");
    if (call.forward) items.push_back("custom");
    std::string text =
        indent + "call " + parenthesised(names_(stage.results)) + " = " +
        applied(*call.body, stage, attributes(std::move(items), stage), role, indent);
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
      parameters.push_back(role(k) + inner.names_.declared(body.inputs[k]) + " = " +
                           names_(stage.operands[k]));
    return title(body) + attributes + parenthesised(parameters) + inner.block(indent);
  }

  // " forward (float(4) x) -> (y, r) { ... }"
  std::string subgraph(const std::string& name, const Graph& graph,
                       const std::string& indent) const {
    const GraphPrinter inner(graph, constants_);
    return " " + name + " " + inner.names_.declared(graph.inputs) + inner.block(indent);
  }

  const Graph& graph_;
  LongConstants constants_;
  TensorNames names_;
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

std::string print(const Graph& graph, LongConstants constants) {
  return GraphPrinter(graph, constants).definition();
}

std::string print_stage(const Graph& graph, const Stage& stage) {
  return GraphPrinter(graph).stage(stage, "");
}

}  // namespace adjit::graph
