#include "tests/autosched/programs.hpp"

namespace adjit {
namespace {

TEST(Replay, RefusesForeignJsonWithThePosition) {
  const Graph g = matmul_graph(4, 5, 6);
  const auto from = [&](const char* json) { return [&g, json] { replay(g, json, 2, 512); }; };
  expect_refused(from("nonsense"), "JSON list");
  expect_refused(from("{}"), "JSON list");
  expect_refused(from("[7]"), "move 0: a move must be an object");
  expect_refused(from(R"([{"move": "dance", "stage": "C"}])"), "no move \"dance\"");
  expect_refused(from(R"([{"move": "tile", "stage": "C", "axis": 0}])"), "lacks \"steps\"");
  expect_refused(from(R"([{"move": "tile", "stage": "C", "axis": -1, "steps": [2]}])"), "negative");
  expect_refused(from(R"([{"move": "tile", "stage": "C", "axis": "i", "steps": [2]}])"),
                 "wrong type");
  expect_refused(from(R"([{"move": "tile", "stage": "C", "axis": 0, "steps": [2.5]}])"),
                 "must be integers, not 2.5");
  expect_refused(from(R"([{"move": "hoist", "stages": ["C"], "axes": [[0, 0.5]]}])"),
                 "must be integers, not 0.5");
  expect_refused(from(R"([{"move": "tile", "stage": "Z", "axis": 0, "steps": [2]}])"),
                 "no stage 'Z'");
  expect_refused(from(R"([{"move": "tile", "stage": "C", "axis": 0, "steps": [2]},
                          {"move": "parallel", "stage": "C", "loops": 9}])"),
                 "move 1: parallel of 'C'");
}

TEST(Replay, LoopMovesAndRewritingMovesMix) {
  const Graph g = softmax_graph(8, 12);
  Program p = initial_program(g, 2, 512);
  p = tile(p, stage_of(p, "y"), 0, std::vector<int64_t>{2});
  p = inline_stages(p, std::vector<size_t>{stage_of(p, "e")});
  p = split_reduction(p, stage_of(p, "m"), 1, 3);
  p = compute_at(p, stage_of(p, "s"), stage_of(p, "y"), 1);
  p = vectorize(p, stage_of(p, "y"), 1, 4);
  expect_faithful(p, g);
}

}  // namespace
}  // namespace adjit
