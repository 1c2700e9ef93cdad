// autosched/moves/scatter/inversion.cpp -- a stable radix sort of keys as stages.
//
// One pass, over digits g of keys in the order so far, in chunks k of words s of 32 points w:
//   mask(k, s, b)    = the points of the word whose digit has bit b, a bit each
//   count(g, k)      = how many points of the chunk have the digit g
//   start(g, k)      = sum over all counts of smaller digits, and of g in chunks before k
//   rank(k, s, w)    = how many points before w of the chunk have its digit
//   next[start(digit, k) + rank(k, s, w)] = order[the point]
// The points of a word that have a digit are those that have, or have not, each of its bits: one
// instruction a bit for 32 points.
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
  ExprId add(ExprId a, ExprId b) { return pool_.add(a, b); }
  ExprId both(ExprId a, ExprId b) { return pool_.make(Op::BitAnd, {a, b}); }
  ExprId shifted(ExprId value, int64_t bits) {
    return bits > 0 ? pool_.make(Op::ShiftRight, {value, small(bits)}) : value;
  }
  ExprId bit(ExprId value, int64_t number) { return both(shifted(value, number), small(1)); }

  // How many bits of a word are ones: of pairs of bits, of four, of bytes, of all.
  ExprId ones(ExprId word) {
    const ExprId pairs = pool_.sub(word, both(shifted(word, 1), small(0x55555555)));
    const ExprId fours =
        add(both(pairs, small(0x33333333)), both(shifted(pairs, 2), small(0x33333333)));
    const ExprId bytes = both(add(fours, shifted(fours, 4)), small(0x0f0f0f0f));
    return shifted(pool_.mul(bytes, small(0x01010101)), 24);
  }

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

// A warp's threads have a word of points, a bit each.
constexpr int64_t kWordPoints = 32;

class Inverter {
 public:
  Inverter(Program& program, size_t& at, InversionOf of)
      : graph_(program.graph),
        pool_(program.graph.pool),
        of_(std::move(of)),
        numbers_(pool_),
        stages_(program, at, of_.keys, of_.name),
        points_(of_.keys.domain.extents[0]),
        width_(std::min({of_.chunk, points_, kWordPoints})),
        words_(ceil_div(std::min(of_.chunk, points_), width_)),
        chunks_(ceil_div(points_, words_ * width_)),
        ragged_(points_ % (words_ * width_) != 0) {}

  Inversion operator()() {
    sorted_.words = words_;
    sorted_.width = width_;
    sorted_.keys = stages_.shared(keys(), "key");
    // Keys go up to the number of rows. A digit has at most as many values as a chunk has points,
    // so that there are hardly more counts than points.
    const int64_t bits = bits_of(of_.rows);
    const int64_t most = std::clamp<int64_t>(bits_of(words_ * width_) - 1, 1, kMostBitsOfDigit);
    const int64_t passes = ceil_div(bits, most), each = ceil_div(bits, passes);
    for (int64_t pass = 0; pass < passes; ++pass) sort_by_digit(pass * each, each);
    sorted_.offsets = offsets();
    return sorted_;
  }

 private:
  void sort_by_digit(int64_t shift, int64_t bits) {
    const TensorId digits = stages_.shared(digit(shift, bits), "digit");
    const TensorId masks = stages_.shared(mask(digits, bits), "mask");
    const TensorId counts = stages_.shared(count(masks, bits), "count");
    const TensorId starts =
        stages_.shared(start(counts, bits), "start", Running{.axis = 0, .exclusive = true});
    const TensorId ranks = stages_.shared(rank(digits, masks, bits), "rank");
    Stage place = placing(digits, starts, ranks);
    if (const std::optional<TensorId> known = stages_.found(place, std::nullopt)) {
      sorted_.order = *known;
      return;
    }
    graph_.distinct.insert(static_cast<StageKey>(graph_.tensors.size()));
    sorted_.order = stages_.put(std::move(place), "order", {points_});
  }

  // Over chunks, words and the points of a word: the place in the order so far.
  ExprId place_here() {
    const ExprId word =
        pool_.add(pool_.mul(pool_.axis(0), pool_.constant_int(words_)), pool_.axis(1));
    return pool_.add(pool_.mul(word, pool_.constant_int(width_)), pool_.axis(2));
  }

  bool is_sorted() const { return sorted_.order.valid(); }

  // Behind the last point that of points which write nothing.
  Stage keys() {
    ExprId inside;
    if (ragged_) inside = pool_.make(Op::Lt, {place_here(), pool_.constant_int(points_)});
    const std::vector<ExprId> point{place_here()};
    ExprId body = body_at(pool_, of_.keys.bodies[0], point, inside);
    if (ragged_) body = pool_.select(inside, body, numbers_.small(of_.rows));
    return stages_.stage_over(domain_of({chunks_, words_, width_}, 3), body);
  }

  // Behind the last point one that has no bit but the one behind those of digits.
  Stage digit(int64_t shift, int64_t bits) {
    ExprId inside;
    if (ragged_) inside = pool_.make(Op::Lt, {place_here(), pool_.constant_int(points_)});
    const ExprId here =
        is_sorted() ? key_at(pool_, sorted_, place_here(), inside)
                    : numbers_.at(sorted_.keys, {pool_.axis(0), pool_.axis(1), pool_.axis(2)});
    const ExprId key = numbers_.shifted(here, shift);
    ExprId body = numbers_.both(key, numbers_.small((int64_t{1} << bits) - 1));
    if (ragged_) body = pool_.select(inside, body, numbers_.small(int64_t{1} << bits));
    return stages_.stage_over(domain_of({chunks_, words_, width_}, 3), body);
  }

  Stage mask(TensorId digits, int64_t bits) {
    const ExprId b = pool_.cast(pool_.axis(2), DType::Int32);
    const ExprId w = pool_.cast(pool_.axis(3), DType::Int32);
    const ExprId digit = numbers_.at(digits, {pool_.axis(0), pool_.axis(1), pool_.axis(3)});
    const ExprId bit = numbers_.both(pool_.make(Op::ShiftRight, {digit, b}), numbers_.small(1));
    const int64_t masks = bits + (ragged_ ? 1 : 0);
    return sum_of(stages_.stage_over(domain_of({chunks_, words_, masks, width_}, 3),
                                     pool_.make(Op::ShiftLeft, {bit, w})));
  }

  // The points of word `s` of chunk `k` that have this digit.
  ExprId points_with(ExprId digit, TensorId masks, int64_t bits, ExprId k, ExprId s) {
    ExprId all;
    for (int64_t b = 0; b < bits; ++b) {
      const ExprId others = pool_.sub(numbers_.bit(digit, b), numbers_.small(1));
      const ExprId one =
          pool_.make(Op::BitXor, {numbers_.at(masks, {k, s, pool_.constant_int(b)}), others});
      all = all.valid() ? numbers_.both(all, one) : one;
    }
    return all;
  }

  Stage count(TensorId masks, int64_t bits) {
    const ExprId g = pool_.cast(pool_.axis(0), DType::Int32), k = pool_.axis(1), s = pool_.axis(2);
    ExprId with = points_with(g, masks, bits, k, s);
    const ExprId behind =
        ragged_ ? numbers_.at(masks, {k, s, pool_.constant_int(bits)}) : numbers_.small(0);
    const ExprId there = pool_.make(Op::BitNot, {behind});
    // Of the bits of a shorter word alone.
    const ExprId inside = width_ < kWordPoints
                              ? numbers_.both(there, numbers_.small((int64_t{1} << width_) - 1))
                              : there;
    if (ragged_ || width_ < kWordPoints) with = numbers_.both(with, inside);
    return sum_of(stages_.stage_over(domain_of({int64_t{1} << bits, chunks_, words_}, 2),
                                     numbers_.ones(with)));
  }

  // One after the other, the chunks of a digit behind each other.
  Stage start(TensorId counts, int64_t bits) {
    const ExprId at = pool_.axis(0), chunks = pool_.constant_int(chunks_);
    return sum_of(stages_.stage_over(domain_of({chunks_ << bits}, 1),
                                     numbers_.at(counts, {pool_.make(Op::FloorDiv, {at, chunks}),
                                                          pool_.make(Op::Mod, {at, chunks})})));
  }

  Stage rank(TensorId digits, TensorId masks, int64_t bits) {
    const ExprId k = pool_.axis(0), s = pool_.axis(1), w = pool_.axis(2), other = pool_.axis(3);
    const ExprId with = points_with(numbers_.at(digits, {k, s, w}), masks, bits, k, other);
    const ExprId one = pool_.make(Op::ShiftLeft, {numbers_.small(1), pool_.cast(w, DType::Int32)});
    const ExprId before =
        pool_.select(pool_.make(Op::Eq, {other, s}), pool_.sub(one, numbers_.small(1)),
                     numbers_.small(width_ < kWordPoints ? (int64_t{1} << width_) - 1 : -1));
    Domain domain = domain_of({chunks_, words_, width_, words_}, 3);
    domain.inequalities.push_back(Affine::variable(1) - Affine::variable(3));
    return sum_of(stages_.stage_over(domain, numbers_.ones(numbers_.both(with, before))));
  }

  Stage placing(TensorId digits, TensorId starts, TensorId ranks) {
    const std::vector<ExprId> point{pool_.axis(0), pool_.axis(1), pool_.axis(2)};
    Domain domain = domain_of({chunks_, words_, width_}, 0);
    if (ragged_)
      domain.inequalities.push_back(Affine::variable(0, -words_ * width_, points_ - 1) -
                                    Affine::variable(1, width_) - Affine::variable(2));
    const ExprId of_digit =
        pool_.mul(numbers_.index_at(digits, point), pool_.constant_int(chunks_));
    const ExprId here = is_sorted() ? numbers_.at(sorted_.order, {place_here()})
                                    : pool_.cast(place_here(), DType::Int32);
    Stage place = stages_.stage_over(std::move(domain), here);
    place.kind = StageKind::Scatter;
    place.out_of_range = OutOfRange::Drop;
    place.target = {pool_.add(numbers_.index_at(starts, {pool_.add(of_digit, pool_.axis(0))}),
                              numbers_.index_at(ranks, point))};
    return place;
  }

  // By bisection of the sorted keys.
  TensorId offsets() {
    const ExprId row = pool_.cast(pool_.axis(0), DType::Int32);
    ExprId below = pool_.constant_int(0);
    for (auto step = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(points_))); step > 0;
         step /= 2) {
      const ExprId further = pool_.add(below, pool_.constant_int(step));
      const ExprId inside = pool_.make(Op::Le, {further, pool_.constant_int(points_)});
      const ExprId key = key_at(pool_, sorted_, pool_.add(further, pool_.constant_int(-1)), inside);
      const ExprId smaller = pool_.make(Op::Lt, {key, row});
      below = pool_.select(pool_.logical_and(inside, smaller), further, below);
    }
    return stages_.shared(
        stages_.stage_over(domain_of({of_.rows + 1}, 1), pool_.cast(below, DType::Int32)),
        "offsets");
  }

  LoweredGraph& graph_;
  ExprPool& pool_;
  const InversionOf of_;
  Numbers numbers_;
  SharedStages stages_;
  const int64_t points_, width_, words_, chunks_;
  const bool ragged_;  // the last chunk has fewer points
  Inversion sorted_;   // so far
};

}  // namespace

ExprId key_at(ExprPool& pool, const Inversion& inversion, ExprId place, ExprId there) {
  const ExprId point = pool.cast(
      pool.read(inversion.order, DType::Int32, std::span(&place, 1), there), DType::Int64);
  const ExprId word = pool.make(Op::FloorDiv, {point, pool.constant_int(inversion.width)});
  const ExprId words = pool.constant_int(inversion.words);
  const ExprId index[] = {pool.make(Op::FloorDiv, {word, words}), pool.make(Op::Mod, {word, words}),
                          pool.make(Op::Mod, {point, pool.constant_int(inversion.width)})};
  return pool.read(inversion.keys, DType::Int32, index, there);
}

Inversion invert_keys(Program& program, size_t& at, InversionOf of) {
  return Inverter(program, at, std::move(of))();
}

}  // namespace adjit::sched
