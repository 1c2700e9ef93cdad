// runtime/graph/print/expression_printer.cpp -- scalar expressions as text, children before
// parents, no recursion.
#include "runtime/graph/print/expression_printer.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

constexpr size_t kRepeatedLength = 24;  // a shared text longer than this is named
constexpr size_t kLineLength = 160;     // any text longer than this is named

// What a node prints as inside its parents.
struct Piece {
  std::string text;
  int precedence = kAtomPrecedence;
  bool literal = false;  // a constant without its dtype: takes it from what stands around it
  bool weak = false;     // built from such literals only
};

class ExpressionPrinter {
 public:
  ExpressionPrinter(const Graph& graph, const LeafNames& names, std::string_view let_prefix)
      : pool_(graph.pool), names_(names), let_prefix_(let_prefix) {}

  PrintedExpressions operator()(std::span<const ExprId> roots) {
    // By structure, not by id: the lets of a text that is read back come in the same order.
    const std::vector<ExprId> nodes = post_order(pool_, roots);
    for (ExprId id : nodes)
      for (ExprId operand : pool_.operands(id)) {
        ++uses_[operand.value];
        if (pool_.is(id, Op::Cast)) cast_.insert(operand.value);
      }
    for (ExprId root : roots) {
      ++uses_[root.value];
      roots_.insert(root.value);
    }
    for (ExprId id : nodes) {
      Piece piece = print(id);
      if (needs_name(id, piece)) piece = named(piece);
      pieces_.emplace(id.value, std::move(piece));
    }
    for (ExprId root : roots) out_.roots.push_back(root_text(root));
    return std::move(out_);
  }

 private:
  const Piece& piece(ExprId id) const { return pieces_.at(id.value); }

  bool needs_name(ExprId id, const Piece& p) const {
    if (p.literal) return false;
    if (p.weak && cast_.contains(id.value)) return true;  // a let settles its dtype
    if (info(pool_[id].op).arity == 0 && pool_[id].op != Op::Read) return false;
    if (uses_.at(id.value) > 1) return p.text.size() > kRepeatedLength;
    return p.text.size() > kLineLength && !roots_.contains(id.value);
  }

  Piece named(const Piece& p) {
    std::string name;
    if (taken_.empty())  // only now: most expressions name nothing
      for (const auto* names : {&names_.axes, &names_.arguments})
        taken_.insert(names->begin(), names->end());
    do {
      name = std::string(let_prefix_) + std::to_string(next_let_++);
    } while (taken_.contains(name) || names_.taken->contains(name));
    out_.lets.push_back("let " + name + " = " + p.text + ";");
    return {name, kAtomPrecedence, false, false};
  }

  // A literal with its dtype: double(0.5).
  std::string typed_literal(ExprId id) const {
    if (pool_.dtype(id) == DType::Bool) return piece(id).text;
    return std::string(text_name_of(pool_.dtype(id))) + "(" + piece(id).text + ")";
  }

  static bool is_default(DType t) {
    return t == kDefaultFloat || t == kDefaultInteger || t == DType::Bool;
  }

  std::string root_text(ExprId root) const {
    const bool typed = piece(root).literal && !is_default(pool_.dtype(root));
    return typed ? typed_literal(root) : piece(root).text;
  }

  Piece print(ExprId id) {
    const Node& node = pool_[id];
    switch (node.op) {
      case Op::Constant: return constant(node);
      case Op::Axis: return {name(names_.axes, node.payload, "axis")};
      case Op::Argument: return {name(names_.arguments, node.payload, "argument")};
      case Op::Read: return read(id);
      case Op::Cast: return cast(id);
      default: return operation(id);
    }
  }

  static Piece constant(const Node& node) {
    const bool typed = node.dtype == DType::Bool;
    Piece p{literal_text(node), kAtomPrecedence, !typed, !typed};
    if (p.text[0] == '-') p.precedence = kUnaryPrecedence;
    return p;
  }

  static std::string name(std::span<const std::string> names, uint64_t number,
                          const char* otherwise) {
    return number < names.size() ? names[number] : otherwise + std::to_string(number);
  }

  Piece read(ExprId id) const {
    std::string text = name(names_.tensors, pool_.read_tensor(id).value, "tensor") + "(";
    bool first = true;
    for (ExprId index : pool_.read_index(id)) {
      text += (first ? "" : ", ") + piece(index).text;
      first = false;
    }
    if (const ExprId predicate = pool_.read_predicate(id); predicate.valid())
      text += (first ? "where " : " where ") + piece(predicate).text;
    return {text + ")"};
  }

  Piece cast(ExprId id) const {
    const ExprId operand = pool_.operand(id, 0);
    const std::string text = piece(operand).literal ? typed_literal(operand) : piece(operand).text;
    return {std::string(text_name_of(pool_.dtype(id))) + "(" + text + ")"};
  }

  Piece operation(ExprId id) const {
    const Op op = pool_[id].op;
    const std::span<const ExprId> operands = pool_.operands(id);
    const size_t group = first_like_typed(op);
    bool literals = group < operands.size(), weak = literals;
    for (size_t k = group; k < operands.size(); ++k) {
      literals = literals && piece(operands[k]).literal;
      weak = weak && piece(operands[k]).weak;
    }
    std::vector<std::string> texts;
    for (ExprId operand : operands) texts.push_back(piece(operand).text);
    std::vector<int> strengths;
    for (ExprId operand : operands) strengths.push_back(piece(operand).precedence);
    // Literals among themselves say their dtype once, unless it is the one they have anyway.
    if (literals && !is_default(pool_.dtype(operands[group]))) {
      texts[group] = typed_literal(operands[group]);
      strengths[group] = kAtomPrecedence;
      weak = false;
    }
    // An operand outside a group (of isnan, say) has nothing to take its dtype from.
    for (size_t k = 0; k < std::min(group, operands.size()); ++k)
      if (piece(operands[k]).literal && !is_default(pool_.dtype(operands[k])))
        texts[k] = typed_literal(operands[k]);
    weak = weak && info(op).rule != TypeRule::Comparison;
    return assemble(op, texts, strengths, weak);
  }

  static Piece assemble(Op op, std::span<std::string> texts, std::span<const int> strengths,
                        bool weak) {
    const auto wrapped = [&](size_t k, int needed) {
      return strengths[k] >= needed ? texts[k] : "(" + texts[k] + ")";
    };
    if (const Infix* infix = infix_of(op); infix != nullptr && texts.size() == 2) {
      const int p = infix->precedence;
      std::string text = wrapped(0, p) + " ";
      text.append(infix->spelling).append(" ").append(wrapped(1, p + 1));
      return {text, p, false, weak};
    }
    if (op == Op::Neg || op == Op::Not || op == Op::BitNot) {
      // "-(3.0)" negates a literal, "-3.0" is one.
      const bool digit = texts[0][0] == '-' || (texts[0][0] >= '0' && texts[0][0] <= '9') ||
                         texts[0] == "inf" || texts[0] == "nan";
      const std::string operand = op == Op::Neg && digit && strengths[0] >= kUnaryPrecedence
                                      ? "(" + texts[0] + ")"
                                      : wrapped(0, kUnaryPrecedence);
      return {std::string(info(op).name) + operand, kUnaryPrecedence, false, weak};
    }
    std::string text(info(op).name);
    for (size_t k = 0; k < texts.size(); ++k) text += (k ? ", " : "(") + texts[k];
    return {text + ")", kAtomPrecedence, false, weak};
  }

  const ExprPool& pool_;
  const LeafNames& names_;
  std::string_view let_prefix_;
  std::unordered_map<uint32_t, size_t> uses_;
  std::unordered_set<uint32_t> cast_;  // operands of casts
  std::unordered_set<uint32_t> roots_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<uint32_t, Piece> pieces_;
  size_t next_let_ = 0;
  PrintedExpressions out_;
};

}  // namespace

PrintedExpressions print_expressions(const Graph& graph, std::span<const ExprId> roots,
                                     const LeafNames& names, std::string_view let_prefix) {
  return ExpressionPrinter(graph, names, let_prefix)(roots);
}

std::vector<std::string> printed_tensor_names(const Graph& graph) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  for (const TensorInfo& tensor : graph.tensors) {
    std::string name = tensor.name.empty() ? "_" : tensor.name;
    while (is_reserved(name) || taken.contains(name)) name += "_";
    taken.insert(name);
    names.push_back(std::move(name));
  }
  return names;
}

std::string print_expr(const Graph& graph, ExprId expr, std::span<const std::string> axis_names) {
  const std::vector<std::string> tensors = printed_tensor_names(graph);
  const std::unordered_set<std::string> taken(tensors.begin(), tensors.end());
  LeafNames names{tensors, &taken, {axis_names.begin(), axis_names.end()}, {}};
  const PrintedExpressions printed = print_expressions(graph, std::span(&expr, 1), names, "t");
  std::string text;
  for (const std::string& let : printed.lets) text += let + " ";
  return text + printed.roots[0];
}

}  // namespace adjit::graph
