// runtime/diff/simplify/invariant_shifts.cpp -- maxima that no output changes with are constants
// for the derivative.
//
// Worked example, a softmax:
//   m[i] = max_j x[i, j],   e[i, j] = exp(x[i, j] - m[i]),   y[i, j] = e[i, j] / sum_k e[i, k]
// If m[i] grows by d, e[i, j] and its sum are exp(-d) times what they were, and y is the same,
// whatever d: m's gradient is zero, and so are all higher derivatives with respect to it. What is
// subtracted to keep exponentials in range is then not derived at all.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::diff {
namespace {

// How a value follows when the shifted tensor grows by d at one place.
struct Response {
  enum Kind : uint8_t {
    Fixed,  // not at all
    Shift,  // it grows by degree * d
    Scale,  // it is multiplied by exp(degree * d)
  };
  Kind kind = Fixed;
  double degree = 0;
  std::vector<ExprId> place;  // of the shifted tensor: indices over the value's axes
  bool operator==(const Response&) const = default;
};

Response response(Response::Kind kind, double degree, std::vector<ExprId> place) {
  if (degree == 0) return {};
  return {kind, degree, std::move(place)};
}

// Follows one tensor's shift through a graph.
class ShiftWalk {
 public:
  ShiftWalk(Graph& graph, const std::vector<std::vector<size_t>>& readers, TensorId shifted)
      : graph_(graph), pool_(graph.pool), readers_(readers) {
    const std::vector<ExprId> point = axes(pool_, graph.info(shifted).shape.size());
    follow(shifted, response(Response::Shift, 1, point));
  }

  // Whether every output stays what it is.
  bool is_invariant() {
    while (!open_.empty()) {
      const size_t s = *open_.begin();
      open_.erase(open_.begin());
      const Stage& stage = graph_.stages[s];
      const std::optional<Response> result = of_stage(stage);
      if (!result) return false;
      if (result->kind != Response::Fixed) follow(stage.results[0], *result);
    }
    return std::ranges::none_of(graph_.outputs,
                                [&](TensorId output) { return known_.contains(output.value); });
  }

 private:
  void follow(TensorId tensor, Response how) {
    known_[tensor.value] = std::move(how);
    open_.insert(readers_[tensor.value].begin(), readers_[tensor.value].end());
  }

  // Of the stage's only result; nullopt: another one, or none that is known.
  std::optional<Response> of_stage(const Stage& stage) {
    if (stage.kind != StageKind::Compute || stage.bodies.size() != 1 || stage.stop_gradient)
      return std::nullopt;
    std::optional<Response> body = of_expression(stage.bodies[0]);
    if (!body || body->kind == Response::Fixed) return body;
    // Where rows leave nothing of a point it holds a constant.
    if (!stage.domain.is_box()) return std::nullopt;
    const CombinerKind kind = stage.combiner.kind;
    const bool keeps = kind == CombinerKind::None || kind == CombinerKind::Max ||
                       kind == CombinerKind::Min ||
                       (kind == CombinerKind::Sum && body->kind == Response::Scale);
    if (!keeps || names_axis_from(stage.domain.output_rank, body->place)) return std::nullopt;
    return body;
  }

  bool names_axis_from(size_t first, const std::vector<ExprId>& place) const {
    return std::ranges::any_of(reachable(pool_, place), [&](ExprId id) {
      return pool_.is(id, Op::Axis) && pool_.axis_number(id) >= first;
    });
  }

  std::optional<Response> of_expression(ExprId root) {
    std::unordered_map<uint32_t, Response> done;
    for (ExprId id : reachable(pool_, std::span(&root, 1))) {
      std::vector<Response> operands;
      bool fixed = true;
      for (ExprId operand : pool_.operands(id)) {
        operands.push_back(done.at(operand.value));
        fixed = fixed && operands.back().kind == Response::Fixed;
      }
      std::optional<Response> now = pool_.is(id, Op::Read) ? of_read(id, fixed)
                                    : fixed                ? Response()
                                                           : of_operation(id, operands);
      if (!now) return std::nullopt;
      done.emplace(id.value, std::move(*now));
    }
    return done.at(root.value);
  }

  std::optional<Response> of_read(ExprId id, bool fixed_index) {
    if (!fixed_index) return std::nullopt;
    const auto known = known_.find(pool_.read_tensor(id).value);
    if (known == known_.end()) return Response();
    if (pool_.read_predicate(id).valid()) return std::nullopt;
    const std::vector<ExprId> index(pool_.read_index(id).begin(), pool_.read_index(id).end());
    return response(known->second.kind, known->second.degree,
                    substitute_axes(pool_, known->second.place, index));
  }

  bool is_constant(ExprId id, double value) const {
    const std::optional<double> known = pool_.value(id);
    return known && *known == value;
  }

  // Zero is scaled by anything, minus infinity shifted by anything.
  bool goes_with(ExprId id, const Response& own, const Response& other) const {
    if (own == other) return true;
    return other.kind == Response::Scale ? is_constant(id, 0) : is_constant(id, -HUGE_VAL);
  }

  // Of an operation with an operand that is not fixed.
  std::optional<Response> of_operation(ExprId id, const std::vector<Response>& r) {
    const auto operand = [&](size_t k) { return pool_.operand(id, k); };
    switch (pool_[id].op) {
      case Op::Neg:
        return response(r[0].kind, r[0].kind == Response::Shift ? -r[0].degree : r[0].degree,
                        r[0].place);
      case Op::Add: return sum(id, r, 1);
      case Op::Sub: return sum(id, r, -1);
      case Op::Mul: return product(id, r, 1);
      case Op::Div: return product(id, r, -1);
      case Op::Exp:
        if (r[0].kind != Response::Shift) return std::nullopt;
        return response(Response::Scale, r[0].degree, r[0].place);
      case Op::Log:
        if (r[0].kind != Response::Scale) return std::nullopt;
        return response(Response::Shift, r[0].degree, r[0].place);
      case Op::Cast:
        if (!is_float(pool_.dtype(id)) || !is_float(pool_.dtype(operand(0)))) return std::nullopt;
        return r[0];
      case Op::Max:
      case Op::Min: return same(operand(0), r[0], operand(1), r[1]);
      case Op::Select:
        if (r[0].kind != Response::Fixed) return std::nullopt;
        return same(operand(1), r[1], operand(2), r[2]);
      default: return std::nullopt;
    }
  }

  std::optional<Response> same(ExprId a, const Response& of_a, ExprId b,
                               const Response& of_b) const {
    if (of_a.kind != Response::Fixed && goes_with(b, of_b, of_a)) return of_a;
    if (of_b.kind != Response::Fixed && goes_with(a, of_a, of_b)) return of_b;
    return std::nullopt;
  }

  std::optional<Response> sum(ExprId id, const std::vector<Response>& r, double sign) const {
    if (r[0].kind == Response::Scale || r[1].kind == Response::Scale)
      return same(pool_.operand(id, 0), r[0], pool_.operand(id, 1), r[1]);
    return joined(r, sign);
  }

  std::optional<Response> product(ExprId id, const std::vector<Response>& r, double sign) const {
    for (const size_t k : {size_t{0}, size_t{1}}) {
      if (r[k].kind != Response::Shift) continue;
      const std::optional<double> factor = pool_.value(pool_.operand(id, 1 - k));
      if (!factor || (sign < 0 && k == 1)) return std::nullopt;
      return response(Response::Shift, sign > 0 ? r[k].degree * *factor : r[k].degree / *factor,
                      r[k].place);
    }
    return joined(r, sign);
  }

  // Degrees add up, or are subtracted, where both follow the same element.
  static std::optional<Response> joined(const std::vector<Response>& r, double sign) {
    if (r[1].kind == Response::Fixed) return r[0];
    if (r[0].kind == Response::Fixed) return response(r[1].kind, sign * r[1].degree, r[1].place);
    if (r[0].kind != r[1].kind || r[0].place != r[1].place) return std::nullopt;
    return response(r[0].kind, r[0].degree + sign * r[1].degree, r[0].place);
  }

  Graph& graph_;
  ExprPool& pool_;
  const std::vector<std::vector<size_t>>& readers_;
  std::unordered_map<uint32_t, Response> known_;  // of tensors that are not fixed
  std::set<size_t> open_;                         // stages that read them
};

}  // namespace

Graph stop_at_invariant_shifts(Graph graph) {
  std::vector<std::vector<size_t>> readers;
  for (size_t s = 0; s < graph.stages.size(); ++s) {
    const Stage& stage = graph.stages[s];
    const CombinerKind kind = stage.combiner.kind;
    if (stage.kind != StageKind::Compute || stage.bodies.size() != 1 || stage.stop_gradient ||
        (kind != CombinerKind::Max && kind != CombinerKind::Min) ||
        !is_float(graph.info(stage.results[0]).dtype))
      continue;
    if (readers.empty()) {
      readers.resize(graph.tensors.size());
      for (size_t r = 0; r < graph.stages.size(); ++r)
        for (TensorId tensor : tensors_read(graph, graph.stages[r]))
          readers[tensor.value].push_back(r);
    }
    if (ShiftWalk(graph, readers, stage.results[0]).is_invariant())
      graph.stages[s].stop_gradient = true;
  }
  return graph;
}

}  // namespace adjit::diff
