// autosched/moves/scatter/inversion.cpp -- a stable radix sort of keys as stages.
//
// One pass, over digits g of keys in the order so far, in chunks k of L points l:
//   rank(k, l)   = how many l' < l of the chunk have the digit of l
//   count(k, g)  = how many points of the chunk have the digit g
//   within(k, g) = sum over k' < k of count(k', g)
//   base(g)      = sum over g' < g of all counts of g'
//   next[base(g) + within(k, g) + rank(k, l)] = order[k L + l]
#include "autosched/moves/scatter/inversion.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "autosched/program/graph_edit.hpp"
#include "autosched/program/nests.hpp"

namespace adjit::sched {
namespace {

Domain domain_of(std::vector<int64_t> extents, size_t output_rank) {
  Domain domain;
  domain.extents = std::move(extents);
  domain.output_rank = output_rank;
  return domain;
}

int64_t bits_of(int64_t number) {
  return static_cast<int64_t>(std::bit_width(static_cast<uint64_t>(number)));
}

Stage sum_of(Stage stage) {
  stage.combiner.kind = CombinerKind::Sum;
  return stage;
}

bool are_equal(const Stage& a, const Stage& b) {
  return a.kind == b.kind && a.domain == b.domain && a.combiner.kind == b.combiner.kind &&
         a.bodies == b.bodies && a.target == b.target && a.region == b.region;
}

// Numbers of 32 bits: keys, places and counts.
class Numbers {
 public:
  explicit Numbers(ExprPool& pool) : pool_(pool) {}

  ExprId small(int64_t value) { return pool_.constant_int(value, DType::Int32); }
  ExprId at(TensorId tensor, std::vector<ExprId> index, ExprId predicate = {}) {
    return pool_.read(tensor, DType::Int32, index, predicate);
  }
  ExprId index_at(TensorId tensor, std::vector<ExprId> index, ExprId predicate = {}) {
    return pool_.cast(at(tensor, std::move(index), predicate), DType::Int64);
  }
  ExprId counted(ExprId condition) { return pool_.cast(condition, DType::Int32); }

 private:
  ExprPool& pool_;
};

// Stages of them in front of a place in the program, of which equal ones are there once but for
// what scatters write over.
class SharedStages {
 public:
  // `like`: whose lines and region they have.
  SharedStages(Program& program, size_t& at, const Stage& like, const std::string& name)
      : program_(program), graph_(program.graph), at_(at), like_(like), name_(name) {}

  Stage stage_over(Domain domain, ExprId body) const {
    Stage stage = like_;
    stage.domain = std::move(domain);
    stage.bodies = {body};
    return stage;
  }

  // Whether a scatter writes over it.
  bool is_a_start(TensorId tensor) const {
    return std::ranges::any_of(graph_.stages, [&](const Stage& stage) {
      return stage.kind == StageKind::Scatter && stage.initial == tensor;
    });
  }
  // The result of a stage in front that is equal, if it is a kernel's and all of it stays stored.
  std::optional<TensorId> found(const Stage& stage, const std::optional<Running>& running) const {
    for (size_t s = 0; s < at_; ++s) {
      const Stage& other = graph_.stages[s];
      if (other.results.size() != 1 || !are_equal(stage, other)) continue;
      if (is_a_start(other.results[0])) continue;
      const Running* runs = running_of(graph_, other);
      if (running.has_value() != (runs != nullptr)) continue;
      if (runs && (runs->axis != running->axis || runs->reverse || !runs->exclusive)) continue;
      const bool distinct = graph_.distinct.contains(stage_key(other));
      if (distinct != (stage.kind == StageKind::Scatter)) continue;
      const std::optional<NestPath> path = find_nest(program_, s);
      if (path && path->steps.empty()) return other.results[0];
    }
    return std::nullopt;
  }

  TensorId put(Stage stage, const std::string& what, std::vector<int64_t> shape) {
    const TensorId result = add_tensor(graph_, name_ + "_" + what, DType::Int32, std::move(shape));
    stage.results = {result};
    insert_stage(program_, at_++, std::move(stage));
    return result;
  }

  TensorId shared(const Stage& stage, const std::string& what,
                  std::optional<Running> running = std::nullopt) {
    if (const std::optional<TensorId> known = found(stage, running)) return *known;
    const std::vector<int64_t> shape(
        stage.domain.extents.begin(),
        stage.domain.extents.begin() + static_cast<std::ptrdiff_t>(stage.domain.output_rank));
    if (running)  // before its loops are made
      graph_.running.emplace(static_cast<StageKey>(graph_.tensors.size()), *running);
    return put(stage, what, shape);
  }

 private:
  Program& program_;
  LoweredGraph& graph_;
  size_t& at_;
  const Stage& like_;
  const std::string& name_;
};

class Inverter {
 public:
  Inverter(Program& program, size_t& at, InversionOf of)
      : graph_(program.graph),
        pool_(program.graph.pool),
        of_(std::move(of)),
        numbers_(pool_),
        stages_(program, at, of_.keys, of_.name),
        points_(of_.keys.domain.extents[0]),
        chunk_(std::min(of_.chunk, points_)),
        chunks_(ceil_div(points_, chunk_)) {}

  Inversion operator()() {
    keys_ = stages_.shared(of_.keys, "key");
    // Keys go up to the number of rows. A digit has at most as many values as a chunk has points,
    // so that there are hardly more counts than points.
    const int64_t bits = bits_of(of_.rows), most = std::max<int64_t>(1, bits_of(chunk_) - 1);
    const int64_t passes = ceil_div(bits, most), each = ceil_div(bits, passes);
    for (int64_t pass = 0; pass < passes; ++pass) sort_by_digit(pass * each, int64_t{1} << each);
    return {order_, offsets(), of_.block > 0 && of_.block <= points_ ? blocks() : TensorId{}};
  }

 private:
  void sort_by_digit(int64_t shift, int64_t values) {
    const TensorId digits = stages_.shared(digit(shift, values), "digit");
    const TensorId ranks = stages_.shared(rank(digits), "rank");
    const TensorId counts = stages_.shared(count(digits, values), "count");
    const TensorId before = shared_before(counts, values);
    const TensorId bases = stages_.shared(base(counts, before, values), "base");
    const ExprId point = pool_.axis(0);
    const ExprId k = pool_.make(Op::FloorDiv, {point, pool_.constant_int(chunk_)});
    const ExprId l = pool_.make(Op::Mod, {point, pool_.constant_int(chunk_)});
    const ExprId g = numbers_.index_at(digits, {k, l});
    Stage place = stages_.stage_over(domain_of({points_}, 0), order_at(point));
    place.kind = StageKind::Scatter;
    place.out_of_range = OutOfRange::Drop;
    place.target = {
        pool_.add(pool_.add(numbers_.index_at(bases, {g}), numbers_.index_at(before, {k, g})),
                  numbers_.index_at(ranks, {k, l}))};
    if (const std::optional<TensorId> known = stages_.found(place, std::nullopt)) {
      order_ = *known;
      return;
    }
    place.initial = stages_.put(stages_.stage_over(domain_of({points_}, 1), numbers_.small(0)),
                                "order_start", {points_});
    graph_.distinct.insert(static_cast<StageKey>(graph_.tensors.size()));
    order_ = stages_.put(std::move(place), "order", {points_});
  }

  // The point that is at a place in the order so far; `inside`: where there is one.
  ExprId order_at(ExprId place, ExprId inside = {}) {
    return order_.valid() ? numbers_.at(order_, {place}, inside) : pool_.cast(place, DType::Int32);
  }
  ExprId key_at(ExprId place, ExprId inside = {}) {
    if (!order_.valid()) return numbers_.at(keys_, {place}, inside);
    return numbers_.at(keys_, {pool_.cast(order_at(place, inside), DType::Int64)}, inside);
  }

  // Behind the last point a digit that is none.
  Stage digit(int64_t shift, int64_t values) {
    const ExprId place =
        pool_.add(pool_.mul(pool_.axis(0), pool_.constant_int(chunk_)), pool_.axis(1));
    ExprId inside;
    if (chunks_ * chunk_ != points_)
      inside = pool_.make(Op::Lt, {place, pool_.constant_int(points_)});
    ExprId body = key_at(place, inside);
    if (shift > 0) body = pool_.make(Op::ShiftRight, {body, numbers_.small(shift)});
    body = pool_.make(Op::BitAnd, {body, numbers_.small(values - 1)});
    if (inside.valid()) body = pool_.select(inside, body, numbers_.small(values));
    return stages_.stage_over(domain_of({chunks_, chunk_}, 2), body);
  }

  Stage rank(TensorId digits) {
    const ExprId here = numbers_.at(digits, {pool_.axis(0), pool_.axis(1)});
    const ExprId there = numbers_.at(digits, {pool_.axis(0), pool_.axis(2)});
    Domain domain = domain_of({chunks_, chunk_, chunk_}, 2);
    domain.inequalities.push_back(Affine::variable(1) - Affine::variable(2, 1, 1));
    return sum_of(stages_.stage_over(domain, numbers_.counted(pool_.make(Op::Eq, {there, here}))));
  }

  Stage count(TensorId digits, int64_t values) {
    const ExprId there = numbers_.at(digits, {pool_.axis(0), pool_.axis(2)});
    const ExprId here = pool_.cast(pool_.axis(1), DType::Int32);
    return sum_of(stages_.stage_over(domain_of({chunks_, values, chunk_}, 2),
                                     numbers_.counted(pool_.make(Op::Eq, {there, here}))));
  }

  // As many sums of their own for each chunk, where these take no longer than the ranks do; else
  // they run on from chunk to chunk.
  TensorId shared_before(TensorId counts, int64_t values) {
    const bool short_sums = chunks_ * values <= 4 * chunk_ * chunk_;
    Domain domain = domain_of({chunks_, values}, 2);
    if (!short_sums)
      return stages_.shared(
          sum_of(stages_.stage_over(domain, numbers_.at(counts, {pool_.axis(0), pool_.axis(1)}))),
          "before", Running{.axis = 0, .exclusive = true});
    domain.extents.push_back(chunks_);
    domain.inequalities.push_back(Affine::variable(0) - Affine::variable(2, 1, 1));
    return stages_.shared(
        sum_of(stages_.stage_over(domain, numbers_.at(counts, {pool_.axis(2), pool_.axis(1)}))),
        "before");
  }

  Stage base(TensorId counts, TensorId before, int64_t values) {
    const ExprId last = pool_.constant_int(chunks_ - 1), g = pool_.axis(1);
    Domain domain = domain_of({values, values}, 1);
    domain.inequalities.push_back(Affine::variable(0) - Affine::variable(1, 1, 1));
    return sum_of(stages_.stage_over(
        domain, pool_.add(numbers_.at(before, {last, g}), numbers_.at(counts, {last, g}))));
  }

  // By bisection of the sorted keys.
  TensorId offsets() {
    const ExprId row = pool_.cast(pool_.axis(0), DType::Int32);
    ExprId below = pool_.constant_int(0);
    for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(points_))); step > 0;
         step /= 2) {
      const ExprId further = pool_.add(below, pool_.constant_int(step));
      const ExprId inside = pool_.make(Op::Le, {further, pool_.constant_int(points_)});
      const ExprId key = key_at(pool_.add(further, pool_.constant_int(-1)), inside);
      const ExprId smaller = pool_.make(Op::Lt, {key, row});
      below = pool_.select(pool_.logical_and(inside, smaller), further, below);
    }
    return stages_.shared(
        stages_.stage_over(domain_of({of_.rows + 1}, 1), pool_.cast(below, DType::Int32)),
        "offsets");
  }

  TensorId blocks() {
    const ExprId begin = pool_.mul(pool_.axis(0), pool_.constant_int(of_.block));
    const ExprId first = key_at(begin);
    const ExprId last = key_at(pool_.add(begin, pool_.constant_int(of_.block - 1)));
    const ExprId same = pool_.logical_and(pool_.make(Op::Eq, {first, last}),
                                          pool_.make(Op::Lt, {first, numbers_.small(of_.rows)}));
    return stages_.shared(stages_.stage_over(domain_of({points_ / of_.block}, 1),
                                             pool_.select(same, first, numbers_.small(-1))),
                          "blocks");
  }

  LoweredGraph& graph_;
  ExprPool& pool_;
  const InversionOf of_;
  Numbers numbers_;
  SharedStages stages_;
  const int64_t points_, chunk_, chunks_;
  TensorId keys_, order_;
};

}  // namespace

Inversion invert_keys(Program& program, size_t& at, InversionOf of) {
  return Inverter(program, at, std::move(of))();
}

}  // namespace adjit::sched
