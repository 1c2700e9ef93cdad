// runtime/diff/indices/index_pieces.cpp -- splitting a domain until its indices are affine.
#include "runtime/diff/indices/index_pieces.hpp"

#include <algorithm>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/conditions/guards.hpp"
#include "runtime/diff/indices/index_choices.hpp"
#include "runtime/diff/indices/indices.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

// Whether an expression is made of axes by operations whose choices split a domain. Products of
// axes are found when it has been split.
bool may_be_decided(const ExprPool& pool, ExprId root) {
  const auto known = [&](ExprId id) {
    const DType dtype = pool.dtype(id);
    if (dtype != DType::Int64 && dtype != DType::Bool) return false;
    return pool.is(id, Op::Constant) || pool.is(id, Op::Axis) || is_index_operation(pool[id].op);
  };
  return std::ranges::all_of(reachable(pool, std::span(&root, 1)), known);
}

class IndexSplitter {
 public:
  IndexSplitter(ExprPool& pool, const Domain& domain, std::span<const ExprId> coordinates,
                std::span<const ExprId> literals)
      : pool_(pool) {
    Part whole{domain, {coordinates.begin(), coordinates.end()}, {}};
    for (ExprId literal : literals) {
      if (may_be_decided(pool, literal))
        whole.literals = both(pool, whole.literals, literal);
      else
        data_ = both(pool, data_, literal);
    }
    open_.push_back(std::move(whole));
  }

  std::optional<std::vector<IndexPiece>> operator()() {
    while (!open_.empty()) {
      if (open_.size() + found_.size() > kMostPieces) return std::nullopt;
      Part part = std::move(open_.back());
      open_.pop_back();
      if (!decide(part)) continue;  // no point
      if (split(part)) continue;
      if (!finish(std::move(part))) return std::nullopt;
    }
    return std::move(found_);
  }

 private:
  struct Part {
    Domain domain;
    std::vector<ExprId> coordinates;
    ExprId literals;  // their conjunction: all that axes decide; invalid: none
  };

  // What the part's rows know of its coordinates and literals, and what literals say as rows; false
  // when it has no point.
  bool decide(Part& part) {
    size_t rows = 0;
    do {
      rows = part.domain.inequalities.size() + part.domain.equalities.size();
      if (part.literals.valid()) {
        const ExprId known = without_choices(pool_, part.literals, part.domain);
        const Restriction r = restrict_by(pool_, known, part.domain);
        if (r.empty || provably_empty(part.domain)) return false;
        part.literals = r.rest;
      }
    } while (part.literals.valid() &&
             rows != part.domain.inequalities.size() + part.domain.equalities.size());
    for (ExprId& coordinate : part.coordinates)
      coordinate = without_choices(pool_, coordinate, part.domain);
    return true;
  }

  // Opens a part for each sign of the first choice that is left; false when there is none.
  bool split(const Part& part) {
    std::vector<ExprId> roots(part.coordinates);
    if (part.literals.valid()) roots.push_back(part.literals);
    Domain extended = part.domain;
    for (ExprId id : reachable(pool_, roots)) {
      const std::optional<IndexChoice> choice = choice_of(pool_, id, extended);
      if (!choice) continue;
      std::vector<Sign> signs = signs_of(*choice);
      for (Sign sign : signs) {
        Part half = part;
        half.domain = extended;
        restrict_to(half.domain, *choice, sign);
        if (provably_empty(half.domain)) continue;
        half.domain = tighten(std::move(half.domain));
        open_.push_back(std::move(half));
      }
      return true;
    }
    return false;
  }

  // The piece of a part whose coordinates have no choice left; false when one is not affine.
  bool finish(Part part) {
    IndexPiece piece;
    IndexMap map = index_map(pool_, part.coordinates, std::move(part.domain));
    if (!map.is_affine()) return false;
    for (std::optional<Affine>& form : map.forms) piece.index.push_back(std::move(*form));
    piece.condition = both(pool_, data_, part.literals);
    piece.domain = std::move(map.domain);
    found_.push_back(std::move(piece));
    return true;
  }

  ExprPool& pool_;
  ExprId data_;  // literals that are left open everywhere
  std::vector<Part> open_;
  std::vector<IndexPiece> found_;
};

}  // namespace

std::optional<std::vector<IndexPiece>> index_pieces(ExprPool& pool, const Domain& domain,
                                                    std::span<const ExprId> coordinates,
                                                    ExprId condition) {
  const auto decidable = [&](ExprId id) { return may_be_decided(pool, id); };
  if (!std::ranges::all_of(coordinates, decidable)) return std::nullopt;
  const std::vector<ExprId> literals = conjuncts(pool, condition);
  if (auto pieces = IndexSplitter(pool, domain, coordinates, literals)();
      pieces || literals.empty())
    return pieces;
  auto pieces = IndexSplitter(pool, domain, coordinates, {})();
  if (pieces)
    for (IndexPiece& piece : *pieces) piece.condition = condition;
  return pieces;
}

}  // namespace adjit::diff
