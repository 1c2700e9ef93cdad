// runtime/diff/simplify/loops/linear_scans.cpp -- scans whose carries are linear in themselves, as
// prefix reductions.
//
// Worked example: a filter steps y = a(t) * y + b(t), where a and b depend on no carry. Two steps
// after each other are such a step again, so that all of them are one prefix reduction:
//   (P, Y)(t) = over r <= t of (a(r), b(r)),   (a1, b1) then (a2, b2) = (a1 a2, a2 b1 + b2),
// where the first b takes the initial carry in. It runs in linear time without a step's overhead,
// and its derivative, again a linear scan, does, too. What the step makes of the carry reads it
// from an array then; a scan without carries left is no scan but stages with one more axis.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/loops/time_axis.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

constexpr size_t kMostNodes = 200;  // of a carry's step, written out

// slope * carry + rest; an invalid part is 0.
struct Linear {
  ExprId slope, rest;
};

class LinearForm {
 public:
  LinearForm(ExprPool& pool, ExprId carry) : pool_(pool), carry_(carry) {}

  /// The body as a linear form in the carry's read, nullopt when it is not one.
  std::optional<Linear> operator()(ExprId body) {
    const std::vector<ExprId> nodes = reachable(pool_, std::span(&body, 1));
    for (ExprId id : nodes) {
      if (!depends(id)) continue;
      const std::optional<Linear> form = id == carry_ ? Linear{one(id), {}} : combine(id);
      if (!form) return std::nullopt;
      forms_[id.value] = *form;
    }
    return depends(body) ? forms_.at(body.value) : Linear{{}, body};
  }

 private:
  bool depends(ExprId id) {
    if (id == carry_) return true;
    const auto known = depends_.find(id.value);
    if (known != depends_.end()) return known->second;
    bool result = false;
    for (ExprId operand : pool_.operands(id)) result = result || depends(operand);
    return depends_[id.value] = result;
  }

  ExprId one(ExprId like) { return pool_.constant(1, pool_.dtype(like)); }
  ExprId zero(ExprId like) { return pool_.constant(0, pool_.dtype(like)); }
  Linear form_of(ExprId id) { return depends(id) ? forms_.at(id.value) : Linear{{}, id}; }

  ExprId sum(ExprId a, ExprId b) { return !a.valid() ? b : !b.valid() ? a : pool_.add(a, b); }
  ExprId product(ExprId a, ExprId b) { return a.valid() && b.valid() ? pool_.mul(a, b) : ExprId{}; }
  ExprId negated(ExprId a) { return a.valid() ? pool_.neg(a) : a; }

  std::optional<Linear> scaled(ExprId factor, const Linear& form) {
    return Linear{product(factor, form.slope), product(factor, form.rest)};
  }

  std::optional<Linear> combine(ExprId id) {
    const auto operand = [&](size_t k) { return pool_.operand(id, k); };
    const auto form = [&](size_t k) { return form_of(operand(k)); };
    switch (pool_[id].op) {
      case Op::Add:
        return Linear{sum(form(0).slope, form(1).slope), sum(form(0).rest, form(1).rest)};
      case Op::Sub:
        return Linear{sum(form(0).slope, negated(form(1).slope)),
                      sum(form(0).rest, negated(form(1).rest))};
      case Op::Neg: return Linear{negated(form(0).slope), negated(form(0).rest)};
      case Op::Mul:
        if (!depends(operand(0))) return scaled(operand(0), form(1));
        if (!depends(operand(1))) return scaled(operand(1), form(0));
        return std::nullopt;
      case Op::Div: {
        if (depends(operand(1))) return std::nullopt;
        const auto divided = [&](ExprId part) {
          return part.valid() ? pool_.div(part, operand(1)) : part;
        };
        return Linear{divided(form(0).slope), divided(form(0).rest)};
      }
      case Op::Select: {
        if (depends(operand(0))) return std::nullopt;
        const Linear yes = form(1), no = form(2);
        // A step that drops the carry would multiply it by 0, which an infinite carry survives as
        // NaN.
        if (!yes.slope.valid() || !no.slope.valid()) return std::nullopt;
        const auto rest = [&](const Linear& f) { return f.rest.valid() ? f.rest : zero(id); };
        return Linear{pool_.select(operand(0), yes.slope, no.slope),
                      pool_.select(operand(0), rest(yes), rest(no))};
      }
      default: return std::nullopt;
    }
  }

  ExprPool& pool_;
  ExprId carry_;
  std::unordered_map<uint32_t, bool> depends_;
  std::unordered_map<uint32_t, Linear> forms_;
};

class LinearScan {
 public:
  LinearScan(Graph& graph, Stage stage)
      : graph_(graph), loop_(std::move(stage)), scan_(*loop_.scan), step_(*scan_.body) {}

  /// Whether something was taken out of the scan.
  bool operator()() {
    bool any = false;
    for (size_t k = 0; k < scan_.carries;) {
      if (resolve(k)) {
        any = true;
        k = 0;  // others may depend on it alone
      } else {
        ++k;
      }
    }
    if (!any || scan_.carries > 0 || !map_over_time()) {
      scan_.body = std::make_shared<const Graph>(std::move(step_));
      loop_.scan = std::make_shared<const Scan>(std::move(scan_));
      graph_.stages.push_back(std::move(loop_));
    }
    graph_.stages.insert(graph_.stages.end(), std::make_move_iterator(after_.begin()),
                         std::make_move_iterator(after_.end()));
    return any;
  }

 private:
  std::optional<Outside> outside(TensorId inside) const {
    if (const auto lifted = lifted_.find(inside.value); lifted != lifted_.end())
      return lifted->second;
    const auto at = std::ranges::find(step_.inputs, inside);
    const auto k = static_cast<size_t>(at - step_.inputs.begin());
    if (at == step_.inputs.end() || k < scan_.carries) return std::nullopt;
    return Outside{loop_.operands[k], k < scan_.carries + scan_.scanned};
  }

  // The body with everything that elementwise stages of the step compute written out; invalid when
  // that is too much, or when something else is left than the carry and what lies outside.
  ExprId written_out(ExprId body, ExprId carry) {
    ExprPool& pool = step_.pool;
    const std::vector<size_t> stage_of = defining_stages(step_);
    for (size_t round = 0; round <= step_.stages.size(); ++round) {
      std::unordered_map<uint32_t, ExprId> replacements;
      const std::vector<ExprId> nodes = reachable(pool, std::span(&body, 1));
      if (nodes.size() > kMostNodes) return {};
      for (ExprId id : nodes) {
        if (!pool.is(id, Op::Read) || id == carry) continue;
        const TensorId tensor = pool.read_tensor(id);
        if (pool.read_predicate(id).valid()) return {};
        if (outside(tensor)) continue;
        const size_t s = stage_of[tensor.value];
        if (s == SIZE_MAX) return {};  // another carry, or a constant
        const Stage& stage = step_.stages[s];
        if (stage.kind != StageKind::Compute || stage.stop_gradient) return {};
        if (stage.combiner.kind != CombinerKind::None || !stage.domain.is_box()) {
          if (!lift(stage)) return {};
          continue;
        }
        const auto component = std::ranges::find(stage.results, tensor) - stage.results.begin();
        const std::vector<ExprId> index(pool.read_index(id).begin(), pool.read_index(id).end());
        replacements[id.value] =
            substitute_axes(pool, stage.bodies[static_cast<size_t>(component)], index);
      }
      if (replacements.empty()) return body;
      body = replace_nodes(pool, std::span(&body, 1), replacements)[0];
    }
    return {};
  }

  // A reduction of the step that waits for no carry, over all steps.
  bool lift(const Stage& stage) {
    if (stage.combiner.kind == CombinerKind::Custom) return false;
    Stage over = stage;
    for (ExprId& body : over.bodies) {
      body = written_out(body, {});
      if (!body.valid()) return false;
    }
    over.domain = with_time_axis(stage.domain, 0, scan_.trips, false);
    for (ExprId& body : over.bodies)
      body = over_time_axis(step_, graph_, body, 0, [&](TensorId t) { return *outside(t); });
    for (TensorId& result : over.results) {
      const TensorInfo info = step_.info(result);
      std::vector<int64_t> shape{scan_.trips};
      shape.insert(shape.end(), info.shape.begin(), info.shape.end());
      const TensorId whole = add_tensor(graph_, info.name + "_all", info.dtype, shape);
      lifted_[result.value] = Outside{whole, true};
      result = whole;
    }
    graph_.stages.push_back(std::move(over));
    return true;
  }

  bool resolve(size_t k) {
    const TensorInfo info = step_.info(step_.inputs[k]);
    if (info.dtype != DType::Float32 && info.dtype != DType::Float64) return false;
    const std::vector<size_t> stage_of = defining_stages(step_);
    const TensorId next = step_.outputs[k];
    if (stage_of[next.value] == SIZE_MAX) return false;
    const Stage& stage = step_.stages[stage_of[next.value]];
    if (stage.kind != StageKind::Compute || stage.combiner.kind != CombinerKind::None ||
        stage.domain != shape_box(info.shape))
      return false;
    const auto component = std::ranges::find(stage.results, next) - stage.results.begin();
    const ExprId carry = read(step_, step_.inputs[k], axes(step_.pool, info.shape.size()));
    const ExprId body = written_out(stage.bodies[static_cast<size_t>(component)], carry);
    if (!body.valid()) return false;
    const std::optional<Linear> form = LinearForm(step_.pool, carry)(body);
    if (!form || !form->slope.valid()) return false;
    replace_carry(k, info, *form);
    return true;
  }

  // A part of the form as the step `time` of a reduction whose outputs begin at axis `first`; 0
  // when it is invalid.
  ExprId at_step(ExprId part, const TensorInfo& info, size_t first) {
    if (!part.valid()) return graph_.pool.constant(0, info.dtype);
    const size_t rank = info.shape.size();
    const ExprId over =
        over_time_axis(step_, graph_, part, rank, [&](TensorId t) { return *outside(t); });
    std::vector<ExprId> now;
    for (size_t a = 0; a <= rank; ++a) now.push_back(graph_.pool.axis(first + a));
    return substitute_axes(graph_.pool, over, now);
  }

  std::vector<ExprId> axes_from(size_t first, size_t count) {
    std::vector<ExprId> result;
    for (size_t a = 0; a < count; ++a) result.push_back(graph_.pool.axis(first + a));
    return result;
  }

  // The carry after step t, for every t (one more axis, in front); or after the last one.
  TensorId reduction(const TensorInfo& info, TensorId start, const Linear& form, bool every_step) {
    ExprPool& pool = graph_.pool;
    const size_t first = every_step ? 1 : 0, rank = info.shape.size(), time = first + rank;
    Stage stage;
    if (every_step) stage.domain.extents.push_back(scan_.trips);
    stage.domain.extents.insert(stage.domain.extents.end(), info.shape.begin(), info.shape.end());
    stage.domain.output_rank = time;
    const std::vector<int64_t> shape = stage.domain.extents;
    stage.domain.extents.push_back(scan_.trips);
    const Affine ahead = Affine::variable(0) - Affine::variable(time);
    if (every_step) stage.domain.inequalities = {scan_.reverse ? -ahead : ahead};
    const ExprId slope = at_step(form.slope, info, first), rest = at_step(form.rest, info, first);
    const ExprId is_first = pool.make(
        Op::Eq, {pool.axis(time), pool.constant_int(scan_.reverse ? scan_.trips - 1 : 0)});
    // A start of zeros adds nothing: an infinite slope would make it NaN.
    const ExprId zero = pool.constant(0, info.dtype);
    const ExprId from_start =
        is_zero(start) ? zero : pool.mul(slope, read(graph_, start, axes_from(first, rank)));
    const ExprId moved =
        from_start == zero ? rest : pool.add(rest, pool.select(is_first, from_start, zero));
    const std::optional<double> constant = pool.value(slope);
    const bool only_adds = constant && *constant == 1;
    stage.lines = loop_.lines;
    if (only_adds) {
      stage.bodies = {moved};
      stage.combiner.kind = CombinerKind::Sum;
    } else if (!form.rest.valid()) {
      stage.bodies = {pool.select(is_first, from_start, slope)};
      stage.combiner.kind = CombinerKind::Product;
    } else {
      // Before the first step stands the identity's 0, which an infinite slope would make NaN.
      stage.bodies = {pool.select(is_first, zero, slope), moved};
      stage.combiner = composition(info.dtype);
      stage.results = {add_tensor(graph_, info.name + "_slope", info.dtype, shape)};
    }
    const TensorId result = add_tensor(graph_, info.name + "_steps", info.dtype, shape);
    stage.results.push_back(result);
    graph_.stages.push_back(std::move(stage));
    return result;
  }

  // Whether a stage before the loop fills the tensor with zeros.
  bool is_zero(TensorId tensor) const {
    const auto makes_it = [&](const Stage& stage) {
      return std::ranges::find(stage.results, tensor) != stage.results.end();
    };
    const auto made = std::find_if(graph_.stages.rbegin(), graph_.stages.rend(), makes_it);
    if (made == graph_.stages.rend() || made->kind != StageKind::Compute ||
        made->combiner.kind != CombinerKind::None || made->results.size() != 1)
      return false;
    return graph_.pool.is_zero(made->bodies[0]);
  }

  // Of two steps, the left one at the smaller t: it is the earlier one, unless the scan runs
  // backwards.
  Combiner composition(DType dtype) {
    ExprPool& pool = graph_.pool;
    const ExprId left_slope = pool.argument(0, dtype), left_rest = pool.argument(1, dtype);
    const ExprId right_slope = pool.argument(2, dtype), right_rest = pool.argument(3, dtype);
    const auto then = [&](ExprId early, ExprId late_slope, ExprId late) {
      return pool.add(pool.mul(late_slope, early), late);
    };
    Combiner combiner;
    combiner.kind = CombinerKind::Custom;
    combiner.combine = {pool.mul(left_slope, right_slope),
                        scan_.reverse ? then(right_rest, left_slope, left_rest)
                                      : then(left_rest, right_slope, right_rest)};
    combiner.identity = {pool.constant(1, dtype), pool.constant(0, dtype)};
    return combiner;
  }

  // Whether anything but the carry's own next value reads it.
  bool is_read_elsewhere(size_t k) const {
    std::vector<bool> needed(step_.tensors.size(), false);
    for (size_t other = 0; other < step_.outputs.size(); ++other)
      if (other != k) needed[step_.outputs[other].value] = true;
    for (size_t s = step_.stages.size(); s-- > 0;) {
      const Stage& stage = step_.stages[s];
      if (std::ranges::none_of(stage.results, [&](TensorId t) { return needed[t.value]; }))
        continue;
      for (TensorId t : tensors_read(step_, stage)) needed[t.value] = true;
    }
    return needed[step_.inputs[k].value];
  }

  // The last carry is that of the reduction; what else reads the carry reads slices of an array.
  void replace_carry(size_t k, const TensorInfo& info, const Linear& form) {
    const TensorId start = loop_.operands[k], input = step_.inputs[k];
    const size_t rank = info.shape.size();
    const bool every_step = is_read_elsewhere(k);
    const TensorId steps = reduction(info, start, form, every_step);
    Stage last;
    last.domain = shape_box(info.shape);
    std::vector<ExprId> end = axes_from(0, rank);
    if (every_step)
      end.insert(end.begin(), graph_.pool.constant_int(scan_.reverse ? 0 : scan_.trips - 1));
    last.bodies = {read(graph_, steps, end)};
    last.results = {loop_.results[k]};
    last.lines = loop_.lines;
    after_.push_back(std::move(last));

    const auto at = static_cast<std::ptrdiff_t>(k);
    step_.inputs.erase(step_.inputs.begin() + at);
    loop_.operands.erase(loop_.operands.begin() + at);
    step_.outputs.erase(step_.outputs.begin() + at);
    loop_.results.erase(loop_.results.begin() + at);
    --scan_.carries;
    const TensorId carried = every_step ? before_each_step(info, start, steps) : start;
    const bool sliced = every_step;  // else nothing reads it that is not dead by now
    const auto place =
        static_cast<std::ptrdiff_t>(sliced ? scan_.carries + scan_.scanned : step_.inputs.size());
    step_.inputs.insert(step_.inputs.begin() + place, input);
    loop_.operands.insert(loop_.operands.begin() + place, carried);
    ++(sliced ? scan_.scanned : scan_.fixed);
  }

  TensorId before_each_step(const TensorInfo& info, TensorId start, TensorId steps) {
    ExprPool& pool = graph_.pool;
    const size_t rank = info.shape.size();
    const ExprId t = pool.axis(0);
    const std::vector<ExprId> point = axes_from(1, rank);
    std::vector<ExprId> earlier{pool.add(t, pool.constant_int(scan_.reverse ? 1 : -1))};
    earlier.insert(earlier.end(), point.begin(), point.end());
    const ExprId is_first =
        pool.make(Op::Eq, {t, pool.constant_int(scan_.reverse ? scan_.trips - 1 : 0)});
    const ExprId before = read(graph_, steps, earlier, pool.make(Op::Not, {is_first}));
    const ExprId value = pool.select(is_first, read(graph_, start, point), before);
    return add_compute(graph_, info.name + "_before", shape_box(graph_.info(steps).shape), {},
                       {value}, loop_.lines)[0];
  }

  // Without carries every stage of the step is one stage over all steps.
  bool map_over_time() {
    if (std::ranges::any_of(step_.stages,
                            [](const Stage& s) { return s.kind != StageKind::Compute; }) ||
        !step_.constants.empty())
      return false;
    std::unordered_map<uint32_t, Outside> made;
    const auto where = [&](TensorId t) {
      const auto found = made.find(t.value);
      return found != made.end() ? found->second : *outside(t);
    };
    for (const Stage& stage : step_.stages) {
      Stage over = stage;
      over.domain = with_time_axis(stage.domain, 0, scan_.trips, false);
      for (ExprId& body : over.bodies) body = over_time_axis(step_, graph_, body, 0, where);
      const auto outer = [&](ExprId id) {  // a combiner has no axes and reads nothing
        return over_time_axis(step_, graph_, id, 0, where);
      };
      std::ranges::transform(over.combiner.combine, over.combiner.combine.begin(), outer);
      std::ranges::transform(over.combiner.identity, over.combiner.identity.begin(), outer);
      for (TensorId& result : over.results) {
        const TensorInfo info = step_.info(result);
        std::vector<int64_t> shape{scan_.trips};
        shape.insert(shape.end(), info.shape.begin(), info.shape.end());
        const TensorId whole = add_tensor(graph_, info.name, info.dtype, shape);
        made[result.value] = Outside{whole, true};
        result = whole;
      }
      graph_.stages.push_back(std::move(over));
    }
    for (size_t k = 0; k < step_.outputs.size(); ++k) {
      const Outside whole = where(step_.outputs[k]);
      const std::vector<int64_t> shape = graph_.info(loop_.results[k]).shape;
      Stage copy;
      copy.domain = shape_box(shape);
      copy.bodies = {
          read(graph_, whole.tensor,
               whole.sliced ? axes_from(0, shape.size()) : axes_from(1, shape.size() - 1))};
      copy.results = {loop_.results[k]};
      copy.lines = loop_.lines;
      graph_.stages.push_back(std::move(copy));
    }
    return true;
  }

  Graph& graph_;
  Stage loop_;
  Scan scan_;
  Graph step_;
  std::vector<Stage> after_;
  std::unordered_map<uint32_t, Outside> lifted_;  // reductions of the step, over all steps
};

}  // namespace

Graph linear_scans_as_prefixes(const Graph& graph) {
  Graph result = with_subgraphs(graph, linear_scans_as_prefixes);
  std::vector<Stage> stages = std::move(result.stages);
  result.stages.clear();
  bool any = false;
  for (Stage& stage : stages) {
    if (stage.kind == StageKind::Scan && !stage.scan->conditional &&
        stage.scan->trips >= kShortestRunning && stage.scan->segment == 0) {
      any |= LinearScan(result, std::move(stage))();
    } else {
      result.stages.push_back(std::move(stage));
    }
  }
  return any ? simplify(std::move(result)) : result;
}

}  // namespace adjit::diff
