// runtime/diff/simplify/factor_hoisting.cpp -- factors leave sums where that reduces work.
//
// Worked examples, with the points of each stage:
//   i * t points to t + i:
//     dA[i] = sum_t dY[i] * W[t]   ->   S = sum_t W[t],   dA[i] = dY[i] * S
//   i * j * k * l points to i * k * l + i * j * l:
//     Y[i, j] = sum_{k, l} A[i, k] * B[k, l] * C[l, j]
//       ->   T[i, l] = sum_k A[i, k] * B[k, l],   Y[i, j] = sum_l T[i, l] * C[l, j]
//   i * r points to i:
//     Y[i] = sum_{r < R} X[i]   ->   Y[i] = X[i] * R
// Or where it lets a sum be computed with another one (awaited_sums.hpp), or be one that the graph
// computes anyway (known_sums.hpp):
//   P[r, i] = G[r, i] * W[i],   Y[i] = sum_r P[r, i],   Z[i] = sum_r G[r, i]
//   ->   Y[i] = W[i] * Z[i]
#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/awaited_sums.hpp"
#include "runtime/diff/simplify/known_sums.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/diff/simplify/split_domain.hpp"
#include "runtime/domain/count.hpp"

namespace adjit::diff {
namespace {

double points(const Domain& domain, AxisSet set) {
  double total = 1;
  for (size_t k = 0; k < domain.rank(); ++k)
    if (set & bit(k)) total *= static_cast<double>(domain.extents[k]);
  return total;
}

// A split of a sum: the inner stage sums `reduced` over the factors in `inner`, its output axes are
// `kept`.
struct Split {
  std::vector<char> inner;  // per factor
  AxisSet reduced = 0, kept = 0;
  SplitDomain domains;
};

// Points, by their number where that is cheap to find, else by the box.
double size_of(const Domain& domain) {
  constexpr int64_t kBudget = 10'000;
  const std::optional<int64_t> exact = count_points(domain, kBudget);
  return static_cast<double>(exact ? *exact : domain.box_points());
}

bool applies(const Stage& stage) {
  return stage.kind == StageKind::Compute && stage.combiner.kind == CombinerKind::Sum &&
         stage.bodies.size() == 1 && !stage.stop_gradient && stage.domain.rank() < 63 &&
         stage.domain.reduction_rank() > 0 && stage.domain.box_points() > 0;
}

bool in_rows(const Domain& domain, size_t axis) {
  const auto depends = [&](const Affine& form) { return form.coefficient(axis) != 0; };
  return std::ranges::any_of(domain.inequalities, depends) ||
         std::ranges::any_of(domain.equalities, depends) ||
         std::ranges::any_of(domain.divisions, depends, &Division::numerator);
}

// Takes reduction axes out of a sum: its domain becomes `outer` (without them, and without rows
// that know them), its body `body`, which is over the axes as they were.
void remove_axes(ExprPool& pool, Stage& stage, AxisSet dropped, Domain outer, ExprId body) {
  std::vector<ExprId> renumbered;
  size_t next = 0;
  for (size_t k = 0; k < stage.domain.rank(); ++k) {
    renumbered.push_back(pool.axis(next));
    if (!(dropped & bit(k))) ++next;
  }
  stage.domain = std::move(outer);
  if (stage.domain.reduction_rank() == 0) stage.combiner.kind = CombinerKind::None;
  stage.bodies = {substitute_axes(pool, body, renumbered)};
}

// A sum over axes that body and rows lack is a product with their extents.
bool drop_unused_axes(ExprPool& pool, Stage& stage, const Product& product) {
  AxisSet used = 0;
  for (const Factor& f : product.factors) used |= f.axes;
  AxisSet dropped = 0;
  for (size_t k = stage.domain.output_rank; k < stage.domain.rank(); ++k)
    if (!(used & bit(k)) && !in_rows(stage.domain, k)) dropped |= bit(k);
  if (dropped == 0) return false;
  const DType dtype = pool.dtype(stage.bodies[0]);
  if (!is_float(dtype) || accumulator_of(dtype) != dtype) return false;
  const ExprId count = pool.constant(points(stage.domain, dropped), dtype);
  const ExprId body = pool.mul(stage.bodies[0], count);
  std::vector<size_t> others;
  for (size_t k = 0; k < stage.domain.rank(); ++k)
    if (!(dropped & bit(k))) others.push_back(k);
  remove_axes(pool, stage, dropped, select_axes(stage.domain, others, stage.domain.output_rank),
              body);
  return true;
}

// An intermediate may be as large as twice the largest tensor around.
double memory_bound(const Graph& graph, const Stage& stage) {
  double largest = static_cast<double>(graph.info(stage.results[0]).element_count());
  for (TensorId t : tensors_read(graph, stage))
    largest = std::max(largest, static_cast<double>(graph.info(t).element_count()));
  return 2 * largest;
}

// The factors that use `axis`, and every reduction axis that only they use.
Split split_at(const Domain& domain, const Product& product, size_t axis) {
  Split split;
  AxisSet used = 0, outside = 0;
  for (const Factor& f : product.factors) {
    const bool in = (f.axes & bit(axis)) != 0;
    split.inner.push_back(in);
    (in ? used : outside) |= f.axes;
  }
  for (size_t k = domain.output_rank; k < domain.rank(); ++k)
    if ((used & bit(k)) && !(outside & bit(k))) split.reduced |= bit(k);
  split.kept = (used | row_neighbours(domain, split.reduced)) & ~split.reduced;
  return split;
}

// Whether one of the factors outside waits for another reduction of what those inside read.
bool waits(const Graph& graph, const StageOf& stage_of, const Stage& stage, const Product& product,
           const Split& split) {
  std::vector<ExprId> inside;
  std::vector<TensorId> outside;
  for (size_t k = 0; k < product.factors.size(); ++k) {
    const ExprId factor = product.factors[k].expr;
    if (split.inner[k])
      inside.push_back(factor);
    else if (graph.pool.is(factor, Op::Read))
      outside.push_back(graph.pool.read_tensor(factor));
  }
  std::vector<TensorId> read;
  for (ExprId id : reachable(graph.pool, inside))
    if (graph.pool.is(id, Op::Read)) read.push_back(graph.pool.read_tensor(id));
  return any_waits_for_reduction_of(graph, stage_of, outside, read, stage.domain);
}

// All reduction axes inside, factors without any of them outside: worth it when a product stays
// inside (it accumulates with fma), when what leaves is more than a value that is read, or when
// that is waited for.
std::optional<Split> invariant_split(const Graph& graph, const StageOf& stage_of,
                                     const Stage& stage, const Product& product) {
  const AxisSet outputs = bit(stage.domain.output_rank) - 1;
  Split split;
  size_t inside = 0, outside = 0;
  bool costly = false;
  for (const Factor& f : product.factors) {
    const bool in = (f.axes & ~outputs) != 0;
    split.inner.push_back(in);
    split.kept |= in ? f.axes & outputs : 0;
    split.reduced |= f.axes & ~outputs;
    (in ? inside : outside) += 1;
    const Op op = graph.pool[f.expr].op;
    costly = costly || (!in && (f.inverse || (op != Op::Read && op != Op::Constant)));
  }
  constexpr double kFewPoints = 4;
  if (outside == 0 || inside == 0) return std::nullopt;
  if (points(stage.domain, split.reduced) < kFewPoints) return std::nullopt;
  if (inside < 2 && !costly && !waits(graph, stage_of, stage, product, split)) return std::nullopt;
  split.kept |= row_neighbours(stage.domain, split.reduced) & ~split.reduced;
  if (!stage.domain.is_box() && points(stage.domain, split.kept) > memory_bound(graph, stage))
    return std::nullopt;
  std::optional<SplitDomain> domains = split_domain(stage.domain, split.kept, split.reduced);
  if (!domains) return std::nullopt;
  split.domains = std::move(*domains);
  return split;
}

// The split that leaves least work; only one that takes at least 40 % off, or that leaves invariant
// factors of a product of three or more outside, or costly ones, or such as wait for another sum.
std::optional<Split> best_split(const Graph& graph, const StageOf& stage_of, const Stage& stage,
                                const Product& product) {
  const double work = size_of(stage.domain);
  std::optional<Split> best;
  double least = 0.6 * work;
  for (size_t axis = stage.domain.output_rank; axis < stage.domain.rank(); ++axis) {
    Split split = split_at(stage.domain, product, axis);
    const bool whole = std::ranges::all_of(split.inner, [](char in) { return in != 0; });
    if (whole || split.reduced == 0) continue;
    if (points(stage.domain, split.kept) > memory_bound(graph, stage)) continue;
    std::optional<SplitDomain> domains = split_domain(stage.domain, split.kept, split.reduced);
    if (!domains) continue;
    const double cost = size_of(domains->inner) + size_of(domains->outer);
    if (cost < least) {
      least = cost;
      split.domains = std::move(*domains);
      best = std::move(split);
    }
  }
  return best ? best : invariant_split(graph, stage_of, stage, product);
}

bool reads_each_once(const ExprPool& pool, ExprId factor, const Stage& reader) {
  if (!pool.is(factor, Op::Read) || pool.read_predicate(factor).valid()) return false;
  const std::span<const ExprId> index = pool.read_index(factor);
  return index.size() == reader.domain.rank() && reader.domain.is_box() &&
         std::ranges::all_of(index, [&](ExprId at) { return pool.is(at, Op::Axis); }) &&
         std::popcount(axes_used(pool, factor)) == static_cast<int>(index.size());
}

// One flag per tensor: sums alone read it, as a factor, each element once.
std::vector<char> only_summed_tensors(const Graph& graph) {
  std::vector<int> others(graph.tensors.size(), 0);
  for (TensorId output : graph.outputs) ++others[output.value];
  for (const Stage& stage : graph.stages) {
    for (TensorId tensor : tensors_read(graph, stage)) ++others[tensor.value];
    if (!applies(stage)) continue;
    for (const Factor& factor : factors_of(graph.pool, stage.bodies[0]).factors)
      if (reads_each_once(graph.pool, factor.expr, stage))
        --others[graph.pool.read_tensor(factor.expr).value];
  }
  std::vector<char> flags;
  for (int count : others) flags.push_back(count == 0);
  return flags;
}

// Whether a stage maps a product of few reads that has a number or a sign to take out: what is
// computed again where several sums write it out is one multiplication.
bool maps_scaled_product(const ExprPool& pool, const Stage& stage) {
  if (stage.kind != StageKind::Compute || stage.bodies.size() != 1 ||
      stage.combiner.kind != CombinerKind::None || !stage.domain.is_box() || stage.stop_gradient)
    return false;
  const Product product = factors_of(pool, stage.bodies[0]);
  constexpr int64_t kMostReads = 2;
  const auto is = [&](Op op) {
    return std::ranges::count_if(product.factors,
                                 [&](const Factor& f) { return pool.is(f.expr, op); });
  };
  const int64_t constants = is(Op::Constant), reads = is(Op::Read);
  const bool only_these = constants + reads == static_cast<int64_t>(product.factors.size());
  return only_these && reads <= kMostReads && (constants > 0 || product.negative);
}

class Hoister {
 public:
  explicit Hoister(Graph graph)
      : graph_(std::move(graph)),
        pool_(graph_.pool),
        only_summed_(only_summed_tensors(graph_)),
        known_sums_(graph_) {}

  Graph operator()() {
    stages_ = std::move(graph_.stages);
    is_done_.assign(stages_.size(), false);
    graph_.stages.clear();
    for (size_t s = 0; s < stages_.size(); ++s) hoist_once(s);
    return std::move(graph_);
  }

 private:
  // A stage of the graph as it came; a sum may have been asked for earlier.
  void hoist_once(size_t s) {
    if (is_done_[s]) return;
    is_done_[s] = true;
    hoist(std::move(stages_[s]));
  }

  // Emits the stages that replace `stage`, inner ones first.
  void hoist(Stage stage) {
    constexpr int kMostSplits = 8;
    for (int round = 0; round < kMostSplits && applies(stage); ++round) {
      if (round == 0) {
        if (take_from_known_sum(stage)) break;
        stage.bodies[0] = with_products_written_out(stage);
      }
      stage.bodies[0] = common_factor_out(pool_, stage.bodies[0]);
      const Product product = factors_of(pool_, stage.bodies[0]);
      if (drop_unused_axes(pool_, stage, product)) continue;
      const std::optional<Split> split = best_split(graph_, stage_of_, stage, product);
      if (!split) break;
      stage = apply(stage, product, *split);
    }
    for (TensorId result : stage.results) stage_of_[result.value] = graph_.stages.size();
    graph_.stages.push_back(std::move(stage));
  }

  // The body with the products that it has for factors written out, where these have a number or a
  // sign to take out, and where each of their elements is read once: the sum computes them itself.
  ExprId with_products_written_out(const Stage& stage) {
    Product product = factors_of(pool_, stage.bodies[0]);
    bool any = false;
    for (Factor& factor : product.factors) {
      const Stage* inner = product_read(factor.expr, stage);
      if (!inner) continue;
      any = true;
      const std::vector<ExprId> index(pool_.read_index(factor.expr).begin(),
                                      pool_.read_index(factor.expr).end());
      factor.expr = substitute_axes(pool_, inner->bodies[0], index);
    }
    return any ? product_of(pool_, product, pool_.dtype(stage.bodies[0])) : stage.bodies[0];
  }

  // The stage of products of which a sum reads each element once; null where there is none.
  const Stage* product_read(ExprId factor, const Stage& reader) const {
    if (!reads_each_once(pool_, factor, reader)) return nullptr;
    const TensorId tensor = pool_.read_tensor(factor);
    if (tensor.value >= only_summed_.size() || !only_summed_[tensor.value]) return nullptr;
    const auto found = stage_of_.find(tensor.value);
    if (found == stage_of_.end()) return nullptr;
    const Stage& inner = graph_.stages[found->second];
    return inner.region == reader.region && maps_scaled_product(pool_, inner) ? &inner : nullptr;
  }

  // Makes a sum of a scaled tensor, of what scales it and the sum of that tensor, where the graph
  // computes that, too; the tensor may be scaled several times. Whether that was done.
  bool take_from_known_sum(Stage& stage) {
    constexpr int kMostScalings = 8;
    const DType dtype = pool_.dtype(stage.bodies[0]);
    Product product = factors_of(pool_, stage.bodies[0]);
    if (product.factors.size() != 1 || product.factors[0].inverse || !is_float(dtype) ||
        !stage.domain.is_box())
      return false;
    size_t summed = 0;  // the factor of which elements are summed
    for (int scalings = 0; scalings < kMostScalings; ++scalings) {
      const ExprId read = product.factors[summed].expr;
      const Stage* inner = scaled_tensor_read(read, stage);
      if (!inner) return false;
      const std::vector<ExprId> index(pool_.read_index(read).begin(), pool_.read_index(read).end());
      product.factors[summed].expr = substitute_axes(pool_, inner->bodies[0], index);
      product = factors_of(pool_, product_of(pool_, product, dtype));
      const AxisSet outputs = bit(stage.domain.output_rank) - 1;
      const auto is_summed = [&](const Factor& f) { return (f.axes & ~outputs) != 0; };
      if (std::ranges::count_if(product.factors, is_summed) != 1) return false;
      summed = static_cast<size_t>(std::ranges::find_if(product.factors, is_summed) -
                                   product.factors.begin());
      const KnownSum* known = known_sums_.find(pool_, product.factors[summed].expr, stage.domain);
      if (!known || !is_computed(*known, stage)) continue;
      read_known_sum(stage, product, summed, *known);
      return true;
    }
    return false;
  }

  // Whether a sum is there, or can be computed now: it reads what the stage that scales reads.
  bool is_computed(const KnownSum& known, const Stage& reader) {
    constexpr int kMostAhead = 32;  // sums that wait for each other: they are on the stack
    if (known.result == reader.results[0] ||
        graph_.info(known.result).dtype != graph_.info(reader.results[0]).dtype)
      return false;
    if (!is_done_[known.stage]) {
      if (stages_[known.stage].region != reader.region || ahead_ == kMostAhead) return false;
      ++ahead_;
      hoist_once(known.stage);
      --ahead_;
    }
    const auto found = stage_of_.find(known.result.value);
    return found != stage_of_.end() && graph_.stages[found->second].region == reader.region;
  }

  void read_known_sum(Stage& stage, Product product, size_t summed, const KnownSum& known) {
    const std::vector<size_t> axes =
        KnownSums::axes_of(pool_, product.factors[summed].expr, stage.domain);
    std::vector<ExprId> index;
    for (const std::optional<size_t>& place : known.places)
      index.push_back(place ? pool_.axis(axes[*place]) : pool_.constant_int(0));
    product.factors[summed].expr = read(graph_, known.result, index);
    product.negative = product.negative != known.negative;
    AxisSet reduced = 0;
    std::vector<size_t> results;
    for (size_t a = 0; a < stage.domain.rank(); ++a)
      if (a < stage.domain.output_rank)
        results.push_back(a);
      else
        reduced |= bit(a);
    const ExprId body = product_of(pool_, product, pool_.dtype(stage.bodies[0]));
    remove_axes(pool_, stage, reduced, select_axes(stage.domain, results, stage.domain.output_rank),
                body);
  }

  // The stage of which a sum reads an element, where that is an element of one tensor times what
  // does not know the axes that are summed; null: there is none.
  const Stage* scaled_tensor_read(ExprId factor, const Stage& reader) const {
    if (!pool_.is(factor, Op::Read) || pool_.read_predicate(factor).valid()) return nullptr;
    const auto found = stage_of_.find(pool_.read_tensor(factor).value);
    if (found == stage_of_.end()) return nullptr;
    const Stage& inner = graph_.stages[found->second];
    if (inner.kind != StageKind::Compute || inner.bodies.size() != 1 ||
        inner.combiner.kind != CombinerKind::None || !inner.domain.is_box() ||
        inner.stop_gradient || inner.region != reader.region)
      return nullptr;
    // Which axes of it are summed: each dimension is an axis of the reader, or a number.
    AxisSet summed = 0, seen = 0;
    const std::span<const ExprId> index = pool_.read_index(factor);
    for (size_t d = 0; d < index.size(); ++d) {
      if (pool_.is(index[d], Op::Constant)) continue;
      if (!pool_.is(index[d], Op::Axis)) return nullptr;
      const AxisSet axis = axes_used(pool_, index[d]);
      if (axis & seen) return nullptr;
      seen |= axis;
      if (axis >= bit(reader.domain.output_rank)) summed |= bit(d);
    }
    size_t inside = 0, outside = 0;
    for (const Factor& f : factors_of(pool_, inner.bodies[0]).factors) {
      if ((f.axes & summed) == 0) {
        outside += !pool_.is(f.expr, Op::Constant);
        continue;
      }
      if (f.inverse || !pool_.is(f.expr, Op::Read) || (f.axes & summed) != summed) return nullptr;
      ++inside;
    }
    return inside == 1 && outside > 0 ? &inner : nullptr;
  }

  // Emits the inner stage (hoisted itself) and returns the outer one.
  Stage apply(const Stage& stage, const Product& product, const Split& split) {
    Product inside, outside;
    outside.negative = product.negative;
    for (size_t k = 0; k < product.factors.size(); ++k)
      (split.inner[k] ? inside : outside).factors.push_back(product.factors[k]);
    const DType dtype = pool_.dtype(stage.bodies[0]);
    // The axes of the inner stage: kept ones, then reduced ones.
    Stage inner;
    inner.combiner = stage.combiner;
    inner.lines = stage.lines;
    inner.region = stage.region;
    std::vector<ExprId> now(stage.domain.rank()), index;
    size_t position = 0;
    for (const AxisSet set : {split.kept, split.reduced})
      for (size_t k = 0; k < stage.domain.rank(); ++k) {
        if (!(set & bit(k))) continue;
        now[k] = pool_.axis(position++);
        if (set == split.kept) index.push_back(pool_.axis(k));
      }
    inner.domain = split.domains.inner;
    for (size_t k = 0; k < now.size(); ++k)
      if (!now[k].valid()) now[k] = pool_.axis(k);  // not used inside
    inner.bodies = {substitute_axes(pool_, product_of(pool_, inside, dtype), now)};
    const std::vector<int64_t> shape(
        inner.domain.extents.begin(),
        inner.domain.extents.begin() + static_cast<long>(index.size()));
    inner.results = {
        add_tensor(graph_, graph_.info(stage.results[0]).name + "_part", dtype, shape)};
    const ExprId part = read(graph_, inner.results[0], index);
    hoist(std::move(inner));
    Stage outer = stage;
    outside.factors.push_back({part, false, split.kept});
    const ExprId body = product_of(pool_, outside, dtype);
    remove_axes(pool_, outer, split.reduced, split.domains.outer, body);
    return outer;
  }

  Graph graph_;
  ExprPool& pool_;
  const std::vector<char> only_summed_;  // per tensor of the graph as it came
  const KnownSums known_sums_;
  std::vector<Stage> stages_;  // as they came, those that are done moved out of
  std::vector<bool> is_done_;
  int ahead_ = 0;  // sums that are asked for by one that waits for them
  StageOf stage_of_;
};

}  // namespace

Graph hoist_factors(Graph graph) { return Hoister(std::move(graph))(); }

}  // namespace adjit::diff
