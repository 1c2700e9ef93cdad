// Which rows are taken in blocks, and that what they give stays the same.
#include "autosched/row_blocks.hpp"

#include "autosched/heuristic.hpp"
#include "autosched/nests.hpp"
#include "autosched/task_chains.hpp"
#include "runtime/graph/text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit {
namespace {

// Attention and two of its gradients: rows of `heads` matrices, `rows` x `columns`.
Graph attention(int64_t heads, int64_t rows, int64_t columns, int64_t width) {
  const auto n = [](int64_t number) { return std::to_string(number); };
  const std::string queries = n(heads) + ", " + n(rows) + ", " + n(width);
  const std::string keys = n(heads) + ", " + n(columns) + ", " + n(width);
  return parse_graph("def main(float(" + queries + ") q, float(" + keys + ") k, float(" + keys +
                     ") v, float(" + queries +
                     ") c) -> (o, dq, dk, dv) {\n"
                     "  s(h, i, j) +=! q(h, i, r) * k(h, j, r)\n"
                     "  m(h, i) max=! s(h, i, r)\n"
                     "  e(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
                     "  z(h, i) +=! e(h, i, r)\n"
                     "  p(h, i, j) = e(h, i, j) / z(h, i)\n"
                     "  o(h, i, d) +=! p(h, i, r) * v(h, r, d)\n"
                     "  dp(h, i, j) +=! c(h, i, r) * v(h, j, r)\n"
                     "  w(h, i) +=! dp(h, i, r) * p(h, i, r)\n"
                     "  ds(h, i, j) = p(h, i, j) * (dp(h, i, j) - w(h, i))\n"
                     "  dq(h, i, d) +=! ds(h, i, r) * k(h, r, d)\n"
                     "  dk(h, j, d) +=! ds(h, r, j) * q(h, r, d)\n"
                     "  dv(h, j, d) +=! p(h, r, j) * c(h, r, d)\n}");
}

// A layer of attention whose heads are mixed before the gradient comes back to them, so that no row
// of the backward can begin before all heads have theirs.
std::string text_of_layer(int64_t heads, int64_t rows, int64_t columns, int64_t width) {
  const auto n = [](int64_t number) { return std::to_string(number); };
  const std::string queries = n(heads) + ", " + n(rows) + ", " + n(width);
  const std::string keys = n(heads) + ", " + n(columns) + ", " + n(width);
  const std::string values = n(heads) + ", " + n(columns) + ", " + n(width + 2);
  return "def main(float(" + queries + ") q, float(" + keys + ") k, float(" + values +
         ") v, float(" + n(heads) + ", " + n(width + 2) + ", 5) w) -> " +
         "(y, dq, dk, dv) {\n"
         "  s(h, i, j) +=! q(h, i, r) * k(h, j, r)\n"
         "  m(h, i) max=! s(h, i, r)\n"
         "  e(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
         "  z(h, i) +=! e(h, i, r)\n"
         "  p(h, i, j) = e(h, i, j) / z(h, i)\n"
         "  o(h, i, d) +=! p(h, i, r) * v(h, r, d)\n"
         "  y(i, n) +=! o(h, i, d) * w(h, d, n)\n"
         "  c(h, i, d) +=! y(i, n) * w(h, d, n)\n"
         "  dp(h, i, j) +=! c(h, i, r) * v(h, j, r)\n"
         "  t(h, i) +=! dp(h, i, r) * p(h, i, r)\n"
         "  ds(h, i, j) = p(h, i, j) * (dp(h, i, j) - t(h, i))\n"
         "  dq(h, i, d) +=! ds(h, i, r) * k(h, r, d)\n"
         "  dk(h, j, d) +=! ds(h, r, j) * q(h, r, d)\n"
         "  dv(h, j, d) +=! p(h, r, j) * c(h, r, d)\n}";
}

Graph layer(int64_t heads, int64_t rows, int64_t columns, int64_t width) {
  return parse_graph(text_of_layer(heads, rows, columns, width));
}

// Small caches: what tests can interpret is large.
Target small_caches(int cores = 2) {
  Target target{cores, 512};
  target.l1_bytes = 2 << 10;
  target.l2_bytes = 12 << 10;
  target.l3_bytes = 256 << 10;
  return target;
}

bool has_move(const Program& p, const std::string& name) {
  return p.moves_json.find("\"" + name + "\"") != std::string::npos;
}

TEST(RowBlocks, AttentionIsOneChain) {
  const Graph graph = attention(2, 256, 48, 8);
  const Program p = default_schedule(graph, small_caches());
  ASSERT_TRUE(has_move(p, "block_axis")) << print(p);
  const TaskChains chains = task_chains(p);
  size_t chained = 0, kept = 0;
  int64_t in_turn = 1;
  for (size_t k = 0; k < p.kernels.size(); ++k) {
    chained += chains.continues[k];
    in_turn = std::max(in_turn, tasks_in_turn(p, p.kernels[k].root));
  }
  for (size_t t = 0; t < p.graph.tensors.size(); ++t)
    if (p.scopes[t] == Scope::Workspace && p.graph.tensors[t].element_count() >= 2 * 256 * 48)
      kept += chains.slices[t] > 0 ? 1 : 100;
  EXPECT_GE(chained, 5u) << print(p);
  EXPECT_GT(in_turn, 1) << print(p);
  EXPECT_GE(kept, 3u);
  EXPECT_LT(kept, 100u) << "what passes between products exists in blocks only\n" << print(p);
  expect_faithful(p, graph);
}

// Shapes that no block divides; many heads, where blocks of a head are all in turn.
TEST(RowBlocks, OfAnyShape) {
  for (const auto& [heads, rows, columns] : {std::tuple{1, 257, 61}, std::tuple{3, 200, 90},
                                             std::tuple{9, 131, 70}, std::tuple{1, 640, 40}}) {
    const Graph graph = attention(heads, rows, columns, 4);
    const Program p = default_schedule(graph, small_caches());
    EXPECT_TRUE(has_move(p, "block_axis")) << heads << " x " << rows << " x " << columns;
    expect_faithful(p, graph);
  }
}

TEST(RowBlocks, DoNotDependOnTheCores) {
  const Graph graph = attention(2, 256, 48, 8);
  const auto blocks = [&](int cores) {
    const Program p = default_schedule(graph, small_caches(cores));
    const size_t at = p.moves_json.find("block_axis");
    return at == std::string::npos ? std::string() : p.moves_json.substr(at, 400);
  };
  const std::string with_two = blocks(2);
  EXPECT_NE(with_two, "");
  for (const int cores : {1, 3, 16}) EXPECT_EQ(blocks(cores), with_two) << cores;
}

TEST(RowBlocks, OnlyWhereTheyPay) {
  EXPECT_FALSE(has_move(default_schedule(attention(2, 64, 64, 16), Target{2, 512}), "block_axis"))
      << "fits the caches";
  // Columns are reduced by what others need of them: no rows are apart.
  const Graph columns = parse_graph(
      "def main(float(256, 16) x, float(256, 16) y) -> (o) {\n"
      "  s(i, j) +=! x(i, r) * y(j, r)\n"
      "  m(i) max=! s(i, r)\n  n(j) max=! s(r, j) where j in 0:256, r in 0:256\n"
      "  t(i, j) = exp(s(i, j) - m(i) - n(j))\n"
      "  o(i, d) +=! t(i, r) * x(r, d) where i in 0:256, d in 0:16, r in 0:256\n}");
  const Program p = default_schedule(columns, small_caches());
  EXPECT_FALSE(has_move(p, "block_axis"));
  expect_faithful(p, columns);
}

size_t count_moves(const Program& p, const std::string& name) {
  size_t count = 0;
  for (size_t at = 0; (at = p.moves_json.find("\"" + name + "\"", at)) != std::string::npos; ++at)
    ++count;
  return count;
}

// Results of so many elements or more that exist as a whole.
size_t whole_scores(const Program& p, int64_t elements) {
  const TaskChains chains = task_chains(p);
  const std::vector<size_t> in_place = stages_in_place(p);
  size_t count = 0;
  for (size_t s = 0; s < p.graph.stages.size(); ++s)
    for (TensorId id : p.graph.stages[s].results)
      count += p.scopes[id.value] == Scope::Workspace && chains.slices[id.value] == 0 &&
               !std::ranges::binary_search(in_place, s) &&
               p.graph.info(id).element_count() >= elements;
  return count;
}

TEST(RowBlocks, WhatWaitsForOtherHeadsIsKeptOnce) {
  const Graph graph = layer(2, 256, 48, 4);
  Target target = small_caches();
  target.l3_bytes = 160 << 10;
  const Program p = default_schedule(graph, target);
  EXPECT_EQ(count_moves(p, "block_axis"), 2u) << print(p);
  EXPECT_EQ(whole_scores(p, 2 * 256 * 48), 1u) << print(p);
  expect_faithful(p, graph);
}

TEST(RowBlocks, WhatIsTooMuchToKeepIsComputedAgain) {
  for (const int64_t rows : {256, 259}) {
    const Graph graph = layer(2, rows, 48, 4);
    Target target = small_caches();
    target.l3_bytes = 160 << 10;
    target.kept_bytes = 0;
    const Program p = default_schedule(graph, target);
    EXPECT_EQ(count_moves(p, "block_axis"), 2u) << print(p);
    EXPECT_GE(count_moves(p, "rematerialize"), 2u) << print(p);
    EXPECT_EQ(whole_scores(p, 2 * rows * 48), 0u) << print(p);
    expect_faithful(p, graph);
  }
}

// Values of the forward that the backward alone reads are not there twice.
TEST(RowBlocks, WhatOnlyTheBackwardReads) {
  for (const int64_t kept : {0, 256 << 20}) {
    std::string text = text_of_layer(2, 256, 48, 4);
    const auto change = [&](const std::string& from, const std::string& to) {
      for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
        text.replace(at, from.size(), to);
    };
    change("dp(h, i, r) * p(h, i, r)", "dp(h, i, r) * a(h, i, r)");
    change("p(h, i, j) * (dp", "a(h, i, j) * (dp");
    change("p(h, r, j) * c", "a(h, r, j) * c");
    change("  dp(h,", "  a(h, i, j) = tanh(s(h, i, j)) * p(h, i, j)\n  dp(h,");
    const Graph graph = parse_graph(text);
    Target target = small_caches();
    target.l3_bytes = 160 << 10;
    target.kept_bytes = kept;
    expect_faithful(default_schedule(graph, target), graph);
  }
}

// Each value is read by the two after it: ways through them are many, and none is walked twice.
TEST(RowBlocks, OfManyValues) {
  std::string text = text_of_layer(2, 256, 48, 4), values;
  for (int k = 2; k <= 40; ++k)
    values += "  e" + std::to_string(k) + "(h, i, j) +=! (e" + std::to_string(k - 1) +
              "(h, i, r) + e" + std::to_string(k - 2) + "(h, i, r)) * u(r, j)\n";
  const size_t at = text.find("  e(h, i, j)"), end = text.find("  z(h, i)");
  text.replace(at, end - at,
               "  e0(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
               "  e1(h, i, j) +=! e0(h, i, r) * u(r, j)\n" +
                   values + "  e(h, i, j) = exp(e40(h, i, j))\n");
  text.replace(text.find(") w) ->"), 7, ") w, float(48, 48) u) ->");
  Target target = small_caches();
  target.l3_bytes = 160 << 10;
  verify(default_schedule(parse_graph(text), target));
}

// Heads that lie side by side in a row of all of them.
TEST(RowBlocks, OfHeadsSideBySide) {
  const Graph graph = parse_graph(
      "def main(float(256, 12) q, float(256, 12) k, float(256, 12) v) -> (o, dk) {\n"
      "  s(h, i, j) +=! q(i, 4 * h + r) * k(j, 4 * h + r) where h in 0:3, i in 0:256, j in 0:256, "
      "r in 0:4\n"
      "  m(h, i) max=! s(h, i, r)\n"
      "  p(h, i, j) = exp(s(h, i, j) - m(h, i))\n"
      "  o(i, d) +=! p(d // 4, i, r) * v(r, d) where i in 0:256, d in 0:12, r in 0:256\n"
      "  dk(j, d) +=! p(d // 4, r, j) * v(r, d) where j in 0:256, d in 0:12, r in 0:256\n}");
  const Program p = default_schedule(graph, small_caches());
  EXPECT_EQ(count_moves(p, "block_axis"), 1u) << print(p);
  EXPECT_EQ(whole_scores(p, 3 * 256 * 256), 0u) << print(p);
  expect_faithful(p, graph);
}

TEST(RowBlocks, MayBeTurnedDown) {
  const Graph graph = attention(2, 256, 48, 8);
  Choices choices(Answers{{{Decision::Blocks, "s"}, 1}});
  const Program p = schedule_with(graph, small_caches(), choices);
  EXPECT_FALSE(has_move(p, "block_axis"));
  EXPECT_EQ(std::ranges::count(choices.offers(), Decision::Blocks,
                               [](const Offer& offer) { return offer.subject.decision; }),
            1);
  expect_faithful(p, graph);
}

}  // namespace
}  // namespace adjit
