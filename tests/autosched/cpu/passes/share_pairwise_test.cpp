// tests/autosched/cpu/passes/share_pairwise_test.cpp -- which sums share the values of pairs, in
// what blocks, and what it makes of them.
#include "autosched/cpu/passes/share_pairwise.hpp"

#include <algorithm>

#include "autosched/analysis/task_chains.hpp"
#include "autosched/analysis/verify.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// Small caches, so that few pairs leave them; bodies so costly that few of them take long.
constexpr CpuMachine kSmall{.cores = 2, .l2_bytes = 16 << 10};
std::string value(const std::string& at) { return "tanh(exp(-tanh(t(" + at + "))))"; }

// With other text for $1, $2, ...
std::string filled(std::string text, const std::vector<std::string>& parts) {
  for (size_t k = 0; k < parts.size(); ++k)
    for (size_t at; (at = text.find('$' + std::to_string(k + 1))) != std::string::npos;)
      text.replace(at, 2, parts[k]);
  return text;
}

// The gradients of u(i, k) = sum over j of f(|x(i) - y(j)|^2) b(j, k), or the first two of them.
std::string gradients(int64_t n, int64_t m, bool all = true, const char* type = "float",
                      const std::string& of_ij = value("i, j"),
                      const std::string& of_rj = value("r, j")) {
  const char* const last = " db(j, k) +=! g(r, k) * $6 where j in 0:$3, k in 0:2, r in 0:$2\n";
  const std::string text =
      "def main($1($2, 2) g, $1($2, 3) x, $1($3, 3) y, $1($3, 2) b) -> (dx, dy$4) {\n"
      " t(i, j) +=! (x(i, r_k) - y(j, r_k)) * (x(i, r_k) - y(j, r_k))\n"
      " d(i, j) +=! g(i, r_k) * b(j, r_k)\n"
      " w(i, j) = $5 * d(i, j)\n"
      " dx(i, k) +=! w(i, r) * (x(i, k) - y(r, k)) where i in 0:$2, k in 0:3, r in 0:$3\n"
      " dy(j, k) +=! w(r, j) * (y(j, k) - x(r, k)) where j in 0:$3, k in 0:3, r in 0:$2\n";
  return filled(text + (all ? last : "") + "}",
                {type, std::to_string(n), std::to_string(m), all ? ", db" : "", of_ij, of_rj});
}

Program scheduled(const std::string& text, const CpuMachine& machine = kSmall,
                  Choices choices = {}) {
  const Graph graph = parse_graph(text);
  Program p = schedule_with(graph, machine, choices);
  verify(p);
  EXPECT_EQ(print(replay(graph, p.moves_json, p.target)), print(p));
  return p;
}

// The stage of the values; SIZE_MAX: none are shared.
size_t pairs_in(const Program& p) {
  for (size_t s = 0; s < p.graph.stages.size(); ++s)
    if (stage_name(p.graph, p.graph.stages[s]).ends_with("_pairs")) return s;
  return SIZE_MAX;
}

// How often a costly function of a pair is written down: once where pairs are shared.
int evaluations(const Program& p) {
  int count = 0;
  for (const Stage& stage : p.graph.stages)
    for (ExprId id : reachable(p.graph.pool, stage.bodies)) count += p.graph.pool.is(id, Op::Exp);
  return count;
}

TEST(SharedPairs, OneEvaluationForSumsOverBothAxes) {
  const std::string text = gradients(200, 300);
  const Program p = scheduled(text);
  const size_t s = pairs_in(p);
  ASSERT_NE(s, SIZE_MAX) << print(p);
  EXPECT_EQ(evaluations(p), 1);
  const Stage& pairs = p.graph.stages[s];
  EXPECT_EQ(pairs.results.size(), 2u) << "the function, and its product";
  EXPECT_EQ(pairs.domain.extents, (std::vector<int64_t>{300, 200})) << "dx has fewer partial sums";
  // The values, and the three sums of them, are one chain that keeps a block of them.
  const TaskChains chains = task_chains(p);
  const size_t kernel = find_nest(p, s)->kernel;
  EXPECT_FALSE(chains.continues[kernel]);
  for (size_t k = 1; k <= 3; ++k) EXPECT_TRUE(chains.continues[kernel + k]) << print(p);
  for (TensorId id : pairs.results) EXPECT_EQ(chains.slices[id.value], 16 * 200);
}

// Their instructions come in turn.
TEST(SharedPairs, TwoCopiesOfTheFunctions) {
  const Program p = scheduled(gradients(320, 300));
  const size_t s = pairs_in(p);
  ASSERT_NE(s, SIZE_MAX) << print(p);
  const std::vector<Loop>& loops = nest_of(p, s).loops;
  const auto copies = std::ranges::find(loops, LoopKind::Unrolled, &Loop::kind);
  ASSERT_NE(copies, loops.end()) << print(p);
  EXPECT_EQ(copies->trips, 2);
}

// Rows of a block and vectors of columns come several at once: operands are shared, and sums wait
// for each other less.
TEST(SharedPairs, TilesOfRowsAndOfColumns) {
  const Program p = scheduled(gradients(320, 300));
  const size_t s = pairs_in(p);
  ASSERT_NE(s, SIZE_MAX) << print(p);
  const size_t kernel = find_nest(p, s)->kernel;
  EXPECT_EQ(nest_of(p, s).loops.front().step % 4, 0) << "whole tiles of a block's rows";
  for (size_t k = 1; k <= 3; ++k) {
    const Nest& sums = p.kernels[kernel + k].root;
    const Stage& stage = p.graph.stages[sums.stage];
    int64_t copies = 1;
    for (const Loop& loop : sums.loops)
      if (loop.kind == LoopKind::Unrolled && loop.axis < stage.domain.output_rank)
        copies *= loop.trips;
    EXPECT_GE(copies, 4) << "an accumulation takes four cycles\n" << print(p);
  }
}

TEST(SharedPairs, MeansWhatTheGraphMeans) {
  for (const auto& [n, m, all] :
       {std::tuple{255, 241, true}, std::tuple{256, 300, false}, std::tuple{224, 224, true}}) {
    for (const char* type : {"float", "double"}) {
      const Graph graph = parse_graph(gradients(n, m, all, type));
      const Program p = default_schedule(graph, kSmall);
      EXPECT_NE(pairs_in(p), SIZE_MAX) << n << " x " << m << " " << type;
      EXPECT_EQ(evaluations(p), 1);
      expect_faithful(p, graph);
    }
  }
}

// Partial sums, so results, are the same whatever the number of cores.
TEST(SharedPairs, BlocksFollowFromShapesAndCaches) {
  const auto parts = [](int cores) {
    CpuMachine machine = kSmall;
    machine.cores = cores;
    const Program p = scheduled(gradients(400, 300), machine);
    const size_t s = pairs_in(p);
    EXPECT_NE(s, SIZE_MAX);
    return s == SIZE_MAX ? 0 : nest_of(p, s).loops.front().trips;
  };
  EXPECT_EQ(parts(1), parts(64));
}

TEST(SharedPairs, NotWhatCostsLittle) {
  const std::string text = gradients(200, 300, true, "float", "t(i, j)", "t(r, j)");
  EXPECT_EQ(pairs_in(scheduled(text)), SIZE_MAX);
}

TEST(SharedPairs, NotFewPairs) {
  EXPECT_EQ(pairs_in(scheduled(gradients(70, 80))), SIZE_MAX);
  EXPECT_EQ(pairs_in(scheduled(gradients(40, 4000))), SIZE_MAX) << "a short axis";
  CpuMachine large = kSmall;
  large.l2_bytes = 1 << 20;
  EXPECT_EQ(pairs_in(scheduled(gradients(200, 300), large)), SIZE_MAX)
      << "all pairs stay in the second-level cache";
}

TEST(SharedPairs, NotSumsOverOneAxisOnly) {
  const char* const text =
      "def main(float(200, 300) t, float(300) a) -> (u, v) {\n"
      " u(i) +=! $1 * a(r)\n v(i) max=! $1 - a(r)\n}";
  EXPECT_EQ(pairs_in(scheduled(filled(text, {value("i, r")}))), SIZE_MAX);
}

// Two reductions of a costly function of t.
std::string both(const std::string& u, const std::string& v) {
  return filled("def main(float(200, 300) t, float(300) a) -> (u, v) {\n " + u + "\n " + v + "\n}",
                {value("i, r"), value("r, i")});
}

TEST(SharedPairs, NotWhereABlockCannotDoItsPart) {
  const std::string u = "u(i) +=! $1 * a(r)", over = " where i in 0:300, r in 0:200";
  const auto shares = [](const std::string& text) { return pairs_in(scheduled(text)) != SIZE_MAX; };
  EXPECT_TRUE(shares(both(u, "v(i) +=! $2" + over)));
  EXPECT_TRUE(shares(both(u, "v(i) max=! $2" + over)));
  EXPECT_FALSE(shares(both(u, "v(i) +=! $2 * u(r)" + over))) << "one sum needs the other";
  EXPECT_FALSE(shares(both(u, "v(i) +=! $2" + over + ", r <= i"))) << "not all pairs";
  EXPECT_FALSE(shares(both(u, "(v, w)(i) argmax=! ($2, r)" + over))) << "no partial results";
}

TEST(SharedPairs, IsADecision) {
  const std::string text = gradients(200, 300);
  Choices choices{Answers{}};
  schedule_with(parse_graph(text), kSmall, choices);
  const auto offer = std::ranges::find(choices.offers(), Decision::SharePairwise,
                                       [](const Offer& o) { return o.subject.decision; });
  ASSERT_NE(offer, choices.offers().end());
  const Program p = scheduled(text, kSmall, Choices(Answers{{offer->subject, 1}}));
  EXPECT_EQ(pairs_in(p), SIZE_MAX);
}

}  // namespace
}  // namespace adjit::sched
