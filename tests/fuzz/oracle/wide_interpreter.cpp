// tests/fuzz/oracle/wide_interpreter.cpp -- stages on arrays of wide values.
#include "tests/fuzz/oracle/wide_interpreter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "runtime/expr/integer.hpp"
#include "runtime/expr/scalar.hpp"
#include "tests/fuzz/oracle/wide_evaluator.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

size_t count_of(std::span<const int64_t> shape) {
  size_t count = 1;
  for (int64_t n : shape) count *= static_cast<size_t>(n);
  return count;
}

// Calls visit() for every point of the box that the axes from `first` on make, last axis fastest.
template <class Visit>
void visit_box(std::span<const int64_t> extents, std::vector<int64_t>& point, size_t first,
               size_t end, Visit&& visit) {
  for (size_t k = first; k < end; ++k) {
    if (extents[k] <= 0) return;
    point[k] = 0;
  }
  for (;;) {
    visit();
    size_t k = end;
    while (k > first && ++point[k - 1] == extents[k - 1]) point[--k] = 0;
    if (k == first) return;
  }
}

// What is beyond may overflow when it is computed with rounding: accumulators are float or double.
long double half_of_range(DType dtype) {
  return (dtype == DType::Float64 ? static_cast<long double>(std::numeric_limits<double>::max())
                                  : std::numeric_limits<float>::max()) /
         2;
}

// Of so many terms, whose absolute values add up to `spread`, in any order.
long double error_of_sum(DType dtype, int64_t terms, long double spread) {
  if (std::isfinite(spread) && spread >= half_of_range(dtype)) return Wide::kUnknown;
  return static_cast<long double>(terms) * unit_of(dtype) * spread;
}

/// The running values of a stage. `spread` is the sum of the terms' absolute values: another order
/// of a sum may be off by that times its number of terms in units of the last place.
class WideAccumulator {
 public:
  WideAccumulator(const Graph& graph, const Stage& stage, std::span<const WideArray* const> arrays,
                  Decisions& decisions)
      : graph_(graph),
        combiner_(stage.combiner),
        combine_(graph, stage.combiner.combine, arrays, decisions),
        decisions_(decisions) {
    for (ExprId body : stage.bodies) dtypes_.push_back(accumulator_of(graph.pool.dtype(body)));
    values_.resize(dtypes_.size());
  }

  void reset() {
    empty_ = true;
    terms_ = 0;
    spread_ = 0;
    largest_ = smallest_ = 1;
    for (size_t k = 0; k < values_.size(); ++k) values_[k] = identity(k);
  }
  void set(size_t k, Wide value) { values_[k] = value; }
  Wide value(size_t k) const { return values_[k]; }
  Wide total(size_t k) const {
    Wide value = values_[k];
    if (combiner_.kind == CombinerKind::Sum && is_float(dtypes_[k]))
      value.error += error_of_sum(dtypes_[k], terms_, spread_);
    // Another order of a product may leave the range on its way: 1e-30 1e-30 1e30 1e30 0.
    if (combiner_.kind == CombinerKind::Product && is_float(dtypes_[k]) && !in_range(k))
      value.error = Wide::kUnknown;
    return value;
  }

  void add(WideEvaluator& bodies) {
    switch (combiner_.kind) {
      case CombinerKind::None:
        for (size_t k = 0; k < values_.size(); ++k) values_[k] = bodies.value(k);
        break;
      case CombinerKind::ArgMax:
      case CombinerKind::ArgMin: take_better(bodies); break;
      case CombinerKind::Custom: combine(bodies); break;
      default:
        for (size_t k = 0; k < values_.size(); ++k) fold(bodies.value(k), k);
    }
    empty_ = false;
  }

 private:
  Wide identity(size_t k) const {
    const DType dtype = dtypes_[k];
    const double infinity = std::numeric_limits<double>::infinity();
    const auto constant = [&](double value) {
      if (is_float(dtype)) return Wide::of_float(value);
      if (dtype == DType::Bool) return Wide::of_int(value > 0);
      return Wide::of_int(saturate_to(value, dtype));
    };
    switch (combiner_.kind) {
      case CombinerKind::Product: return constant(1);
      case CombinerKind::All: return Wide::of_int(1);
      case CombinerKind::Max: return constant(-infinity);
      case CombinerKind::Min: return constant(infinity);
      case CombinerKind::ArgMax: return k == 0 ? constant(-infinity) : Wide::of_int(0);
      case CombinerKind::ArgMin: return k == 0 ? constant(infinity) : Wide::of_int(0);
      case CombinerKind::Custom: {
        const Node& node = graph_.pool[combiner_.identity[k]];
        return is_float(node.dtype) ? Wide::of_float(std::bit_cast<double>(node.payload))
                                    : Wide::of_int(static_cast<int64_t>(node.payload));
      }
      default: return constant(0);
    }
  }

  void fold(const Wide& term, size_t k) {
    Wide& running = values_[k];
    const Wide operands[] = {running, term};
    const auto with = [&](Op op) {
      running = apply_wide(op, dtypes_[k], dtypes_[k], operands, decisions_);
    };
    switch (combiner_.kind) {
      case CombinerKind::Product: {
        const long double size = std::abs(term.f) + (std::isfinite(term.error) ? term.error : 0);
        largest_ *= std::max(size, 1.0L);
        if (size > 0) smallest_ *= std::min(size, 1.0L);
        return with(Op::Mul);
      }
      case CombinerKind::Max: return with(Op::Max);
      case CombinerKind::Min: return with(Op::Min);
      case CombinerKind::Any: return fold_logic(term, k, true);
      case CombinerKind::All: return fold_logic(term, k, false);
      default: break;
    }
    if (!is_float(dtypes_[k])) return with(Op::Add);
    // A multiply-add rounds once, other code rounds its product before: within the term's error.
    running = Wide::of_float(running.f + term.f, running.error + term.error);
    if (std::isnan(running.f)) running.error = Wide::kUnknown;
    spread_ += std::abs(term.f);
    ++terms_;
  }

  // Whether every partial product lies in the range of the type.
  bool in_range(size_t k) const {
    const long double least = dtypes_[k] == DType::Float64 ? std::numeric_limits<double>::min()
                                                           : std::numeric_limits<float>::min();
    return largest_ < half_of_range(dtypes_[k]) && smallest_ >= least;
  }

  void fold_logic(const Wide& term, size_t k, bool decisive) {
    Wide& running = values_[k];
    const auto decides = [&](const Wide& v) { return v.sure() && (v.i != 0) == decisive; };
    if (decides(running)) return;
    if (decides(term)) {
      running = term;
      return;
    }
    running.i = decisive ? (running.i | term.i) : (running.i & term.i);
    running.error = std::max(running.error, term.error);
  }

  void take_better(WideEvaluator& bodies) {
    const Wide candidate = bodies.value(0);
    const bool max = combiner_.kind == CombinerKind::ArgMax;
    if (empty_) {
      values_ = {candidate, bodies.value(1)};
      return;
    }
    const Wide best = values_[0];
    // Integers are converted first: a difference of two far ones wraps.
    const long double above = is_float(dtypes_[0]) ? candidate.f - best.f
                                                   : static_cast<long double>(candidate.i) -
                                                         static_cast<long double>(best.i);
    const long double gap = max ? above : -above;
    const bool wins = gap > 0;
    decisions_.add(wins ? 1 : gap == 0 ? 2 : 0);
    const long double error = candidate.error + best.error;
    const bool sure = decisions_.is_sure(error == 0 || std::abs(gap) > 4 * error);
    if (wins) values_ = {candidate, bodies.value(1)};
    // Between two that are as good the value is known, the place is not.
    if (!sure || std::isnan(gap)) {
      values_[0].error = std::max(candidate.error, best.error);
      values_[1].error = Wide::kUnknown;
    }
  }

  void combine(WideEvaluator& bodies) {
    std::vector<Wide> arguments = values_;
    for (size_t k = 0; k < values_.size(); ++k) arguments.push_back(bodies.value(k));
    combine_.move_to({}, arguments);
    for (size_t k = 0; k < values_.size(); ++k) values_[k] = combine_.value(k);
  }

  const Graph& graph_;
  const Combiner& combiner_;
  WideEvaluator combine_;
  Decisions& decisions_;
  std::vector<DType> dtypes_;
  std::vector<Wide> values_;
  int64_t terms_ = 0;
  long double spread_ = 0;
  long double largest_ = 1, smallest_ = 1;  // of all products of some of a product's terms
  bool empty_ = true;
};

Wide stored(Wide value, DType from, DType to, Decisions& decisions) {
  if (from == to) return value;
  return apply_wide(Op::Cast, from, to, std::span(&value, 1), decisions);
}

WideArray slice_of(const WideArray& array, int64_t t) {
  WideArray row{array.dtype, {array.shape.begin() + 1, array.shape.end()}, {}};
  const size_t count = count_of(row.shape);
  const auto first = array.values.begin() + static_cast<std::ptrdiff_t>(count) * t;
  row.values.assign(first, first + static_cast<std::ptrdiff_t>(count));
  return row;
}

std::vector<WideArray> operand_values(const Stage& stage,
                                      std::span<const WideArray* const> arrays) {
  std::vector<WideArray> values;
  for (TensorId operand : stage.operands) values.push_back(*arrays[operand.value]);
  return values;
}

}  // namespace

WideArray WideArray::zeros(DType dtype, std::vector<int64_t> shape) {
  const size_t count = count_of(shape);
  return {dtype, std::move(shape), std::vector<Wide>(count)};
}

WideArray WideArray::of(const Array& array) {
  WideArray wide = zeros(array.dtype, array.shape);
  for (size_t k = 0; k < wide.values.size(); ++k) {
    const Scalar value = load_element(array.bytes.data() + k * size_of(array.dtype), array.dtype);
    wide.values[k] = is_float(array.dtype) ? Wide::of_float(value.f) : Wide::of_int(value.i);
  }
  return wide;
}

std::vector<WideArray> WideInterpreter::run_compute(const Graph& graph, const Stage& stage,
                                                    Arrays arrays) {
  const Domain& domain = stage.domain;
  std::vector<WideArray> results;
  for (TensorId id : stage.results)
    results.push_back(WideArray::zeros(graph.info(id).dtype, graph.info(id).shape));
  WideEvaluator bodies(graph, stage.bodies, arrays, decisions_);
  WideAccumulator accumulator(graph, stage, arrays, decisions_);
  std::vector<int64_t> point(domain.rank(), 0);
  size_t linear = 0;
  visit_box(domain.extents, point, 0, domain.output_rank, [&] {
    accumulator.reset();
    visit_box(domain.extents, point, domain.output_rank, domain.rank(), [&] {
      if (!domain.is_box() && !domain.contains(point)) return;
      bodies.move_to(point);
      accumulator.add(bodies);
    });
    for (size_t k = 0; k < results.size(); ++k)
      results[k].values[linear] =
          stored(accumulator.total(k), accumulator_of(graph.pool.dtype(stage.bodies[k])),
                 results[k].dtype, decisions_);
    ++linear;
  });
  return results;
}

std::vector<WideArray> WideInterpreter::run_scatter(const Graph& graph, const Stage& stage,
                                                    Arrays arrays) {
  const TensorInfo& info = graph.info(stage.results[0]);
  WideArray result = WideArray::zeros(info.dtype, info.shape);
  std::vector<ExprId> roots{stage.bodies[0]};
  roots.insert(roots.end(), stage.target.begin(), stage.target.end());
  WideEvaluator evaluator(graph, roots, arrays, decisions_);
  WideAccumulator accumulator(graph, stage, arrays, decisions_);
  accumulator.reset();
  for (Wide& value : result.values) value = accumulator.value(0);
  if (stage.initial.valid()) result.values = arrays[stage.initial.value]->values;
  // A term's part in the rounding of its element's sum, in any order.
  const bool sums = stage.combiner.kind == CombinerKind::Sum && is_float(info.dtype);
  const DType accumulated = accumulator_of(info.dtype);
  std::vector<long double> spread(result.values.size(), 0);
  if (sums)
    for (size_t k = 0; k < spread.size(); ++k) spread[k] = std::abs(result.values[k].f);
  int64_t terms = 1;
  bool all_unknown = false;
  std::vector<int64_t> point(stage.domain.rank(), 0);
  visit_box(stage.domain.extents, point, 0, point.size(), [&] {
    if (!stage.domain.is_box() && !stage.domain.contains(point)) return;
    evaluator.move_to(point);
    size_t position = 0;
    for (size_t d = 0; d < info.shape.size(); ++d) {
      const Wide target = evaluator.value(1 + d);
      if (!target.sure()) all_unknown = true;
      int64_t coordinate = target.i;
      const bool inside = coordinate >= 0 && coordinate < info.shape[d];
      if (!inside && stage.out_of_range == OutOfRange::Error)
        throw Error(ErrorCode::Bounds, "a scatter's target is out of range");
      if (!inside && (stage.out_of_range == OutOfRange::Drop || info.shape[d] == 0)) return;
      if (stage.out_of_range == OutOfRange::Clip)
        coordinate = std::clamp<int64_t>(coordinate, 0, info.shape[d] - 1);
      if (stage.out_of_range == OutOfRange::Wrap) coordinate = floor_mod(coordinate, info.shape[d]);
      position = position * static_cast<size_t>(info.shape[d]) + static_cast<size_t>(coordinate);
    }
    accumulator.set(0, result.values[position]);
    accumulator.add(evaluator);
    result.values[position] = accumulator.value(0);
    if (sums) spread[position] += std::abs(evaluator.value(0).f);
    ++terms;
  });
  for (size_t k = 0; k < result.values.size(); ++k) {
    Wide& value = result.values[k];
    if (sums) value.error += error_of_sum(accumulated, terms, spread[k]);
    if (all_unknown) value.error = Wide::kUnknown;
    value = stored(value, accumulated, info.dtype, decisions_);
  }
  std::vector<WideArray> results;
  results.push_back(std::move(result));
  return results;
}

std::vector<WideArray> WideInterpreter::run_while(const Scan& scan, std::vector<WideArray> values) {
  constexpr int kMostSteps = 10'000;
  for (int step = 0; values[scan.carries - 1].values[0].i != 0; ++step) {
    if (step == kMostSteps) throw Error(ErrorCode::Invalid, "a loop takes too long");
    if (!values[scan.carries - 1].values[0].sure())
      throw Error(ErrorCode::Invalid, "rounding decides how often a loop runs");
    std::vector<WideArray> next = run(*scan.body, values);
    std::ranges::move(next, values.begin());
  }
  values.resize(scan.carries);
  return values;
}

std::vector<WideArray> WideInterpreter::run_scan(const Graph& graph, const Stage& stage,
                                                 Arrays arrays) {
  const Scan& scan = *stage.scan;
  if (scan.conditional) return run_while(scan, operand_values(stage, arrays));
  std::vector<WideArray> results;
  for (size_t k = 0; k < scan.carries; ++k) results.push_back(*arrays[stage.operands[k].value]);
  for (size_t k = scan.carries; k < stage.results.size(); ++k)
    results.push_back(
        WideArray::zeros(graph.info(stage.results[k]).dtype, graph.info(stage.results[k]).shape));
  for (int64_t step = 0; step < scan.trips; ++step) {
    const int64_t t = scan.reverse ? scan.trips - 1 - step : step;
    std::vector<WideArray> inputs(results.begin(),
                                  results.begin() + static_cast<std::ptrdiff_t>(scan.carries));
    for (size_t k = scan.carries; k < stage.operands.size(); ++k) {
      const WideArray& operand = *arrays[stage.operands[k].value];
      inputs.push_back(k < scan.carries + scan.scanned ? slice_of(operand, t) : operand);
    }
    std::vector<WideArray> outputs = run(*scan.body, inputs);
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (k < scan.carries) {
        results[k] = std::move(outputs[k]);
        continue;
      }
      std::ranges::copy(
          outputs[k].values,
          results[k].values.begin() + t * static_cast<std::ptrdiff_t>(outputs[k].values.size()));
    }
  }
  return results;
}

std::vector<WideArray> WideInterpreter::run_stage(const Graph& graph, const Stage& stage,
                                                  Arrays arrays) {
  if (stage.stop_gradient && repeating_ && next_stopped_ < stopped_.size())
    return stopped_[next_stopped_++];
  std::vector<WideArray> results;
  switch (stage.kind) {
    case StageKind::Compute: results = run_compute(graph, stage, arrays); break;
    case StageKind::Scatter: results = run_scatter(graph, stage, arrays); break;
    case StageKind::Scan: results = run_scan(graph, stage, arrays); break;
    case StageKind::Call:
      if (!stage.call) throw Error(ErrorCode::Invalid, "a call without a body");
      results = run(*stage.call->body, operand_values(stage, arrays));
  }
  if (stage.stop_gradient) stopped_.push_back(results);
  return results;
}

std::vector<WideArray> WideInterpreter::run(const Graph& graph, std::span<const WideArray> inputs) {
  std::vector<WideArray> owned(graph.tensors.size());
  std::vector<const WideArray*> arrays(graph.tensors.size(), nullptr);
  for (size_t k = 0; k < inputs.size(); ++k) arrays[graph.inputs[k].value] = &inputs[k];
  for (const ConstantData& constant : graph.constants) {
    const TensorInfo& info = graph.info(constant.tensor);
    owned[constant.tensor.value] = WideArray::of(Array{info.dtype, info.shape, constant.bytes});
    arrays[constant.tensor.value] = &owned[constant.tensor.value];
  }
  for (const Stage& stage : graph.stages) {
    std::vector<WideArray> results = run_stage(graph, stage, arrays);
    for (size_t k = 0; k < results.size(); ++k) {
      const uint32_t id = stage.results[k].value;
      owned[id] = std::move(results[k]);
      arrays[id] = &owned[id];
    }
  }
  std::vector<WideArray> outputs;
  for (TensorId id : graph.outputs) outputs.push_back(*arrays[id.value]);
  return outputs;
}

}  // namespace adjit::testing
