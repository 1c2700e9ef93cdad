// autosched/analysis/work.hpp -- how much evaluating expressions costs, in vector instructions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "autosched/analysis/reads/join_chain.hpp"
#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// Rough cost of one operation on a vector: 1 is an addition, an exponential about 14.
double operation_cost(Op op, DType dtype);
/// That of a node. Powers whose exponents are constant quarters are roots
/// (jit/emit/math/roots.cpp).
double operation_cost(const ExprPool& pool, ExprId id);

/// Whether a value is a term where a condition holds and zero elsewhere: select(c, term, 0).
bool is_choice_of_term(const ExprPool& pool, ExprId value);
/// Whether the code of a GPU adds up such terms with one instruction each, which takes place where
/// the condition holds: a reduction's sums, all in float32 or float64.
bool adds_chosen_terms(const ExprPool& pool, const Stage& stage);

/// Cycles to fold the lanes of one partial result of so many that are folded together
/// (jit/emit/operations/combine.hpp).
double fold_cost(int64_t partials, int64_t lanes);

/// Lanes of a vector of the widest type that the stage computes with.
int64_t full_lanes(const Graph& graph, const Stage& stage, int vector_bits);

/// Expressions counted once each; index arithmetic of reads, and of joins (join_chain.hpp), is left
/// out.
struct Work {
  size_t nodes = 0;
  double cost = 0;  // of the operations, loads not included
  size_t reads = 0;
};

/// Measures bodies of one pool again and again, in time linear in what is measured.
class WorkMeter {
 public:
  explicit WorkMeter(const ExprPool& pool) : pool_(pool) {}
  /// The union of what the roots reach.
  Work operator()(std::span<const ExprId> roots);
  /// The reads among it.
  std::vector<ExprId> reads(std::span<const ExprId> roots);

 private:
  template <typename Visit>
  void walk(std::span<const ExprId> roots, Visit&& visit);

  std::optional<JoinChain> join_at(ExprId id);

  const ExprPool& pool_;
  std::unordered_set<uint32_t> no_joins_;  // selects that were looked at and begin no join
  std::vector<uint32_t> visited_;          // per node: the last walk that saw it
  uint32_t walk_ = 0;
  std::vector<ExprId> stack_;
};

}  // namespace adjit::sched
