// tests/runtime/diff/scan_fuzz_test.cpp -- random steps in loops, against differences and against
// the same loop unrolled.
#include <gtest/gtest.h>

#include "runtime/diff/reverse/calls.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/splice.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/gradient_check.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// A step of random elementwise stages and sums over carries (3), a slice (3) and fixed (3, 3), (3):
// smooth, and bounded so that loops do not blow up.
class RandomStep {
 public:
  explicit RandomStep(uint64_t seed) : random_(seed) {}

  std::shared_ptr<const Graph> operator()(size_t carries, size_t stacked) {
    for (size_t k = 0; k < carries; ++k) rows_.push_back(add_input(graph_, "c", kType, {3}));
    rows_.push_back(add_input(graph_, "x", kType, {3}));
    matrix_ = add_input(graph_, "w", kType, {3, 3});
    rows_.push_back(add_input(graph_, "b", kType, {3}));
    const int stages = static_cast<int>(random_.between(2, 6));
    for (int k = 0; k < stages; ++k) add_stage();
    for (size_t k = 0; k < carries + stacked; ++k) graph_.outputs.push_back(random_.pick(rows_));
    return std::make_shared<const Graph>(std::move(graph_));
  }

 private:
  static constexpr DType kType = DType::Float64;

  ExprId element(ExprId axis) {
    const TensorId row = random_.pick(rows_);
    return read(graph_, row, std::span(&axis, 1));
  }

  void add_stage() {
    ExprPool& pool = graph_.pool;
    const ExprId i = pool.axis(0), r = pool.axis(1);
    Domain domain;
    domain.extents = {3};
    domain.output_rank = 1;
    Combiner combiner;
    ExprId body;
    if (random_.chance(50)) {
      domain.extents = {3, 3};
      combiner.kind = CombinerKind::Sum;
      const ExprId index[] = {random_.chance(50) ? i : r, r};
      body = pool.mul(read(graph_, matrix_, index), pool.make(Op::Sin, {element(r)}));
      if (random_.chance(30)) body = pool.mul(body, element(i));
    } else {
      const ExprId a = element(i), b = element(i);
      body = pool.make(Op::Tanh, {random_.chance(50) ? pool.add(a, b) : pool.mul(a, b)});
      if (random_.chance(30)) body = pool.add(body, element(i));
    }
    rows_.push_back(add_compute(graph_, "t", domain, combiner, {body})[0]);
  }

  Random random_;
  Graph graph_;
  std::vector<TensorId> rows_;
  TensorId matrix_;
};

struct Loop {
  Graph scan, unrolled;
};

TensorId slice_of(Graph& graph, TensorId rows, int64_t t) {
  const ExprId index[] = {graph.pool.constant_int(t), graph.pool.axis(0)};
  Domain domain;
  domain.extents = {graph.info(rows).shape[1]};
  domain.output_rank = 1;
  return add_compute(graph, "slice", domain, {}, {read(graph, rows, index)})[0];
}

// Inputs: the carries, xs, w, b; outputs: the last carries, then row t of each stacked result, per
// t.
Loop random_loop(uint64_t seed) {
  Random random(seed);
  Scan scan;
  scan.carries = static_cast<size_t>(random.between(1, 3));
  scan.scanned = 1;
  scan.fixed = 2;
  scan.stacked = static_cast<size_t>(random.between(0, 2));
  scan.trips = random.chance(20) ? 9 : random.between(1, 5);
  scan.reverse = random.chance(40);
  scan.segment = random.chance(40) ? random.between(1, 3) : 0;
  scan.body = RandomStep(seed + 1000)(scan.carries, scan.stacked);
  Graph base;
  for (size_t k = 0; k < scan.carries; ++k) add_input(base, "h", DType::Float64, {3});
  const TensorId xs = add_input(base, "xs", DType::Float64, {scan.trips, 3});
  const TensorId w = add_input(base, "w", DType::Float64, {3, 3});
  const TensorId b = add_input(base, "b", DType::Float64, {3});

  Loop loop{base, base};
  Stage stage;
  stage.kind = StageKind::Scan;
  stage.operands = base.inputs;
  for (size_t k = 0; k < scan.carries + scan.stacked; ++k)
    stage.results.push_back(k < scan.carries
                                ? add_tensor(loop.scan, "last", DType::Float64, {3})
                                : add_tensor(loop.scan, "ys", DType::Float64, {scan.trips, 3}));
  stage.scan = std::make_shared<const Scan>(scan);
  loop.scan.stages.push_back(stage);
  for (size_t k = 0; k < scan.carries; ++k) loop.scan.outputs.push_back(stage.results[k]);
  for (size_t k = scan.carries; k < stage.results.size(); ++k)
    for (int64_t t = 0; t < scan.trips; ++t)
      loop.scan.outputs.push_back(slice_of(loop.scan, stage.results[k], t));

  std::vector<TensorId> carries(base.inputs.begin(),
                                base.inputs.begin() + static_cast<std::ptrdiff_t>(scan.carries));
  std::vector<std::vector<TensorId>> rows(scan.stacked,
                                          std::vector<TensorId>(static_cast<size_t>(scan.trips)));
  for (int64_t n = 0; n < scan.trips; ++n) {
    const int64_t t = scan.reverse ? scan.trips - 1 - n : n;
    std::vector<TensorId> arguments(carries);
    arguments.push_back(slice_of(loop.unrolled, xs, t));
    arguments.insert(arguments.end(), {w, b});
    const std::vector<TensorId> made = splice(loop.unrolled, *scan.body, arguments, {});
    carries.assign(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(scan.carries));
    for (size_t k = 0; k < scan.stacked; ++k)
      rows[k][static_cast<size_t>(t)] = made[scan.carries + k];
  }
  loop.unrolled.outputs = carries;
  for (const auto& row : rows)
    loop.unrolled.outputs.insert(loop.unrolled.outputs.end(), row.begin(), row.end());
  return loop;
}

Graph derived(const Graph& forward, int order) {
  ReverseOptions options;
  options.wrt = float_inputs(forward);
  for (size_t k = 0; k < forward.outputs.size(); ++k) options.outputs.push_back(k);
  const Graph first = vjp(forward, options);
  return order == 1 ? first : derived(first, order - 1);
}

void expect_close(const std::vector<Array>& found, const std::vector<Array>& wanted,
                  const std::string& what) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t k = 0; k < wanted.size(); ++k)
    for (int64_t e = 0; e < wanted[k].element_count(); ++e)
      ASSERT_NEAR(found[k].at(e), wanted[k].at(e), 1e-9 * (1 + std::abs(wanted[k].at(e))))
          << what << ", output " << k;
}

class RandomLoops : public ::testing::TestWithParam<uint64_t> {};

TEST_P(RandomLoops, HaveTheDerivativesOfTheUnrolledLoop) {
  for (uint64_t seed = 20 * GetParam(); seed < 20 * (GetParam() + 1); ++seed) {
    const Loop loop = random_loop(seed);
    verify(loop.scan);
    for (const int order : {1, 2}) {
      const Graph found = derived(loop.scan, order), wanted = derived(loop.unrolled, order);
      verify(found);
      const std::vector<Array> inputs = random_inputs(found, static_cast<uint32_t>(seed));
      const std::string what = "seed " + std::to_string(seed) + ", order " + std::to_string(order);
      expect_close(interpret(found, inputs), interpret(wanted, inputs), what);
      expect_close(interpret(simplify(expand_calls(found)), inputs), interpret(wanted, inputs),
                   what + ", expanded");
      const Graph apart = split_loops(linear_scans_as_prefixes(simplify(expand_calls(found))));
      verify(apart);
      expect_close(interpret(apart, inputs), interpret(wanted, inputs), what + ", split");
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomLoops, ::testing::Range<uint64_t>(0, 10));

}  // namespace
}  // namespace adjit::testing
