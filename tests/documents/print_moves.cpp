// tests/documents/print_moves.cpp -- docs/moves.md.
#include "tests/documents/print_moves.hpp"

#include <sstream>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/table.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/moves/move_examples.hpp"

namespace adjit::testing {
namespace {

// Between words, so that no line of text is longer than 100 characters.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string page, line, word;
  while (words >> word) {
    if (!line.empty() && line.size() + 1 + word.size() > 100) {
      page += line + "\n";
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return page + line + "\n";
}

std::string block(const std::string& text, const char* language = "text") {
  return "```" + std::string(language) + "\n" + text + (text.ends_with('\n') ? "" : "\n") +
         "```\n\n";
}

std::string members(const MoveRow& row) {
  std::string table;
  for (const MoveMember& member : row.members)
    if (!member.name.empty())
      table += "| `" + std::string(member.name) + "` | " + std::string(member.value) + " |\n";
  return table.empty() ? "It has no members.\n\n"
                       : "| member | value |\n|---|---|\n" + table + "\n";
}

// Moves may change the graph, the loops, or both.
std::string program_text(const Program& program, bool graph, bool loops) {
  return (graph ? print(program.graph) : "") + (loops ? print(program) : "");
}

std::string example_of(const MoveExample& example) {
  const Graph graph = parse_graph(example.graph);
  const auto made = [&](const Json& moves) {
    return replay(graph, moves.dump(), target_of(example));
  };
  Json moves = Json::parse(example.before);
  const Program before = made(moves);
  moves.push_back(Json::parse(example.move));
  const Program after = made(moves);
  const bool graph_changes = print(before.graph) != print(after.graph),
             loops_change = print(before) != print(after);
  std::string text = block(std::string(example.move), "json");
  if (!graph_changes) text += "Of this graph:\n\n" + block(std::string(example.graph));
  return text + "Before:\n\n" + block(program_text(before, graph_changes, loops_change)) +
         "After:\n\n" + block(program_text(after, graph_changes, loops_change));
}

}  // namespace

std::string print_moves() {
  std::string page =
      "# Moves\n\n" +
      wrapped(
          "A move changes a program and keeps its meaning; where it cannot, it is refused with "
          "a reason. A schedule is a list of moves in JSON: `aj.lower(...).schedule_json` gives "
          "one, `.with_schedule(...)` takes one. `autosched/moves/moves.hpp` says what each "
          "needs. This page is made of the table of moves (`autosched/moves/record/table.cpp`) "
          "and of an example of each (`tests/autosched/moves/move_examples.cpp`) by "
          "`tools/documents/update`.") +
      "\n| move | what it does |\n|---|---|\n";
  for (const MoveRow& row : move_table())
    page += "| [`" + std::string(row.name) + "`](#" + std::string(row.name) + ") | " +
            std::string(row.what) + " |\n";
  page += "\n";
  const std::span<const MoveExample> examples = move_examples();
  for (size_t k = 0; k < move_table().size(); ++k) {
    const MoveRow& row = move_table()[k];
    page += "## " + std::string(row.name) + "\n\n" + wrapped(std::string(row.what)) + "\n";
    if (!row.old_name.empty())
      page += "Up to 0.1.0 its name was `" + std::string(row.old_name) + "`.\n\n";
    page += members(row) + example_of(examples[k]);
  }
  page.pop_back();
  return page;
}

}  // namespace adjit::testing
