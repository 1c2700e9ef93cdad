// Alternatives to the default schedule: legal, faithful, priced, deterministic.
#include "autosched/search/search.hpp"

#include <algorithm>
#include <set>

#include "autosched/analysis/verify.hpp"
#include "autosched/cpu/cost/cost.hpp"
#include "autosched/search/scheduler.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The step of a scan is a small product: h' = h W.
Graph scan_graph(int64_t steps, int64_t batch, int64_t width) {
  auto body = std::make_shared<Graph>();
  Builder b;
  const TensorId h = b.input("h", {batch, width}), w = b.input("w", {width, width});
  const TensorId next =
      b.stage("next", {batch, width, width}, 2, CombinerKind::Sum,
              b.graph.pool.mul(b.at(h, {b.axis(0), b.axis(2)}), b.at(w, {b.axis(2), b.axis(1)})));
  b.output(next);
  *body = b.graph;
  Builder outer;
  const TensorId h0 = outer.input("h0", {batch, width}), weights = outer.input("W", {width, width});
  Stage stage;
  stage.kind = StageKind::Scan;
  stage.operands = {h0, weights};
  Scan scan;
  scan.body = body;
  scan.trips = steps;
  scan.carries = 1;
  scan.fixed = 1;
  stage.scan = std::make_shared<Scan>(scan);
  const TensorId result = add_tensor(outer.graph, "last", DType::Float32, {batch, width});
  stage.results = {result};
  outer.graph.stages.push_back(stage);
  outer.output(result);
  return outer.graph;
}

bool mentions(const std::vector<Candidate>& found, std::string_view text) {
  return std::ranges::any_of(found, [&](const Candidate& candidate) {
    return candidate.changes.find(text) != std::string::npos;
  });
}

TEST(Search, StartsWithTheDefaultSchedule) {
  const Graph g = matmul_graph(256, 256, 256);
  const std::vector<Candidate> found = search(g, kTwoCores, {});
  ASSERT_GT(found.size(), 5U);
  EXPECT_TRUE(found[0].answers.empty() && found[0].changes.empty());
  const Program own = program_of(g, kTwoCores, found[0]);
  EXPECT_EQ(own.moves_json, default_schedule(g, kTwoCores).moves_json);
  EXPECT_EQ(found[0].microseconds, predict(own, kTwoCores).microseconds);
  for (size_t k = 2; k < found.size(); ++k)
    EXPECT_LE(found[k - 1].microseconds, found[k].microseconds);
}

TEST(Search, OffersNamedDecisions) {
  EXPECT_TRUE(mentions(search(matmul_graph(256, 256, 256), kTwoCores, {}), "tile of C: "));
  EXPECT_TRUE(
      mentions(search(product_graph(512, 512, 512, false, true), kTwoCores, {}), "pack of C: no"));
  EXPECT_TRUE(mentions(search(softmax_graph(512, 512), kTwoCores, {}), "compute at of e: no"));
  EXPECT_TRUE(mentions(search(total_graph(4096, 1024), kTwoCores, {}), "rfactor of s: no"));
  EXPECT_TRUE(
      mentions(search(conv_graph(8, 64, 28, 28, 64, 1, true), kTwoCores, {}), "pad of y: no"));
  EXPECT_TRUE(mentions(search(softmax_graph(4096, 512), kTwoCores, {}), "tasks of y: one for all"));
  EXPECT_TRUE(mentions(search(scan_graph(4, 32, 64), kTwoCores, {}), "tile of last/next: "));
}

TEST(Search, KeepsToItsBudgetAndRepeatsItself) {
  const Graph g = conv_graph(2, 16, 14, 14, 32, 1, true);
  for (size_t programs : {1U, 4U, 20U}) {
    const std::vector<Candidate> found = search(g, kTwoCores, {programs, 2, 2});
    EXPECT_LE(found.size(), programs);
    const std::vector<Candidate> again = search(g, kTwoCores, {programs, 2, 2});
    ASSERT_EQ(found.size(), again.size());
    for (size_t k = 0; k < found.size(); ++k) {
      EXPECT_EQ(found[k].changes, again[k].changes);
      EXPECT_EQ(found[k].microseconds, again[k].microseconds);
    }
  }
}

// A chain that every link of which is a stage of its own.
Graph long_graph(int stages) {
  Builder b;
  TensorId t = b.input("x", {64});
  for (int k = 0; k < stages; ++k)
    t = b.stage("t" + std::to_string(k), {64}, 1, CombinerKind::None,
                b.graph.pool.mul(b.at(t, {b.axis(0)}), b.at(t, {b.axis(0)})));
  b.output(t);
  return b.graph;
}

TEST(Choice, IsOneThatTheSearchFindsClearlyFaster) {
  size_t chosen = 0;
  for (const Graph& g : {matmul_graph(96, 700, 40), softmax_graph(2000, 24), total_graph(300, 130),
                         conv_graph(2, 16, 14, 14, 32, 1, true), column_sum_graph(2000, 120),
                         product_graph(200, 300, 100, true, true)}) {
    const double own = predict(default_schedule(g, kTwoCores), kTwoCores).microseconds;
    const std::optional<Candidate> found = choice(g, kTwoCores), again = choice(g, kTwoCores);
    ASSERT_EQ(found.has_value(), again.has_value());
    if (!found) continue;
    ++chosen;
    EXPECT_EQ(found->answers, again->answers);
    EXPECT_FALSE(found->changes.empty());
    EXPECT_LT(found->microseconds, 0.81 * own);
    EXPECT_EQ(found->microseconds,
              predict(program_of(g, kTwoCores, *found), kTwoCores).microseconds);
    for (const auto& [subject, option] : found->answers)
      EXPECT_TRUE(subject.decision != Decision::Tasks && subject.decision != Decision::Pack);
  }
  EXPECT_LT(chosen, 6U);
}

// The same program as of the candidate, or of the default schedule where there is none.
TEST(Choice, IsWhatCompilingTakes) {
  for (const Graph& g : {matmul_graph(512, 512, 512), softmax_graph(2000, 24),
                         column_sum_graph(2000, 120), conv_graph(4, 16, 14, 14, 16, 3, false)}) {
    const std::optional<Candidate> chosen = choice(g, kTwoCores);
    EXPECT_EQ(print(chosen_schedule(g, kTwoCores)),
              print(chosen ? program_of(g, kTwoCores, *chosen) : default_schedule(g, kTwoCores)));
  }
}

// The model knows nothing of rows that are fetched ahead: tiles without them stay out of a search.
TEST(Choice, KeepsStreamedOperands) {
  for (const int64_t rows : {15, 16, 17}) {
    const Program p = chosen_schedule(matmul_graph(rows, 2048, 4096), kTwoCores);
    EXPECT_TRUE(p.kernels.back().root.ahead.has_value()) << print(p);
  }
}

TEST(Choice, NeedsAModelOfTheTarget) {
  const Graph g = conv_graph(2, 16, 14, 14, 32, 1, true);
  for (const int bits : {128, 256, 512}) {
    const CpuMachine machine{2, bits};
    const Program program = default_schedule(g, machine);
    const double learned = predict(program, machine).microseconds;
    const double analytic = predict(program, machine, nullptr).microseconds;
    if (bits == 128) {
      EXPECT_EQ(learned, analytic);
      EXPECT_FALSE(choice(g, machine).has_value());
    } else {
      EXPECT_NE(learned, analytic) << bits;
    }
  }
}

TEST(Choice, LeavesLargeGraphsAlone) {
  EXPECT_FALSE(choice(long_graph(400), kTwoCores).has_value());
}

TEST(Search, LeavesDecisionsAloneWhereItIsTold) {
  const Graph g = softmax_graph(4096, 512);
  EXPECT_TRUE(mentions(search(g, kTwoCores, {64, 3, 3}), "tasks of y"));
  EXPECT_FALSE(mentions(search(g, kTwoCores, {64, 3, 3, {Decision::Tasks}}), "tasks of y"));
}

TEST(Search, CandidatesAreDifferentPrograms) {
  const Graph g = matmul_graph(64, 64, 64);
  std::set<std::string> moves;
  for (const Candidate& candidate : random_candidates(g, kTwoCores, 20, 7))
    EXPECT_TRUE(moves.insert(program_of(g, kTwoCores, candidate).moves_json).second);
  EXPECT_GT(moves.size(), 8U);
}

TEST(Search, EveryCandidateMeansTheGraph) {
  for (const Graph& g :
       {matmul_graph(24, 40, 33), product_graph(40, 24, 33, true, true), softmax_graph(12, 40),
        conv_graph(1, 4, 9, 9, 20, 2, true), column_sum_graph(200, 120), total_graph(300, 130)})
    for (uint64_t seed : {1, 2})
      for (const Candidate& candidate : random_candidates(g, kTwoCores, 6, seed)) {
        SCOPED_TRACE(candidate.changes);
        expect_faithful(program_of(g, kTwoCores, candidate), g);
      }
}

// The programs of steps; tests/jit/engine runs scans.
TEST(Search, EveryCandidateOfAScanIsLegal) {
  const Graph g = scan_graph(3, 5, 17);
  for (const Candidate& candidate : random_candidates(g, kTwoCores, 12, 1)) {
    SCOPED_TRACE(candidate.changes);
    const Program p = program_of(g, kTwoCores, candidate);
    EXPECT_NO_THROW(verify(p));
    EXPECT_EQ(print(replay(g, p.moves_json, CpuMachine{2, 512})), print(p));
    for (const Kernel& kernel : p.kernels)
      if (kernel.steps)
        expect_faithful(*kernel.steps, *p.graph.stages[kernel.root.stage].scan->body);
  }
}

TEST(Search, RandomCandidatesFollowTheirSeed) {
  const Graph g = matmul_graph(128, 128, 128);
  const auto changes = [&](uint64_t seed) {
    std::vector<std::string> texts;
    for (const Candidate& candidate : random_candidates(g, kTwoCores, 8, seed))
      texts.push_back(candidate.changes);
    return texts;
  };
  EXPECT_EQ(changes(3), changes(3));
  EXPECT_NE(changes(3), changes(4));
}

// A search goes on from what it made before the loops: its programs are those made from nothing.
TEST(Search, AnswersAboutLoopsChangeLoopsOnly) {
  for (const Graph& g : {conv_graph(2, 16, 14, 14, 32, 1, true), softmax_graph(600, 300),
                         product_graph(200, 300, 100, true, true)})
    for (const Candidate& candidate : search(g, kTwoCores, {24, 3, 2, {}})) {
      SCOPED_TRACE(candidate.changes);
      const Program made = program_of(g, kTwoCores, candidate);
      EXPECT_EQ(candidate.microseconds, predict(made, kTwoCores).microseconds);
    }
}

}  // namespace
}  // namespace adjit::sched
