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

// A domain as far as it is built.
struct DomainState {
  const SymbolTable& scope;
  const StatementSyntax& statement;
  const std::vector<int64_t>* existing;
  StatementDomain out = {};
  AffineReader::Names names = {};
  std::unordered_set<std::string_view> known = {};
  std::unordered_set<std::string_view> wrapping = {};  // names of what may leave int64
  std::vector<std::pair<size_t, int64_t>> fixed = {};  // indices that are constants, their values
};

bool is_index_name(const DomainState& d, SyntaxId id) {
  const SyntaxNode& node = d.scope.node(id);
  if (node.kind != SyntaxKind::Name || d.scope.symbols.contains(node.text)) return false;
  return std::ranges::none_of(d.statement.where, [&](const WhereSyntax& w) {
    return w.kind == Kind::Let && w.name == node.text;
  });
}

// An integer expression of literals and symbols.
bool is_constant(const DomainState& d, SyntaxId root) {
  for (SyntaxId id = d.scope.node(root).subtree; id <= root; ++id) {
    const SyntaxNode& node = d.scope.node(id);
    const bool symbol = node.kind == SyntaxKind::Name && d.scope.symbols.contains(node.text);
    if (!symbol && node.kind != SyntaxKind::Integer && node.kind != SyntaxKind::Operation &&
        node.kind != SyntaxKind::Dimension)
      return false;
  }
  return true;
}

// Distinct indices, and in a new result of no declared shape constants, too: `O(0) +=! x(i)`
// makes a result of one element.
bool left_is_indices(const DomainState& d) {
  const bool has_shape =
      d.existing != nullptr || (d.statement.type && !d.statement.type->extents.empty());
  std::unordered_set<std::string_view> seen;
  return std::ranges::all_of(d.statement.left, [&](SyntaxId id) {
    if (is_constant(d, id)) return !has_shape;
    return is_index_name(d, id) && seen.insert(d.scope.node(id).text).second;
  });
}

// Before ranges are inferred: an unknown tensor is a better message than a range that depends on
// it.
void check_callee(const DomainState& d, const SyntaxNode& node) {
  const bool call = node.kind == SyntaxKind::Call || node.kind == SyntaxKind::GuardedRead;
  if (call && !d.scope.tensors.contains(node.text) && !function_from_name(node.text) &&
      !type_from_name(node.text))
    d.scope.fail(node.offset, "there is no tensor or function '" + std::string(node.text) + "'");
}

void add_index(DomainState& d, std::string_view name, uint32_t offset) {
  if (!d.known.insert(name).second) return;
  d.names.emplace(name, Affine::variable(d.out.indices.size()));
  d.out.indices.push_back({name, offset});
}

// A constant is an index that no expression can name, over one value.
void add_left(DomainState& d, SyntaxId id) {
  const SyntaxNode& node = d.scope.node(id);
  if (!is_constant(d, id)) return add_index(d, node.text, node.offset);
  const int64_t value = evaluate_integer(d.scope, id);
  if (value < 0)
    d.scope.fail(node.offset,
                 "the index " + std::to_string(value) + " is negative: a result begins at 0");
  d.fixed.push_back({d.out.indices.size(), value});
  d.out.indices.push_back({node.text, node.offset});
}

// Every expression whose names and reads count.
std::vector<SyntaxId> roots(const DomainState& d) {
  std::vector<SyntaxId> list;
  if (d.out.scatter) list = d.statement.left;
  for (const LetSyntax& let : d.statement.lets) list.push_back(let.value);
  list.insert(list.end(), d.statement.bodies.begin(), d.statement.bodies.end());
  for (const WhereSyntax& w : d.statement.where)
    if (w.kind != Kind::Range) list.push_back(w.first);
  return list;
}

void number_indices(DomainState& d) {
  for (const LetSyntax& let : d.statement.lets) d.known.insert(let.name);
  for (const WhereSyntax& w : d.statement.where)
    if (w.kind == Kind::Let) d.known.insert(w.name);
  if (!d.out.scatter)
    for (SyntaxId id : d.statement.left) add_left(d, id);
  d.out.left_count = d.out.indices.size();
  for (const WhereSyntax& w : d.statement.where)
    if (w.kind == Kind::Range) add_index(d, w.name, w.offset);
  for (SyntaxId root : roots(d))
    for (SyntaxId id = d.scope.node(root).subtree; id <= root; ++id) {
      const SyntaxNode& node = d.scope.node(id);
      check_callee(d, node);
      const bool other = node.kind != SyntaxKind::Name || d.scope.symbols.contains(node.text) ||
                         d.scope.tensors.contains(node.text);
      if (!other) add_index(d, node.text, node.offset);
    }
}

void infer_missing(const DomainState& d, std::vector<std::optional<IndexRange>>& ranges) {
  if (std::ranges::all_of(ranges, [](const auto& r) { return r.has_value(); })) return;
  AffineReader::Names forms = d.names;
  for (const LetSyntax& let : d.statement.lets)
    if (const auto form = AffineReader(d.scope, forms, nullptr)(let.value))
      forms.emplace(let.name, *form);
  for (const WhereSyntax& w : d.statement.where)
    if (w.kind == Kind::Let)
      if (const auto form = AffineReader(d.scope, forms, nullptr)(w.first))
        forms.emplace(w.name, *form);
  infer_ranges(d.scope, forms, roots(d), d.out.left_count, ranges);
}

// Ranges of indices on the left from the result's declared or existing shape.
void declared_ranges(const DomainState& d, std::vector<std::optional<IndexRange>>& ranges) {
  if (d.out.scatter) return;
  const bool typed = d.statement.type && !d.statement.type->extents.empty();
  for (size_t k = 0; k < d.out.left_count; ++k) {
    if (ranges[k]) continue;
    if (d.existing != nullptr && k < d.existing->size()) {
      ranges[k] = IndexRange{0, (*d.existing)[k]};
    } else if (typed && k < d.statement.type->extents.size()) {
      ranges[k] = IndexRange{0, evaluate_integer(d.scope, d.statement.type->extents[k])};
    }
  }
}

std::vector<IndexRange> find_ranges(DomainState& d) {
  std::vector<std::optional<IndexRange>> ranges(d.out.indices.size());
  for (const WhereSyntax& w : d.statement.where) {
    if (w.kind != Kind::Range) continue;
    const auto at = d.names.find(w.name);
    if (at == d.names.end())
      d.scope.fail(w.offset, "'" + std::string(w.name) + "' is a let, not an index");
    auto& range = ranges[at->second.size() - 1];  // the form of index k has size k + 1
    if (range) d.scope.fail(w.offset, "'" + std::string(w.name) + "' has a range already");
    range = IndexRange{evaluate_integer(d.scope, w.first), evaluate_integer(d.scope, w.second)};
    if (range->to < range->from)
      d.scope.fail(w.offset, "the range " + std::to_string(range->from) + ":" +
                                 std::to_string(range->to) + " of '" + std::string(w.name) +
                                 "' ends before it begins: write from:to, `to` not included");
  }
  for (const auto& [index, value] : d.fixed)
    ranges[index] = IndexRange{value, checked_add(value, 1)};
  declared_ranges(d, ranges);
  infer_missing(d, ranges);
  std::vector<IndexRange> found;
  for (size_t k = 0; k < ranges.size(); ++k) {
    if (!ranges[k])
      d.scope.fail(d.out.indices[k].offset, "the range of '" + std::string(d.out.indices[k].text) +
                                                "' cannot be inferred: add `where " +
                                                std::string(d.out.indices[k].text) + " in 0:...`");
    found.push_back(*ranges[k]);
  }
  return found;
}

void shape_domain(DomainState& d, const std::vector<IndexRange>& ranges) {
  Domain& domain = d.out.domain;
  domain.output_rank = d.out.left_count;
  std::vector<Affine> rows;
  for (size_t k = 0; k < ranges.size(); ++k) {
    const bool left = k < d.out.left_count;
    const IndexRange r{ranges[k].from, std::max(ranges[k].from, ranges[k].to)};
    if (left && r.from < 0)
      d.scope.fail(d.out.indices[k].offset, "'" + std::string(d.out.indices[k].text) +
                                                "' is negative: a result begins at 0");
    d.out.shifts.push_back(left ? 0 : r.from);
    domain.extents.push_back(left ? r.to : checked_sub(r.to, r.from));
    if (!left) continue;
    if (r.from > 0) rows.push_back(Affine::variable(k, 1, -r.from));
    if (d.existing == nullptr || k >= d.existing->size()) continue;
    if (r.to > (*d.existing)[k])
      d.scope.fail(d.out.indices[k].offset, "'" + std::string(d.out.indices[k].text) +
                                                "' runs past the end of '" +
                                                std::string(d.statement.results[0].text) + "'");
    if (r.to < (*d.existing)[k]) rows.push_back(Affine::variable(k, -1, r.to - 1));
    domain.extents[k] = (*d.existing)[k];
  }
  domain.inequalities = std::move(rows);
  for (size_t k = 0; k < d.out.indices.size(); ++k)
    d.names[d.out.indices[k].text] = Affine::variable(k, 1, d.out.shifts[k]);
}

bool fits_box(const DomainState& d, const Affine& form) {
  try {
    (void)d.out.domain.box_range(form);
    return true;
  } catch (const Overflow&) {
    return false;
  }
}

// Whether a condition uses a name that has no form for numbers of more than 64 bits.
bool mentions_wrapping(const DomainState& d, SyntaxId root) {
  for (SyntaxId id = d.scope.node(root).subtree; id <= root; ++id)
    if (d.wrapping.contains(d.scope.node(id).text)) return true;
  return false;
}

void add_let(DomainState& d, const WhereSyntax& w) {
  const SyntaxNode& node = d.scope.node(w.first);
  AffineReader reader(d.scope, d.names, &d.out.domain);
  if (node.kind == SyntaxKind::Operation && node.op == Op::FloorDiv) {
    const auto numerator = reader(d.scope.syntax->child(w.first, 0));
    const auto divisor = reader(d.scope.syntax->child(w.first, 1));
    const bool plain = numerator && divisor && divisor->is_constant() && divisor->constant() > 0;
    if (plain && fits_box(d, *numerator)) {
      d.out.domain.divisions.push_back({*numerator, divisor->constant()});
      d.names[w.name] = Affine::variable(d.out.domain.variable_count() - 1);
      return;
    }
  }
  if (const auto form = reader(w.first))
    d.names[w.name] = *form;
  else if (reader.overflowed() || mentions_wrapping(d, w.first))
    d.wrapping.insert(w.name);
}

bool add_comparison(DomainState& d, SyntaxId id, const SyntaxNode& node) {
  if (node.op != Op::Le && node.op != Op::Lt && node.op != Op::Eq) return false;
  Domain& domain = d.out.domain;
  const size_t before = domain.divisions.size();
  AffineReader reader(d.scope, d.names, &domain);
  const auto left = reader(d.scope.syntax->child(id, 0));
  const auto right = reader(d.scope.syntax->child(id, 1));
  if (left && right) {
    const bool left_is_larger = node.swapped || node.op == Op::Eq;  // left - right == 0
    const auto row = left_is_larger ? affine_constraint(node.op, *right, *left, domain)
                                    : affine_constraint(node.op, *left, *right, domain);
    if (row) {
      (row->equality ? domain.equalities : domain.inequalities).push_back(row->form);
      return true;
    }
  } else if (!reader.overflowed() && !mentions_wrapping(d, id)) {
    return false;
  }
  domain.divisions.resize(before);
  d.out.asked.push_back(id);
  return true;
}

void add_condition(DomainState& d, SyntaxId root) {
  std::vector<SyntaxId> open{root};
  while (!open.empty()) {
    const SyntaxId id = open.back();
    open.pop_back();
    const SyntaxNode& node = d.scope.node(id);
    const bool operation = node.kind == SyntaxKind::Operation && node.child_count == 2;
    if (operation && node.op == Op::And) {
      open.push_back(d.scope.syntax->child(id, 1));
      open.push_back(d.scope.syntax->child(id, 0));
    } else if (!operation || !add_comparison(d, id, node)) {
      d.scope.fail(node.offset,
                   "a condition on the domain must be an affine comparison of indices (with // and "
                   "% by positive constants); put others into select(condition, value, 0)");
    }
  }
}

// Names for divisions keep their place in the domain; other conditions become rows.
void add_conditions(DomainState& d) {
  for (const WhereSyntax& w : d.statement.where) {
    if (w.kind == Kind::Let) add_let(d, w);
    if (w.kind == Kind::Condition) add_condition(d, w.first);
  }
  const auto restricts_left = [&](const Affine& row) { return row.size() <= d.out.left_count; };
  d.out.partial = std::ranges::any_of(d.out.domain.inequalities, restricts_left) ||
                  std::ranges::any_of(d.out.domain.equalities, restricts_left) ||
                  (!d.out.domain.is_box() && !d.out.domain.divisions.empty()) ||
                  !d.out.asked.empty();
}

StatementDomain build_domain(DomainState& d) {
  d.out.scatter = d.statement.kind == StatementSyntax::Kind::Scatter || !left_is_indices(d);
  number_indices(d);
  const std::vector<IndexRange> ranges = find_ranges(d);
  shape_domain(d, ranges);
  add_conditions(d);
  return std::move(d.out);
}

}  // namespace

StatementDomain statement_domain(const SymbolTable& scope, const StatementSyntax& statement,
                                 const std::vector<int64_t>* existing) {
  DomainState state{scope, statement, existing};
  return build_domain(state);
}

}  // namespace adjit::graph
