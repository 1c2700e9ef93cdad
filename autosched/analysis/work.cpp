// autosched/analysis/work.cpp -- how much evaluating expressions costs.
#include "autosched/analysis/work.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace adjit::sched {
namespace {

// In vector instructions, as all of these.
constexpr double kRoot = 20;  // a power that is made of roots
// A gather of pointers and one of elements, in lanes that lie in several parts: on Zen 4 a stack of
// 400 along the last axis takes 19 ns for 16 lanes, 14 times as long as a vector in one part; an
// addition takes 1.
constexpr double kJoin = 20;
constexpr double kFoldPair = 2;    // two vectors of partial results into one
constexpr double kFoldHalf = 3.5;  // a vector into its half

}  // namespace

double operation_cost(Op op, DType dtype) {
  const double wide = dtype == DType::Float64 ? 2 : 1;
  switch (op) {
    case Op::Constant:
    case Op::Axis:
    case Op::Argument:
    case Op::Read: return 0;
    case Op::Div:
    case Op::Sqrt:
    case Op::Rsqrt: return is_float(dtype) ? 6 * wide : 20;
    case Op::FloorDiv:
    case Op::Mod:
    case Op::Fmod: return is_float(dtype) ? 8 : 12;
    case Op::Exp:
    case Op::Exp2: return 14 * wide;
    case Op::Expm1:
    case Op::Log:
    case Op::Log2:
    case Op::Log10:
    case Op::Log1p:
    case Op::Sigmoid:
    case Op::Sin:
    case Op::Cos: return 20 * wide;
    case Op::Tanh:
    case Op::Tan:
    case Op::Sinh:
    case Op::Cosh:
    case Op::Atan:
    case Op::Asin:
    case Op::Acos:
    case Op::Asinh:
    case Op::Acosh:
    case Op::Atanh:
    case Op::Erf:
    case Op::Erfc: return 28 * wide;
    case Op::Erfinv:
    case Op::Pow:
    case Op::Atan2: return is_float(dtype) ? 50 * wide : 20;
    case Op::Hypot: return 20 * wide;
    case Op::Lgamma:
    case Op::Digamma:
    case Op::Polygamma: return 100 * wide;
    default: return 1;
  }
}

double operation_cost(const ExprPool& pool, ExprId id) {
  const Node& node = pool[id];
  if (node.op == Op::Pow && is_float(node.dtype)) {
    const double quarters =
        4 * pool.value(pool.operands(id)[1]).value_or(std::numeric_limits<double>::quiet_NaN());
    if (std::abs(quarters) <= 7 && quarters == std::trunc(quarters) && std::fmod(quarters, 4) != 0)
      return node.dtype == DType::Float64 ? 2 * kRoot : kRoot;
  }
  return operation_cost(node.op, node.dtype);
}

bool is_choice_of_term(const ExprPool& pool, ExprId value) {
  if (!pool.is(value, Op::Select) || !is_float(pool.dtype(value))) return false;
  return pool.value(pool.operand(value, 2)) == 0.0;
}

bool adds_chosen_terms(const ExprPool& pool, const Stage& stage) {
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::Sum &&
         std::ranges::all_of(stage.bodies, [&](ExprId body) {
           const DType dtype = pool.dtype(body);
           return dtype == DType::Float32 || dtype == DType::Float64;
         });
}

// What a select begins. The rest of a chain that joins nothing joins nothing either: each is looked
// at once.
std::optional<JoinChain> WorkMeter::join_at(ExprId id) {
  if (!pool_.is(id, Op::Select) || no_joins_.contains(id.value)) return {};
  std::optional<JoinChain> chain = join_chain(pool_, id);
  for (ExprId rest = id; !chain && pool_.is(rest, Op::Select); rest = pool_.operand(rest, 2))
    if (!no_joins_.insert(rest.value).second) break;
  return chain;
}

template <typename Visit>
void WorkMeter::walk(std::span<const ExprId> roots, Visit&& visit) {
  if (visited_.size() < pool_.size()) visited_.resize(pool_.size() + pool_.size() / 2, 0);
  ++walk_;
  stack_.assign(roots.begin(), roots.end());
  while (!stack_.empty()) {
    const ExprId id = stack_.back();
    stack_.pop_back();
    if (std::exchange(visited_[id.value], walk_) == walk_) continue;
    const std::optional<JoinChain> join = join_at(id);
    visit(id, join.has_value());
    if (join) {
      for (ExprId part : join->parts) {
        const ExprId read = read_of_part(pool_, part);
        if (std::exchange(visited_[read.value], walk_) != walk_) visit(read, false);
      }
      continue;
    }
    const bool plain_read = pool_.is(id, Op::Read);
    for (ExprId operand : pool_.operands(id)) {
      // Of an index only what costs something: data in it.
      const Op op = pool_[operand].op;
      if (plain_read && pool_.dtype(operand) == DType::Int64 &&
          (op == Op::Axis || op == Op::Constant))
        continue;
      stack_.push_back(operand);
    }
  }
}

int64_t full_lanes(const Graph& graph, const Stage& stage, int vector_bits) {
  size_t widest = 4;
  for (ExprId id : reachable(graph.pool, stage.bodies))
    if (graph.pool.dtype(id) == DType::Float64) widest = 8;
  for (TensorId id : stage.results) widest = std::max(widest, size_of(graph.info(id).dtype));
  return vector_bits / 8 / static_cast<int64_t>(widest);
}

double fold_cost(int64_t partials, int64_t lanes) {
  const auto together = static_cast<double>(
      std::bit_floor(static_cast<uint64_t>(std::clamp<int64_t>(partials, 1, lanes))));
  return (kFoldPair * (together - 1) +
          kFoldHalf * std::log2(static_cast<double>(lanes) / together)) /
         together;
}

Work WorkMeter::operator()(std::span<const ExprId> roots) {
  Work work;
  walk(roots, [&](ExprId id, bool joins) {
    const Node& node = pool_[id];
    if (node.op == Op::Read) ++work.reads;
    if (node.dtype == DType::Int64 && node.op != Op::Read) return;  // index arithmetic
    ++work.nodes;
    work.cost += joins ? kJoin : operation_cost(pool_, id);
  });
  return work;
}

std::vector<ExprId> WorkMeter::reads(std::span<const ExprId> roots) {
  std::vector<ExprId> found;
  walk(roots, [&](ExprId id, bool) {
    if (pool_.is(id, Op::Read)) found.push_back(id);
  });
  std::ranges::sort(found);
  return found;
}

}  // namespace adjit::sched
