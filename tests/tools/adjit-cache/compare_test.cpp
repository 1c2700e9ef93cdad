#include "tests/tools/adjit-cache/filled_shelf.hpp"

namespace adjit::cache_tool {
namespace {

using CompareTest = test::FilledShelf;

cache::Key key(const std::string& graph, const std::string& cpu) {
  return cache::Key().add("graph", graph).add("cpu", cpu);
}

TEST_F(CompareTest, WhyNamesEveryDifferenceAndItsFirstLine) {
  const std::string a = add(test::sample_entry(key("same\nA(i)\nmore", "znver5").add("flags", "")));
  const std::string b =
      add(test::sample_entry(key("same\nB(i)\nless", "znver5").add("triple", "x")));
  EXPECT_EQ(printed([&](std::ostream& out) { return why(shelf(), a, b, out); }),
            "graph\n  " + a.substr(0, 8) + "  A(i)\n  " + b.substr(0, 8) + "  B(i)\n" +
                "flags\n  only in " + a.substr(0, 8) + "\ntriple\n  only in " + b.substr(0, 8) +
                "\n");
  EXPECT_EQ(printed([&](std::ostream& out) { return why(shelf(), a, a, out); }),
            "no component differs\n");
}

TEST_F(CompareTest, WhyShowsTheTextOfGraphs) {
  const auto with_text = [&](const char* hash, const char* text) {
    return add(test::sample_entry(key(hash, "znver5")).add("graph", text));
  };
  const std::string a = with_text("1", "def f\n  x * 2.0\n"),
                    b = with_text("2", "def f\n  x * 3.0\n"),
                    same = with_text("3", "def f\n  x * 2.0\n");
  const std::string in_a = "  " + a.substr(0, 8), in_b = "  " + b.substr(0, 8);
  EXPECT_EQ(printed([&](std::ostream& out) { return why(shelf(), a, b, out); }),
            "graph\n" + in_a + "  1\n" + in_b + "  2\n" + in_a + "    x * 2.0\n" + in_b +
                "    x * 3.0\n");
  EXPECT_EQ(printed([&](std::ostream& out) { return why(shelf(), a, same, out); }),
            "graph\n" + in_a + "  1\n  " + same.substr(0, 8) + "  3\n");
}

TEST_F(CompareTest, WhyLastTakesTheNewestAndItsNearest) {
  std::ostringstream none;
  failure(ExitCode::Usage, [&] { why_last(shelf(), none); });
  const std::string last = add(test::sample_entry(key("x", "znver5")), 5'000);
  EXPECT_TRUE(contains(printed([&](std::ostream& out) { return why_last(shelf(), out); }),
                       "no other entry is like " + last.substr(0, 8)));
  add(test::sample_entry(key("y", "znver4")), 4'000);
  const std::string near = add(test::sample_entry(key("x", "znver3")), 3'000);
  EXPECT_EQ(printed([&](std::ostream& out) { return why_last(shelf(), out); }),
            "cpu\n  " + last.substr(0, 8) + "  znver5\n  " + near.substr(0, 8) + "  znver3\n");
}

TEST_F(CompareTest, DiffIsOfSchedules) {
  const auto with_schedule = [&](const char* graph, const char* schedule) {
    cache::Entry entry = test::sample_entry(key(graph, "znver5"));
    entry.sections[0].bytes = schedule;
    return add(entry);
  };
  const std::string a = with_schedule("a", R"([{"move":"tile","size":8},{"move":"pack"}])");
  const std::string b = with_schedule("b", R"([{"move":"tile","size":16},{"move":"pack"}])");
  const std::string c = with_schedule("c", R"([{"move":"tile","size":8}])");
  const std::string bad = with_schedule("d", "no JSON");
  const auto diff_of = [&](const std::string& x, const std::string& y, ExitCode code) {
    return printed([&](std::ostream& out) { return diff(shelf(), x, y, out); }, code);
  };
  EXPECT_EQ(diff_of(a, b, ExitCode::Findings), "/0/size\n  - 8\n  + 16\n");
  EXPECT_EQ(diff_of(a, c, ExitCode::Findings), "/1\n  - {\"move\":\"pack\"}\n");
  EXPECT_EQ(diff_of(c, a, ExitCode::Findings), "/-\n  + {\"move\":\"pack\"}\n");
  EXPECT_EQ(diff_of(a, a, ExitCode::Ok), "");
  std::ostringstream out;
  failure(ExitCode::Findings, [&] { diff(shelf(), a, bad, out); });
}

}  // namespace
}  // namespace adjit::cache_tool
