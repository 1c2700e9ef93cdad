// runtime/graph/parse/statement_domain.cpp -- indices, ranges and conditions of a statement to its
// domain.
#include "runtime/graph/parse/statement_domain.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "runtime/graph/affine_constraint.hpp"
#include "runtime/graph/print/vocabulary.hpp"

namespace adjit::graph {
namespace {

using Kind = WhereSyntax::Kind;

class DomainBuilder {
 public:
  DomainBuilder(const SymbolTable& scope, const StatementSyntax& statement,
                const std::vector<int64_t>* existing)
      : scope_(scope), statement_(statement), existing_(existing) {}

  StatementDomain operator()() {
    out_.scatter = statement_.kind == StatementSyntax::Kind::Scatter || !left_is_indices();
    number_indices();
    const std::vector<IndexRange> ranges = find_ranges();
    shape_domain(ranges);
    add_conditions();
    return std::move(out_);
  }

 private:
  bool is_index_name(SyntaxId id) const {
    const SyntaxNode& node = scope_.node(id);
    if (node.kind != SyntaxKind::Name || scope_.symbols.contains(node.text)) return false;
    return std::ranges::none_of(statement_.where, [&](const WhereSyntax& w) {
      return w.kind == Kind::Let && w.name == node.text;
    });
  }

  // Distinct indices, and in a new result of no declared shape constants, too: `O(0) +=! x(i)`
  // makes a result of one element.
  bool left_is_indices() const {
    const bool has_shape =
        existing_ != nullptr || (statement_.type && !statement_.type->extents.empty());
    std::unordered_set<std::string_view> seen;
    return std::ranges::all_of(statement_.left, [&](SyntaxId id) {
      if (is_constant(id)) return !has_shape;
      return is_index_name(id) && seen.insert(scope_.node(id).text).second;
    });
  }

  // An integer expression of literals and symbols.
  bool is_constant(SyntaxId root) const {
    for (SyntaxId id = scope_.node(root).subtree; id <= root; ++id) {
      const SyntaxNode& node = scope_.node(id);
      const bool symbol = node.kind == SyntaxKind::Name && scope_.symbols.contains(node.text);
      if (!symbol && node.kind != SyntaxKind::Integer && node.kind != SyntaxKind::Operation &&
          node.kind != SyntaxKind::Dimension)
        return false;
    }
    return true;
  }

  void number_indices() {
    for (const LetSyntax& let : statement_.lets) known_.insert(let.name);
    for (const WhereSyntax& w : statement_.where)
      if (w.kind == Kind::Let) known_.insert(w.name);
    if (!out_.scatter)
      for (SyntaxId id : statement_.left) add_left(id);
    out_.left_count = out_.indices.size();
    for (const WhereSyntax& w : statement_.where)
      if (w.kind == Kind::Range) add_index(w.name, w.offset);
    for (SyntaxId root : roots())
      for (SyntaxId id = scope_.node(root).subtree; id <= root; ++id) {
        const SyntaxNode& node = scope_.node(id);
        check_callee(node);
        const bool other = node.kind != SyntaxKind::Name || scope_.symbols.contains(node.text) ||
                           scope_.tensors.contains(node.text);
        if (!other) add_index(node.text, node.offset);
      }
  }

  // Before ranges are inferred: an unknown tensor is a better message than a range that depends on
  // it.
  void check_callee(const SyntaxNode& node) const {
    const bool call = node.kind == SyntaxKind::Call || node.kind == SyntaxKind::GuardedRead;
    if (call && !scope_.tensors.contains(node.text) && !function_from_name(node.text) &&
        !type_from_name(node.text))
      scope_.fail(node.offset, "there is no tensor or function '" + std::string(node.text) + "'");
  }

  // A constant is an index that no expression can name, over one value.
  void add_left(SyntaxId id) {
    const SyntaxNode& node = scope_.node(id);
    if (!is_constant(id)) return add_index(node.text, node.offset);
    const int64_t value = evaluate_integer(scope_, id);
    if (value < 0)
      scope_.fail(node.offset,
                  "the index " + std::to_string(value) + " is negative: a result begins at 0");
    fixed_.push_back({out_.indices.size(), value});
    out_.indices.push_back({node.text, node.offset});
  }

  void add_index(std::string_view name, uint32_t offset) {
    if (!known_.insert(name).second) return;
    names_.emplace(name, Affine::variable(out_.indices.size()));
    out_.indices.push_back({name, offset});
  }

  // Every expression whose names and reads count.
  std::vector<SyntaxId> roots() const {
    std::vector<SyntaxId> list;
    if (out_.scatter) list = statement_.left;
    for (const LetSyntax& let : statement_.lets) list.push_back(let.value);
    list.insert(list.end(), statement_.bodies.begin(), statement_.bodies.end());
    for (const WhereSyntax& w : statement_.where)
      if (w.kind != Kind::Range) list.push_back(w.first);
    return list;
  }

  std::vector<IndexRange> find_ranges() {
    std::vector<std::optional<IndexRange>> ranges(out_.indices.size());
    for (const WhereSyntax& w : statement_.where) {
      if (w.kind != Kind::Range) continue;
      const auto at = names_.find(w.name);
      if (at == names_.end())
        scope_.fail(w.offset, "'" + std::string(w.name) + "' is a let, not an index");
      auto& range = ranges[at->second.size() - 1];  // the form of index k has size k + 1
      if (range) scope_.fail(w.offset, "'" + std::string(w.name) + "' has a range already");
      range = IndexRange{evaluate_integer(scope_, w.first), evaluate_integer(scope_, w.second)};
      if (range->to < range->from)
        scope_.fail(w.offset, "the range " + std::to_string(range->from) + ":" +
                                  std::to_string(range->to) + " of '" + std::string(w.name) +
                                  "' ends before it begins: write from:to, `to` not included");
    }
    for (const auto& [index, value] : fixed_)
      ranges[index] = IndexRange{value, checked_add(value, 1)};
    declared_ranges(ranges);
    infer(ranges);
    std::vector<IndexRange> found;
    for (size_t k = 0; k < ranges.size(); ++k) {
      if (!ranges[k])
        scope_.fail(out_.indices[k].offset, "the range of '" + std::string(out_.indices[k].text) +
                                                "' cannot be inferred: add `where " +
                                                std::string(out_.indices[k].text) + " in 0:...`");
      found.push_back(*ranges[k]);
    }
    return found;
  }

  void infer(std::vector<std::optional<IndexRange>>& ranges) const {
    if (std::ranges::all_of(ranges, [](const auto& r) { return r.has_value(); })) return;
    AffineReader::Names forms = names_;
    for (const LetSyntax& let : statement_.lets)
      if (const auto form = AffineReader(scope_, forms, nullptr)(let.value))
        forms.emplace(let.name, *form);
    for (const WhereSyntax& w : statement_.where)
      if (w.kind == Kind::Let)
        if (const auto form = AffineReader(scope_, forms, nullptr)(w.first))
          forms.emplace(w.name, *form);
    infer_ranges(scope_, forms, roots(), out_.left_count, ranges);
  }

  // Ranges of indices on the left from the result's declared or existing shape.
  void declared_ranges(std::vector<std::optional<IndexRange>>& ranges) const {
    if (out_.scatter) return;
    const bool typed = statement_.type && !statement_.type->extents.empty();
    for (size_t k = 0; k < out_.left_count; ++k) {
      if (ranges[k]) continue;
      if (existing_ != nullptr && k < existing_->size()) {
        ranges[k] = IndexRange{0, (*existing_)[k]};
      } else if (typed && k < statement_.type->extents.size()) {
        ranges[k] = IndexRange{0, evaluate_integer(scope_, statement_.type->extents[k])};
      }
    }
  }

  void shape_domain(const std::vector<IndexRange>& ranges) {
    Domain& domain = out_.domain;
    domain.output_rank = out_.left_count;
    std::vector<Affine> rows;
    for (size_t k = 0; k < ranges.size(); ++k) {
      const bool left = k < out_.left_count;
      const IndexRange r{ranges[k].from, std::max(ranges[k].from, ranges[k].to)};
      if (left && r.from < 0)
        scope_.fail(out_.indices[k].offset, "'" + std::string(out_.indices[k].text) +
                                                "' is negative: a result begins at 0");
      out_.shifts.push_back(left ? 0 : r.from);
      domain.extents.push_back(left ? r.to : checked_sub(r.to, r.from));
      if (!left) continue;
      if (r.from > 0) rows.push_back(Affine::variable(k, 1, -r.from));
      if (existing_ == nullptr || k >= existing_->size()) continue;
      if (r.to > (*existing_)[k])
        scope_.fail(out_.indices[k].offset, "'" + std::string(out_.indices[k].text) +
                                                "' runs past the end of '" +
                                                std::string(statement_.results[0].text) + "'");
      if (r.to < (*existing_)[k]) rows.push_back(Affine::variable(k, -1, r.to - 1));
      domain.extents[k] = (*existing_)[k];
    }
    domain.inequalities = std::move(rows);
    for (size_t k = 0; k < out_.indices.size(); ++k)
      names_[out_.indices[k].text] = Affine::variable(k, 1, out_.shifts[k]);
  }

  // Names for divisions keep their place in the domain; other conditions become rows.
  void add_conditions() {
    for (const WhereSyntax& w : statement_.where) {
      if (w.kind == Kind::Let) add_let(w);
      if (w.kind == Kind::Condition) add_condition(w.first);
    }
    const auto restricts_left = [&](const Affine& row) { return row.size() <= out_.left_count; };
    out_.partial = std::ranges::any_of(out_.domain.inequalities, restricts_left) ||
                   std::ranges::any_of(out_.domain.equalities, restricts_left) ||
                   (!out_.domain.is_box() && !out_.domain.divisions.empty()) || !out_.asked.empty();
  }

  void add_let(const WhereSyntax& w) {
    const SyntaxNode& node = scope_.node(w.first);
    AffineReader reader(scope_, names_, &out_.domain);
    if (node.kind == SyntaxKind::Operation && node.op == Op::FloorDiv) {
      const auto numerator = reader(scope_.syntax->child(w.first, 0));
      const auto divisor = reader(scope_.syntax->child(w.first, 1));
      const bool plain = numerator && divisor && divisor->is_constant() && divisor->constant() > 0;
      if (plain && fits(*numerator)) {
        out_.domain.divisions.push_back({*numerator, divisor->constant()});
        names_[w.name] = Affine::variable(out_.domain.variable_count() - 1);
        return;
      }
    }
    if (const auto form = reader(w.first))
      names_[w.name] = *form;
    else if (reader.overflowed() || mentions_wrapping(w.first))
      wrapping_.insert(w.name);
  }

  bool fits(const Affine& form) const {
    try {
      (void)out_.domain.box_range(form);
      return true;
    } catch (const Overflow&) {
      return false;
    }
  }

  // Whether a condition uses a name that has no form for numbers of more than 64 bits.
  bool mentions_wrapping(SyntaxId root) const {
    for (SyntaxId id = scope_.node(root).subtree; id <= root; ++id)
      if (wrapping_.contains(scope_.node(id).text)) return true;
    return false;
  }

  void add_condition(SyntaxId root) {
    std::vector<SyntaxId> open{root};
    while (!open.empty()) {
      const SyntaxId id = open.back();
      open.pop_back();
      const SyntaxNode& node = scope_.node(id);
      const bool operation = node.kind == SyntaxKind::Operation && node.child_count == 2;
      if (operation && node.op == Op::And) {
        open.push_back(scope_.syntax->child(id, 1));
        open.push_back(scope_.syntax->child(id, 0));
      } else if (!operation || !add_row(id, node)) {
        scope_.fail(
            node.offset,
            "a condition on the domain must be an affine comparison of indices (with // and "
            "% by positive constants); put others into select(condition, value, 0)");
      }
    }
  }

  bool add_row(SyntaxId id, const SyntaxNode& node) {
    if (node.op != Op::Le && node.op != Op::Lt && node.op != Op::Eq) return false;
    Domain& domain = out_.domain;
    const size_t before = domain.divisions.size();
    AffineReader reader(scope_, names_, &domain);
    const auto left = reader(scope_.syntax->child(id, 0));
    const auto right = reader(scope_.syntax->child(id, 1));
    if (left && right) {
      const bool left_is_larger = node.swapped || node.op == Op::Eq;  // left - right == 0
      const auto row = left_is_larger ? affine_constraint(node.op, *right, *left, domain)
                                      : affine_constraint(node.op, *left, *right, domain);
      if (row) {
        (row->equality ? domain.equalities : domain.inequalities).push_back(row->form);
        return true;
      }
    } else if (!reader.overflowed() && !mentions_wrapping(id)) {
      return false;
    }
    domain.divisions.resize(before);
    out_.asked.push_back(id);
    return true;
  }

  const SymbolTable& scope_;
  const StatementSyntax& statement_;
  const std::vector<int64_t>* existing_;
  StatementDomain out_;
  AffineReader::Names names_;
  std::unordered_set<std::string_view> known_;
  std::unordered_set<std::string_view> wrapping_;  // names of what may leave int64
  std::vector<std::pair<size_t, int64_t>> fixed_;  // indices that are constants, their values
};

}  // namespace

StatementDomain statement_domain(const SymbolTable& scope, const StatementSyntax& statement,
                                 const std::vector<int64_t>* existing) {
  return DomainBuilder(scope, statement, existing)();
}

}  // namespace adjit::graph
