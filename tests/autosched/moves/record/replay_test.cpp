// tests/autosched/moves/record/replay_test.cpp -- moves in JSON: replayed, refused, drawn at
// random, changed at random.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/record/table.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/graphs_for_passes.hpp"
#include "tests/autosched/mutated_moves.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/random_moves.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

// Expects a schedule of a 4 x 5 x 6 product to be refused.
void expect_foreign(const std::string& json, std::string_view reason) {
  SCOPED_TRACE(json);
  const Graph g = matmul_graph(4, 5, 6);
  expect_refused([&] { replay(g, json, CpuMachine{2, 512}); }, reason);
}

TEST(Replay, RefusesWhatIsNoListOfMoves) {
  for (const char* json : {"nonsense", "{}", "", "7", R"({"a": 1, "a": 2})", "[1", "\"[]\""})
    expect_foreign(json, "a schedule must be a JSON list of moves");
  expect_foreign("[7]", "move 0: a move must be an object, in 7");
  expect_foreign("[{}]", "move 0: a move lacks \"move\", in {}");
  expect_foreign(R"([{"move": 3}])", "move 0: a move: \"move\" is 3; it must be a name");
  expect_foreign(R"([{"move": "dance", "stage": "C"}])", "move 0: there is no move \"dance\"");
  expect_foreign(std::string(100'000, '['), "nested deeper than 64");
  std::string deep;
  for (int k = 0; k < 100; ++k) deep += R"([{"move": "schedule_scan", "stage": "C", "moves": )";
  expect_foreign(deep, "nested deeper than 64");
}

TEST(Replay, NamesPositionKindStageMemberValueAndReason) {
  expect_foreign(R"([{"move": "tile", "stage": "C", "axis": -1, "steps": [2]}])",
                 R"(move 0: tile of 'C': "axis" is -1; it must be an integer from 0 to 2, in )"
                 R"({"move":"tile","stage":"C","axis":-1,"steps":[2]})");
  expect_foreign(R"([{"move": "tile", "stage": "C", "axis": 0, "steps": [2]},
                     {"move": "parallel", "stage": "C", "loops": 9}])",
                 R"(move 1: parallel of 'C': there are not so many loops outside the tile, in )"
                 R"({"move":"parallel","stage":"C","loops":9})");
}

TEST(Replay, RefusesMembersThatAreMissingUnknownOrThereTwice) {
  expect_foreign(R"([{"move": "tile", "stage": "C", "axis": 0}])", "tile of 'C' lacks \"steps\"");
  expect_foreign(R"([{"move": "tile", "stage": "C", "axis": 0, "step": 2}])",
                 R"(tile of 'C' has no member "step"; it has "stage", "axis", "steps")");
  expect_foreign(R"([{"move": "eager_outputs", "": 0}])", "it has none");
  expect_foreign(
      R"([{"move": "eager_outputs"}, {"move": "store_nontemporal", "stage": "B", "stage": "C"}])",
      R"(move 1: "stage" is there twice, in {"move":"store_nontemporal","stage":"C"})");
  expect_foreign(R"([1, [2], {"move": "store_nontemporal", "stage": "C", "stage": "C"}])",
                 R"(move 2: "stage" is there twice, in {"move":"store_nontemporal","stage":"C"})");
}

TEST(Replay, RefusesValuesOfOtherTypesAndSizes) {
  const auto tile = [](const std::string& axis, const std::string& steps) {
    return R"([{"move": "tile", "stage": "C", "axis": )" + axis + R"(, "steps": )" + steps + "}]";
  };
  for (const char* axis : {"3", "-1", "\"i\"", "true", "null", "[0]", "0.0", "1e300",
                           "9223372036854775808", "18446744073709551615", "-9223372036854775808"})
    expect_foreign(tile(axis, "[2]"), "it must be an integer from 0 to 2");
  expect_foreign(tile("0", "2"), R"("steps" is 2; it must be a list)");
  expect_foreign(tile("0", "{}"), R"("steps" is {}; it must be a list)");
  expect_foreign(tile("0", "[2, 2.5]"), R"("steps" is [2,2.5]; 2.5 must be an integer from 1 on)");
  expect_foreign(tile("0", "[0]"), R"("steps" is [0]; 0 must be an integer from 1 on)");
  expect_foreign(R"([{"move": "materialize_common", "stages": ["C"], "axes": [[0, 0.5]]}])",
                 "0.5 must be an integer");
  expect_foreign(R"([{"move": "materialize_common", "stages": ["C"], "axes": [0]}])",
                 "0 must be a list");
  expect_foreign(R"([{"move": "materialize_common", "stages": ["C"], "axes": []}])",
                 "for every stage");
  expect_foreign(R"([{"move": "threads", "stage": "C", "axis": 0, "count": 0}])", "from 1 on");
  expect_foreign(R"([{"move": "split_running", "stage": "C", "parts": 0}])", "from 1 on");
  expect_foreign(R"([{"move": "invert", "stage": "C", "chunk": 1}])", "from 2 on");
  expect_foreign(R"([{"move": "pipeline", "stage": "C", "buffers": 1}])", "from 2 to 8");
  expect_foreign(R"([{"move": "compute_with", "stage": "C", "host": "C", "depth": 1,
                      "indices": [[1, 0]]}])",
                 "a factor for each of the host's 3 axes, and a constant");
  expect_foreign(R"([{"move": "compute_with", "stage": "C", "host": "C", "depth": 1,
                      "indices": [[1, 0, 0, 4294967296]]}])",
                 "from -2147483647 to 2147483647");
  expect_foreign(R"([{"move": "postpone", "stage": "C", "other": 1}])", "it must be a name");
  expect_foreign(R"([{"move": "fuse_axes", "stage": "C", "axis": -1}])", "from 0 to 2");
  expect_foreign(R"([{"move": "transpose_output", "stage": "C", "axis": "0"}])", "from 0 to 2");
  expect_foreign(R"([{"move": "gather_reduce", "stage": "C", "operand": 1}])", "it must be a name");
  expect_foreign(R"([{"move": "scatter_accumulate", "stage": "C"}])", "only scatters");
  expect_foreign(R"([{"move": "scatter_layout", "stage": "C", "dimension": 0, "width": 0}])",
                 "from 1 on");
  expect_foreign(R"([{"move": "split_residues", "stage": "C", "axis": 0, "modulus": 2,
                      "inside": 1}])",
                 "it must be true or false");
}

TEST(Replay, RefusesNamesThatAreNotThere) {
  expect_foreign(
      R"([{"move": "store_nontemporal", "stage": "Z"}])",
      R"(move 0: store_nontemporal: "stage" is "Z"; there is no stage 'Z'; there are 'C')");
  expect_foreign(R"([{"move": "store_nontemporal", "stage": 1}])", "it must be a name");
  expect_foreign(R"([{"move": "inline", "stages": ["C", "Z"]}])", "there is no stage 'Z'");
  expect_foreign(R"([{"move": "inline", "stages": "C"}])", R"("stages" is "C"; it must be a list)");
  expect_foreign(R"([{"move": "inline", "stages": ["C", null]}])", "null must be a name");
  expect_foreign(R"([{"move": "compute_at", "stage": "C", "host": "Z", "depth": 1}])",
                 R"(compute_at of 'C': "host" is "Z"; there is no stage 'Z')");
  expect_foreign(R"([{"move": "schedule_scan", "stage": "C", "moves": []}])", "that is no scan");
}

TEST(Replay, RefusesPackingsThatAreNone) {
  const auto pack = [](const std::string& dimensions, const std::string& operand = "B") {
    return R"([{"move": "pack", "stage": "C", "operand": ")" + operand + R"(", "dimensions": )" +
           dimensions +
           R"(, "before": [], "after": [], "instead_of_rows": false, "widen": false}])";
  };
  EXPECT_NO_THROW(
      replay(matmul_graph(4, 5, 6), pack("[[1, 1, 0], [0, 1, 0]]"), CpuMachine{2, 512}));
  for (const char* dimensions : {"[[0, 1]]", "[[2, 1, 0]]", "[[0, 0, 0]]", "[[]]"})
    expect_foreign(pack(dimensions), "each is [one of the operand's 2 dimensions");
  expect_foreign(pack("[[0, 1, 0], [1, -1, 0]]"), "-1 must be an integer from 0 on");
  expect_foreign(pack("[[0, 1, 0]]"), "a dimension of the operand is lost");
  expect_foreign(pack("[[0, 9223372036854775807, 0], [0, 2, 9223372036854775807], [0, 1, 2], "
                      "[1, 1, 0]]"),
                 "overflows 64 bits");
  expect_foreign(pack("[[0, 1, 0], [1, 1, 0]]", "Z"), "there is no such tensor");
}

// What a message shows of long or foreign text is short, and ASCII.
// Names that moves had up to 0.1.0: schedules that users keep may have them.
constexpr std::pair<const char*, const char*> kOldNames[] = {
    {"interleave", "group_rows"},          {"eager_outputs", "early_results"},
    {"materialize_common", "hoist"},       {"unroll_reduction", "expand_reduction"},
    {"rfactor", "split_reduction"},        {"privatize_scatter", "split_scatter"},
    {"scatter_layout", "scatter_rows"},    {"gather_reduce", "sum_rows"},
    {"scatter_accumulate", "weigh_rows"},  {"split_axis", "block_axis"},
    {"fuse_axes", "merge_axes"},           {"transpose_output", "transpose_results"},
    {"pad_leading_dimension", "pad_rows"}, {"alias_reshape", "in_place"},
    {"make_adjacent", "gather"},           {"schedule_scan", "schedule_steps"},
    {"store_nontemporal", "stream"},       {"prefetch", "fetch_ahead"},
};

TEST(Replay, ReadsOldNamesOfMoves) {
  size_t renamed = 0;
  for (const NamedGraph& one : graphs_for_decisions()) {
    SCOPED_TRACE(one.name);
    const Program program = default_schedule(one.graph, one.machine);
    std::string moves = program.moves_json;
    for (const auto& [name, old_name] : kOldNames) {
      const std::string now = R"("move":")" + std::string(name) + '"';
      for (size_t at; (at = moves.find(now)) != std::string::npos; ++renamed)
        moves.replace(at, now.size(), R"("move":")" + std::string(old_name) + '"');
    }
    const Program again = replay(one.graph, moves, program.target);
    EXPECT_EQ(print(again), print(program));
    EXPECT_EQ(again.moves_json, program.moves_json) << "written by their new names";
  }
  EXPECT_GT(renamed, 20u);
  for (const auto& [name, old_name] : kOldNames)
    for (const char* known : {name, old_name})
      expect_foreign(R"([{"move": ")" + std::string(known) + R"(", "dances": 1}])",
                     "has no member \"dances\"");
}

TEST(Replay, ShowsLittleOfMuch) {
  const std::string json =
      R"([{"move": "store_nontemporal", "stage": ")" + std::string(100'000, 'x') + "\u00e9\"}]";
  try {
    replay(matmul_graph(4, 5, 6), json, CpuMachine{2, 512});
    ADD_FAILURE() << "was not refused";
  } catch (const Error& error) {
    EXPECT_LT(std::string_view(error.what()).size(), 1000u);
    EXPECT_TRUE(std::ranges::all_of(std::string_view(error.what()), [](char c) { return c > 0; }));
  }
}

TEST(Replay, LoopMovesAndRewritingMovesMix) {
  const Graph g = softmax_graph(8, 12);
  Program p = initial_program(g, CpuMachine{2, 512});
  p = tile(p, stage_of(p, "y"), 0, std::vector<int64_t>{2});
  p = inline_stages(p, std::vector<size_t>{stage_of(p, "e")});
  p = rfactor(p, stage_of(p, "m"), 1, 3);
  p = compute_at(p, stage_of(p, "s"), stage_of(p, "y"), 1);
  p = vectorize(p, stage_of(p, "y"), 1, 4);
  expect_faithful(p, g);
}

void expect_same_again(const Graph& graph, const Program& program, uint64_t seed) {
  EXPECT_TRUE(fallbacks_of(program).empty()) << "seed " << seed << ": " << program.fallbacks[0];
  testing::expect_same_results(graph, program, seed);
  const Program again = replay(graph, program.moves_json, program.target);
  ASSERT_EQ(print(again), print(program));
}

TEST(RandomGraphs, EveryLegalMoveOfWhatSharesBuffers) {
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(250); ++seed) {
    const Graph graph =
        testing::random_graph(seed, {.stages = 5, .max_extent = 5, .sharing = true});
    expect_same_again(graph, testing::random_program(graph, seed, 40), seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomGraphs, EveryLegalMoveMeansTheGraph) {
  size_t made = 0;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(80); ++seed) {
    const Graph graph = testing::random_graph(
        seed,
        {.stages = 5, .scatters = true, .custom_combiners = true, .zero_extents = seed % 8 == 0});
    const Program program = testing::random_program(graph, seed, 40, &made);
    expect_same_again(graph, program, seed);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(made, testing::fuzz_cases(80));
}

// No row of the table is there that the random moves do not draw, legally now and then. What is of
// scans, of shapes that no draw has, of blocks (random_blocks_test.cpp), or of graphs made for it,
// has tests of its own.
TEST(RandomGraphs, EveryMoveIsDrawn) {
  std::map<std::string, size_t> legal;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    const Graph graph = testing::random_graph(
        seed, {.stages = 5, .max_extent = 9, .scatters = true, .sharing = seed % 2 == 0});
    const bool on_gpu = seed % 3 == 0;
    const Program program = testing::random_program(
        graph, seed, 60, nullptr, on_gpu ? Target(GpuMachine()) : CpuMachine{2, 512});
    for (const Json& move : Json::parse(program.moves_json))
      ++legal[move.at("move").get<std::string>()];
  }
  for (const MoveRow& row : move_table()) {
    const std::set<std::string_view> rare{"schedule_scan", "gather_reduce", "scatter_accumulate",
                                          "interleave",    "pipeline",      "compute_with",
                                          "factor_out"};
    if (!rare.contains(row.name)) {
      EXPECT_GT(legal[std::string(row.name)], 0u) << row.name;
    }
  }
}

struct ReplayCounts {
  size_t refused = 0, taken = 0;
};

void expect_refused_or_faithful(const Graph& graph, const std::string& moves, uint64_t seed,
                                ReplayCounts& counts) {
  SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + print(graph) + moves);
  std::optional<Program> program;
  try {
    program = replay(graph, moves, CpuMachine{2, 512});
  } catch (const Error& error) {
    ++counts.refused;
    ASSERT_EQ(error.code(), ErrorCode::Schedule) << error.what();
    return;
  }
  ++counts.taken;
  ASSERT_TRUE(std::isfinite(predict(*program, kTwoCores).microseconds));
  testing::expect_same_results(graph, *program, seed);
}

TEST(ReplayFuzz, MutatedDefaultSchedules) {
  ReplayCounts counts;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(2000); ++seed) {
    const Graph graph = testing::random_graph(
        seed / 8, {.stages = 4, .max_extent = 20, .scatters = true, .custom_combiners = true});
    const Program made = default_schedule(graph, kTwoCores);
    expect_refused_or_faithful(graph, testing::MutatedMoves(made.moves_json, seed)(), seed, counts);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counts.refused, testing::fuzz_cases(2000) / 4);
  EXPECT_GT(counts.taken, testing::fuzz_cases(2000) / 8);
}

TEST(ReplayFuzz, MutatedRandomSchedules) {
  ReplayCounts counts;
  for (uint64_t seed = 1; seed <= testing::fuzz_cases(2000); ++seed) {
    const Graph graph = testing::random_graph(seed / 8, {.stages = 4, .scatters = true});
    const Program made = testing::random_program(graph, seed / 8, 40);
    expect_refused_or_faithful(graph, testing::MutatedMoves(made.moves_json, seed)(), seed, counts);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(counts.refused, testing::fuzz_cases(2000) / 4);
  EXPECT_GT(counts.taken, testing::fuzz_cases(2000) / 8);
}

}  // namespace
}  // namespace adjit::sched
