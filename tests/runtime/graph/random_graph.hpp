// tests/runtime/graph/random_graph.hpp -- random graphs that verify, and inputs for them.
//
// Deterministic in the seed on every platform (no std:: distribution). Stages are elementwise,
// reductions, guarded and strided reads, tuples (argmax), restricted domains, and, when asked for,
// scatters, what may share a buffer and several reductions of the same elements; dtypes float32,
// float64, int32, int64, bool, or all. Used by the round trips of the text notation and by the
// comparison of compiled code with the interpreter.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/graph/graph.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_values.hpp"
#include "tests/runtime/graph/reduced_again.hpp"

namespace adjit::testing {

struct RandomGraphOptions {
  int inputs = 3;
  int stages = 6;
  int64_t max_extent = 6;
  bool scatters = false;
  bool custom_combiners = false;
  bool zero_extents = false;  // now and then
  bool all_dtypes = false;    // small integers and half types, saturating casts, shifts, powers
  /// What tempts a schedule to let tensors share a buffer: scatters that start from what they or
  /// others read, permutations, other shapes, running sums.
  bool sharing = false;
  bool reduced_again = false;  // reductions of what earlier ones reduce
};

class RandomGraph {
 public:
  RandomGraph(uint64_t seed, const RandomGraphOptions& options)
      : random_(seed), options_(options) {}

  Graph operator()() {
    for (int k = 0; k < options_.inputs; ++k)
      available_.push_back(add_input(graph_, "x" + std::to_string(k), any_dtype(),
                                     any_shape(random_.between(0, 3))));
    for (int k = 0; k < options_.stages; ++k) add_stage(k);
    // The last stage and one more tensor are the result.
    graph_.outputs = {available_.back(), random_.pick(available_)};
    return std::move(graph_);
  }

 private:
  ExprPool& pool() { return graph_.pool; }

  DType any_dtype() {
    static const std::vector<DType> kAll{DType::Float32, DType::Float32, DType::Float64,
                                         DType::Int32,   DType::Int64,   DType::Bool};
    static const std::vector<DType> kMore{
        DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Bool,
        DType::UInt8,   DType::Int8,    DType::Int16,   DType::Int32,    DType::Int64};
    return random_.pick(options_.all_dtypes ? kMore : kAll);
  }

  static bool is_half(DType dtype) { return accumulator_of(dtype) != dtype; }

  std::vector<int64_t> any_shape(int64_t rank) {
    std::vector<int64_t> shape;
    for (int64_t k = 0; k < rank; ++k) {
      const bool zero = options_.zero_extents && random_.chance(8);
      shape.push_back(zero ? 0 : random_.between(1, options_.max_extent));
    }
    return shape;
  }

  void add_stage(int number) {
    const std::string name = "y" + std::to_string(number);
    if (options_.sharing && random_.chance(70)) return sharing(name);
    if (options_.reduced_again && random_.chance(35))
      if (const std::vector<size_t> reductions = reductions_of_numbers(graph_); !reductions.empty())
        return offer(reduced_again(graph_, random_, name, reductions));
    const int64_t kind = random_.between(1, 100);
    if (options_.scatters && kind > 88) return scatter(name);
    if (kind > 76) return tuple(name);
    if (options_.custom_combiners && kind > 70) return custom(name);
    if (kind > 40) return reduction(name);
    elementwise(name);
  }

  void begin(int64_t outputs, int64_t reductions) {
    domain_ = {};
    domain_.extents = any_shape(outputs + reductions);
    domain_.output_rank = static_cast<size_t>(outputs);
  }

  void elementwise(const std::string& name) {
    begin(random_.between(0, 3), 0);
    finish(name, {}, {value(any_dtype(), 3)});
  }

  void reduction(const std::string& name) {
    begin(random_.between(0, 2), random_.between(1, 2));
    restrict_domain();
    Combiner combiner;
    static const std::vector<CombinerKind> kNumeric{CombinerKind::Sum, CombinerKind::Sum,
                                                    CombinerKind::Max, CombinerKind::Min,
                                                    CombinerKind::Product};
    const DType dtype = any_dtype();
    combiner.kind = dtype == DType::Bool
                        ? (random_.chance(50) ? CombinerKind::Any : CombinerKind::All)
                        : random_.pick(kNumeric);
    if (random_.chance(30)) combiner.ties = Ties::First;
    const bool product = combiner.kind == CombinerKind::Sum && random_.chance(60);
    const ExprId body =
        product && !is_half(dtype) ? pool().mul(value(dtype, 1), value(dtype, 1)) : value(dtype, 2);
    finish(name, combiner, {body});
  }

  void tuple(const std::string& name) {
    begin(random_.between(0, 2), 1);
    Combiner combiner;
    combiner.kind = random_.chance(50) ? CombinerKind::ArgMax : CombinerKind::ArgMin;
    const DType dtype = random_.chance(70) ? DType::Float32 : DType::Int32;
    finish(name, combiner, {value(dtype, 2), axis(domain_.output_rank)});
  }

  // The running maximum and the number of terms: two components, associative.
  void custom(const std::string& name) {
    begin(random_.between(0, 2), 1);
    Combiner combiner;
    combiner.kind = CombinerKind::Custom;
    const DType f = DType::Float32, n = DType::Int64;
    combiner.combine = {pool().make(Op::Max, {pool().argument(0, f), pool().argument(2, f)}),
                        pool().add(pool().argument(1, n), pool().argument(3, n))};
    combiner.identity = {pool().constant_float(-1e30, f), pool().constant_int(0, n)};
    finish(name, combiner, {value(f, 2), pool().constant_int(1, n)});
  }

  void scatter(const std::string& name) {
    static constexpr OutOfRange kModes[] = {OutOfRange::Drop, OutOfRange::Wrap, OutOfRange::Clip};
    static constexpr CombinerKind kKinds[] = {CombinerKind::Sum, CombinerKind::Sum,
                                              CombinerKind::Max, CombinerKind::Min,
                                              CombinerKind::None};
    begin(0, random_.between(1, 3));
    Stage stage;
    stage.kind = StageKind::Scatter;
    const DType dtype = random_.chance(50) ? DType::Float32 : DType::Int32;
    stage.bodies = {value(dtype, 2)};
    std::vector<int64_t> shape;
    // Dimensions by data, beside them now and then one that is an axis.
    for (int64_t d = random_.between(1, 2); d > 0; --d) {
      shape.push_back(random_.between(1, options_.max_extent));
      stage.target.push_back(pool().sub(value(DType::Int64, 1), integer(1)));
    }
    if (random_.chance(50)) {
      const auto a =
          static_cast<size_t>(random_.between(0, static_cast<int64_t>(domain_.rank()) - 1));
      const bool first = random_.chance(50);
      shape.insert(first ? shape.begin() : shape.end(),
                   std::max<int64_t>(domain_.extents[a] - random_.between(0, 1), 1));
      stage.target.insert(first ? stage.target.begin() : stage.target.end(), axis(a));
    }
    stage.out_of_range = kModes[random_.between(0, 2)];
    stage.combiner.kind = kKinds[random_.between(0, 4)];
    stage.domain = domain_;
    if (random_.chance(30)) stage.initial = add_input(graph_, name + "_from", dtype, shape);
    finish_scatter(name, std::move(stage), dtype, std::move(shape));
  }

  void finish_scatter(const std::string& name, Stage stage, DType dtype,
                      std::vector<int64_t> shape) {
    stage.results = {add_tensor(graph_, name, dtype, std::move(shape))};
    available_.push_back(stage.results[0]);
    graph_.stages.push_back(std::move(stage));
  }

  void sharing(const std::string& name) {
    const TensorId from = shared_tensor(name);
    switch (random_.between(0, 5)) {
      case 0:
      case 1: return scatter_on_top(name, from);
      case 2: return permutation(name, from);
      case 3: return other_shape(name, from);
      case 4: return running(name, from);
      default: {  // a reader of whatever is there
        begin_at(from);
        const DType dtype = graph_.info(from).dtype;
        return finish(name, {}, {pool().add(here(from), value(dtype, 1))});
      }
    }
  }

  // A float or int32 tensor of a rank from 1 to 3, most often a recent one, seldom an input.
  TensorId shared_tensor(const std::string& name) {
    std::vector<TensorId> fitting;
    const bool inputs = random_.chance(15);
    const std::vector<size_t> producers = defining_stages(graph_);
    for (TensorId id : available_) {
      const TensorInfo& info = graph_.info(id);
      const bool scatters = info.dtype == DType::Float32 || info.dtype == DType::Float64 ||
                            info.dtype == DType::Int32;
      if (scatters && (inputs || producers[id.value] != SIZE_MAX) && !info.shape.empty() &&
          info.shape.size() <= 3 && info.element_count() > 0)
        fitting.push_back(id);
    }
    if (fitting.empty()) {
      domain_ = {};
      for (int64_t k = random_.between(1, 2); k > 0; --k)
        domain_.extents.push_back(random_.between(1, options_.max_extent));
      domain_.output_rank = domain_.extents.size();
      finish(name + "_base", {}, {value(random_.chance(70) ? DType::Float32 : DType::Int32, 2)});
      return available_.back();
    }
    if (random_.chance(70))
      fitting.erase(fitting.begin(),
                    fitting.end() - std::min<std::ptrdiff_t>(3, std::ssize(fitting)));
    return random_.pick(fitting);
  }

  // The domain of a tensor's elements.
  void begin_at(TensorId tensor) {
    domain_ = {};
    domain_.extents = graph_.info(tensor).shape;
    domain_.output_rank = domain_.extents.size();
  }
  ExprId here(TensorId tensor) {
    std::vector<ExprId> index;
    for (size_t d = 0; d < graph_.info(tensor).shape.size(); ++d) index.push_back(axis(d));
    return read(graph_, tensor, index);
  }
  // Anywhere in a dimension of extent n: by data, clamped, rotated, or backwards.
  ExprId anywhere(size_t k, int64_t n) {
    switch (random_.between(0, 4)) {
      case 0: return pool().make(Op::Mod, {value(DType::Int64, 0), integer(n)});
      case 1:
        return pool().make(Op::Max,
                           {integer(0), pool().make(Op::Min, {shifted(k), integer(n - 1)})});
      case 2: return pool().make(Op::Mod, {pool().sub(integer(n - 1), axis(k)), integer(n)});
      default: return pool().make(Op::Mod, {shifted(k), integer(n)});
    }
  }
  ExprId anywhere_in(TensorId tensor) {
    std::vector<ExprId> index;
    const std::vector<int64_t> shape = graph_.info(tensor).shape;
    for (size_t d = 0; d < shape.size(); ++d)
      index.push_back(anywhere(std::min(d, domain_.rank() - 1), shape[d]));
    return read(graph_, tensor, index);
  }

  void scatter_on_top(const std::string& name, TensorId from) {
    static constexpr CombinerKind kKinds[] = {CombinerKind::Sum, CombinerKind::Sum,
                                              CombinerKind::Max, CombinerKind::Min,
                                              CombinerKind::None};
    const std::vector<int64_t> shape = graph_.info(from).shape;
    const DType dtype = graph_.info(from).dtype;
    begin_at(from);
    if (random_.chance(30)) domain_.extents.push_back(random_.between(1, options_.max_extent));
    domain_.output_rank = 0;
    Stage stage;
    stage.kind = StageKind::Scatter;
    ExprId added = value(dtype, 1);
    if (random_.chance(60)) {
      const ExprId own = random_.chance(50) ? here(from) : anywhere_in(from);
      added = random_.chance(50) ? own : pool().add(own, added);
    }
    stage.bodies = {added};
    for (size_t d = 0; d < shape.size(); ++d)
      stage.target.push_back(random_.chance(30) ? axis(d) : anywhere(d, shape[d]));
    stage.combiner.kind = kKinds[random_.between(0, 4)];
    stage.out_of_range = OutOfRange::Drop;
    stage.domain = domain_;
    stage.initial = from;
    finish_scatter(name, std::move(stage), dtype, shape);
  }

  void permutation(const std::string& name, TensorId from) {
    begin_at(from);
    finish(name, {}, {anywhere_in(from)});
  }

  // The same elements in one dimension, or one dimension more.
  void other_shape(const std::string& name, TensorId from) {
    const std::vector<int64_t> shape = graph_.info(from).shape;
    domain_ = {};
    std::vector<ExprId> index(shape.size());
    if (shape.size() == 1) {
      const int64_t inner = shape[0] % 2 == 0 ? 2 : 1;
      domain_.extents = {shape[0] / inner, inner};
      index[0] = pool().add(pool().mul(axis(0), integer(inner)), axis(1));
    } else {
      ExprId rest = axis(0);
      domain_.extents = {graph_.info(from).element_count()};
      for (size_t d = shape.size(); d-- > 0;) {
        index[d] = d == 0 ? rest : pool().make(Op::Mod, {rest, integer(shape[d])});
        rest = pool().make(Op::FloorDiv, {rest, integer(shape[d])});
      }
    }
    domain_.output_rank = domain_.extents.size();
    finish(name, {}, {read(graph_, from, index)});
  }

  // Along the last dimension, from either end.
  void running(const std::string& name, TensorId from) {
    begin_at(from);
    const size_t last = domain_.rank() - 1, r = domain_.rank();
    domain_.extents.push_back(domain_.extents[last]);
    const Affine ahead = Affine::variable(last) - Affine::variable(r);
    domain_.inequalities.push_back(random_.chance(70) ? ahead : -ahead);
    Combiner combiner;
    combiner.kind = random_.chance(70) ? CombinerKind::Sum : CombinerKind::Max;
    std::vector<ExprId> index;
    for (size_t d = 0; d < last; ++d) index.push_back(axis(d));
    const ExprId at = axis(r);
    index.push_back(random_.chance(50) ? at
                                       : pool().make(Op::Mod, {pool().sub(integer(1), at),
                                                               integer(domain_.extents[last])}));
    finish(name, std::move(combiner), {read(graph_, from, index)});
  }

  void finish(const std::string& name, Combiner combiner, std::vector<ExprId> bodies) {
    offer(add_compute(graph_, name, domain_, std::move(combiner), std::move(bodies)));
  }

  void offer(const std::vector<TensorId>& results) {
    available_.insert(available_.end(), results.begin(), results.end());
  }

  // A triangle, a band or a congruence between an output and a reduction axis.
  void restrict_domain() {
    if (domain_.output_rank == 0 || !random_.chance(35)) return;
    const size_t i = 0, r = domain_.output_rank;
    const Affine difference = Affine::variable(i) - Affine::variable(r);
    switch (random_.between(0, 2)) {
      case 0: domain_.inequalities.push_back(difference); break;
      case 1:
        domain_.inequalities.push_back(difference + Affine(1));
        domain_.inequalities.push_back(-difference + Affine(1));
        break;
      default: {
        const Affine sum = Affine::variable(i) + Affine::variable(r);
        const size_t q = domain_.add_division(sum, 2);
        domain_.equalities.push_back(sum - Affine::variable(q, 2));
      }
    }
  }

  ExprId axis(size_t k) { return pool().axis(k); }
  ExprId integer(int64_t v) { return pool().constant_int(v); }

  // An index into a dimension of extent n, in bounds where `guard` holds (invalid: everywhere).
  ExprId index(int64_t n, ExprId& guard, int depth) {
    for (int attempt = 0; attempt < 6 && domain_.rank() > 0; ++attempt) {
      const size_t k =
          static_cast<size_t>(random_.between(0, static_cast<int64_t>(domain_.rank()) - 1));
      const int64_t e = domain_.extents[k];
      switch (random_.between(0, 7)) {
        case 0:
        case 1:
        case 2:
          if (e <= n) return axis(k);
          break;
        case 3:
          if (e < n) return pool().add(axis(k), integer(random_.between(0, n - e)));
          break;
        case 4:
          if (2 * (e - 1) < n) return pool().mul(axis(k), integer(2));
          break;
        case 5:
          if (e <= 2 * n) return pool().make(Op::FloorDiv, {axis(k), integer(2)});
          break;
        case 6: return pool().make(Op::Mod, {shifted(k), integer(n)});
        default: return guarded(k, n, guard, depth);
      }
    }
    return integer(random_.between(0, n - 1));
  }

  ExprId shifted(size_t k) { return pool().add(axis(k), integer(random_.between(-3, 3))); }

  ExprId guarded(size_t k, int64_t n, ExprId& guard, int depth) {
    if (depth > 0 && random_.chance(25))  // data-dependent, brought into range
      return pool().make(Op::Mod, {value(DType::Int64, 0), integer(n)});
    ExprId at = shifted(k);
    if (random_.chance(40)) at = pool().add(at, axis(0));
    const ExprId inside = pool().logical_and(pool().make(Op::Le, {integer(0), at}),
                                             pool().make(Op::Lt, {at, integer(n)}));
    guard = guard.valid() ? pool().logical_and(guard, inside) : inside;
    return at;
  }

  // A read of some tensor as this dtype; a constant when no tensor can be read.
  ExprId element(DType dtype, int depth) {
    std::vector<TensorId> readable;
    for (TensorId id : available_)
      if (std::ranges::none_of(graph_.info(id).shape, [](int64_t n) { return n == 0; }))
        readable.push_back(id);
    if (readable.empty()) return pool().constant(2, dtype);
    const TensorId tensor = random_.pick(readable);
    const std::vector<int64_t> shape = graph_.info(tensor).shape;
    std::vector<ExprId> indices;
    ExprId guard;
    for (int64_t n : shape) indices.push_back(index(n, guard, depth));
    ExprId value;
    if (guard.valid() && random_.chance(50)) {
      const ExprId plain = read(graph_, tensor, indices);
      value = pool().select(guard, plain, pool().constant(0, pool().dtype(plain)));
    } else {
      value = read(graph_, tensor, indices, guard);
    }
    return converted(value, dtype);
  }

  // Floats become integers by way of a small range, so that no platform saturates differently.
  ExprId converted(ExprId value, DType dtype) {
    if (is_half(pool().dtype(value))) value = pool().cast(value, DType::Float32);
    const DType from = pool().dtype(value);
    if (is_float(from) && is_integer(dtype)) {
      if (options_.all_dtypes && random_.chance(40))  // beyond the range of most
        return pool().cast(pool().mul(value, pool().constant(1e4, from)), dtype);
      const ExprId small = pool().mul(pool().make(Op::Tanh, {value}), pool().constant(7.77, from));
      return pool().cast(small, dtype);
    }
    return pool().cast(value, dtype);
  }

  ExprId value(DType dtype, int depth) {
    if (is_half(dtype) && depth > 0) return pool().cast(value(DType::Float32, depth), dtype);
    if (depth <= 0) {
      if (random_.chance(15)) return pool().constant(random_.chance(50) ? 0.5 : 3, dtype);
      if (random_.chance(10) && domain_.rank() > 0 && dtype != DType::Bool)
        return pool().cast(axis(0), dtype);
      return element(dtype, depth);
    }
    if (random_.chance(15)) return element(dtype, depth);
    if (random_.chance(15))
      return pool().select(value(DType::Bool, depth - 1), value(dtype, depth - 1),
                           value(dtype, depth - 1));
    if (dtype == DType::Bool) return truth(depth);
    return is_float(dtype) ? real(dtype, depth) : whole(dtype, depth);
  }

  ExprId truth(int depth) {
    static const std::vector<Op> kCompare{Op::Lt, Op::Le, Op::Eq, Op::Ne};
    static const std::vector<Op> kLogic{Op::And, Op::Or};
    if (random_.chance(25)) return pool().make(Op::Not, {value(DType::Bool, depth - 1)});
    if (random_.chance(30))
      return pool().make(random_.pick(kLogic),
                         {value(DType::Bool, depth - 1), value(DType::Bool, depth - 1)});
    DType t = random_.chance(50) ? DType::Float32 : DType::Int64;
    if (options_.all_dtypes) t = accumulator_of(any_dtype());
    return pool().make(random_.pick(kCompare), {value(t, depth - 1), value(t, depth - 1)});
  }

  ExprId real(DType dtype, int depth) {
    static const std::vector<Op> kBinary{Op::Add, Op::Sub, Op::Mul, Op::Max, Op::Min, Op::Add};
    static const std::vector<Op> kUnary{Op::Neg,     Op::Abs, Op::Tanh,
                                        Op::Sigmoid, Op::Sin, Op::Floor};
    if (random_.chance(30)) return pool().make(random_.pick(kUnary), {value(dtype, depth - 1)});
    if (random_.chance(10))  // never divides by 0
      return pool().div(
          value(dtype, depth - 1),
          pool().add(pool().make(Op::Abs, {value(dtype, depth - 1)}), pool().constant(1, dtype)));
    return pool().make(random_.pick(kBinary), {value(dtype, depth - 1), value(dtype, depth - 1)});
  }

  ExprId whole(DType dtype, int depth) {
    static const std::vector<Op> kBinary{Op::Add,      Op::Sub, Op::Mul,    Op::Max,   Op::Min,
                                         Op::FloorDiv, Op::Mod, Op::BitAnd, Op::BitXor};
    static const std::vector<Op> kMore{Op::ShiftLeft, Op::ShiftRight, Op::BitOr, Op::Fmod, Op::Pow};
    if (options_.all_dtypes && random_.chance(30))
      return pool().make(random_.pick(kMore), {value(dtype, depth - 1), value(dtype, depth - 1)});
    static const std::vector<Op> kUnary{Op::Neg, Op::Abs, Op::Sign, Op::BitNot};
    if (options_.all_dtypes && random_.chance(15))
      return pool().make(random_.pick(kUnary), {value(dtype, depth - 1)});
    return pool().make(random_.pick(kBinary), {value(dtype, depth - 1), value(dtype, depth - 1)});
  }

  Random random_;
  RandomGraphOptions options_;
  Graph graph_;
  Domain domain_;
  std::vector<TensorId> available_;
};

inline Graph random_graph(uint64_t seed, const RandomGraphOptions& options = {}) {
  return RandomGraph(seed, options)();
}

}  // namespace adjit::testing
