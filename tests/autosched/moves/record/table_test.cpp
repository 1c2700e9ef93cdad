// tests/autosched/moves/record/table_test.cpp -- every row of the table of moves has an example
// that says what the row says.
#include "autosched/moves/record/table.hpp"

#include <algorithm>
#include <set>

#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/moves/move_examples.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

using testing::move_examples;
using testing::MoveExample;

Json moves_of(const MoveExample& example) {
  Json moves = Json::parse(example.before);
  moves.push_back(Json::parse(example.move));
  return moves;
}

TEST(MoveTable, HasAnExampleOfEveryMoveInTheOrderOfTheTable) {
  std::vector<std::string> shown, listed;
  for (const MoveExample& example : move_examples())
    shown.push_back(Json::parse(example.move).at("move").get<std::string>());
  for (const MoveRow& row : move_table()) listed.emplace_back(row.name);
  EXPECT_EQ(shown, listed);
}

TEST(MoveTable, HasTheMembersOfItsExamples) {
  for (const MoveExample& example : move_examples()) {
    const Json move = Json::parse(example.move);
    const auto row =
        std::ranges::find(move_table(), move.at("move").get<std::string>(), &MoveRow::name);
    ASSERT_NE(row, move_table().end());
    EXPECT_FALSE(row->what.empty());
    std::set<std::string> members{"move"};
    for (const MoveMember& member : row->members) {
      if (member.name.empty()) continue;
      EXPECT_FALSE(member.value.empty()) << row->name << ": " << member.name;
      members.emplace(member.name);
    }
    for (const auto& [name, value] : move.items()) EXPECT_EQ(members.erase(name), 1u) << name;
    EXPECT_TRUE(members.empty()) << row->name << " is shown without " << *members.begin();
  }
}

// A move changes the graph, the loops, or where rows lie.
std::string shown(const Program& program) {
  std::string text = print(program.graph) + print(program);
  for (uint32_t t = 0; t < program.graph.tensors.size(); ++t)
    text += " " + std::to_string(elements_with_gaps(program.graph, TensorId{t}));
  return text;
}

TEST(MoveTable, HasMovesThatChangeTheProgramAndKeepItsMeaning) {
  for (const MoveExample& example : move_examples()) {
    SCOPED_TRACE(example.move);
    const Graph graph = parse_graph(example.graph);
    const auto made = [&](const std::string& moves) {
      return replay(graph, moves, target_of(example));
    };
    const Program before = made(std::string(example.before)),
                  after = made(moves_of(example).dump());
    EXPECT_NE(shown(before), shown(after));
    expect_faithful(after, graph);
  }
}

}  // namespace
}  // namespace adjit::sched
