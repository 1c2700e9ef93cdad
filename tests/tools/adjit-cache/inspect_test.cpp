#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/tools/adjit-cache/filled_shelf.hpp"

namespace adjit::cache_tool {
namespace {

using InspectTest = test::FilledShelf;

/// The first eight digits of each line after the headings.
std::vector<std::string> ids_of(const std::string& listed) {
  std::vector<std::string> ids;
  std::istringstream lines(listed);
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) ids.push_back(line.substr(0, 8));
  return ids;
}

TEST_F(InspectTest, ListsInEachOrder) {
  const std::string small = add("a", 10, 3'000).substr(0, 8);
  const std::string large = add("b", 5000, 1'000).substr(0, 8);
  const std::string used_id = add("c", 100, 2'000);
  const std::string used = used_id.substr(0, 8);
  use(used_id, 4);
  const auto ids = [&](ListOrder order) {
    return ids_of(printed([&](std::ostream& out) { return list(shelf(), order, out); }));
  };
  EXPECT_EQ(ids(ListOrder::Age), (std::vector{small, used, large}));
  EXPECT_EQ(ids(ListOrder::Size), (std::vector{large, used, small}));
  EXPECT_EQ(ids(ListOrder::Saved)[0], used);
  const std::string text =
      printed([&](std::ostream& out) { return list(shelf(), ListOrder::Saved, out); });
  EXPECT_TRUE(contains(text, "39 ms")) << text;  // four hits at 9.75 ms
  EXPECT_TRUE(contains(text, "grad(loss)")) << text;
}

// CPU time, since other tests run beside it: abbreviations and titles in linear time.
TEST_F(InspectTest, ListsTenThousandEntriesInASecond) {
  const std::string bytes = cache::encode(test::sample_entry(test::sample_key("x"), 4000));
  for (uint64_t k = 0; k < 10'000; ++k) {
    const cache::Signature id{k * 0x9e3779b97f4a7c15, k};
    std::ofstream(scratch / cache::entry_name(id), std::ios::binary) << bytes;
  }
  const Shelf opened = shelf();
  ASSERT_EQ(opened.inventory.entries.size(), 10'000U);
  const std::clock_t begin = std::clock();
  std::ostringstream out;
  EXPECT_EQ(list(opened, ListOrder::Age, out), ExitCode::Ok);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(ids_of(out.str()).size(), 10'000U);
  EXPECT_LT(seconds, cache::test::kSanitized ? 20 : 1);
}

// A given schedule is a component of any length.
TEST_F(InspectTest, ListsEntriesWithLongKeys) {
  cache::Entry entry = test::sample_entry(test::sample_key("x"));
  entry.key.add("schedule", std::string(100'000, 's'));
  add(entry);
  EXPECT_TRUE(
      contains(printed([&](std::ostream& out) { return list(shelf(), ListOrder::Age, out); }),
               "grad(loss)"));
}

TEST_F(InspectTest, ListsDamagedEntriesWithTheReason) {
  const std::string id = add("a");
  std::filesystem::resize_file(scratch / (id + ".entry"), 100);
  EXPECT_TRUE(contains(
      printed([&](std::ostream& out) { return list(shelf(), ListOrder::Age, out); }), "has 100)"));
}

TEST_F(InspectTest, ShowsTheWholeEntry) {
  cache::Entry entry = test::sample_entry(test::sample_key("line one\nline two"));
  entry.key.add("colour", "\x1b[31mred");
  entry.provenance.predicted_ms = 0.5;
  entry.provenance.measured_ms = 0.75;
  const std::string id = add(entry);
  const std::string text =
      printed([&](std::ostream& out) { return show(shelf(), id.substr(0, 6), out); });
  for (const char* part :
       {"grad(loss)", "2023-11-14 22:13:20 UTC", "compile 8.25 ms", "predicted    0.50 ms",
        "measured     0.75 ms", "  model.py:3\n", "  graph\n    line one\n    line two\n",
        "  llvm\n    19.1.7\n", "\\x1b[31mred", "  object  40 B\n", "      \"move\": \"inline\"\n"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
  EXPECT_TRUE(contains(text, id));
  EXPECT_FALSE(contains(text, "\x1b"));
}

TEST_F(InspectTest, PrintsSectionsByteByByte) {
  const std::string id = add("a");
  const cache::Entry entry = test::sample_entry(test::sample_key("a"));
  for (const char* name : {"object", "schedule"})
    EXPECT_EQ(printed([&](std::ostream& out) { return print_section(shelf(), id, name, out); }),
              *entry.section(name));
  std::ostringstream out;
  EXPECT_EQ(failure(ExitCode::Findings, [&] { print_section(shelf(), id, "llvm", out); }),
            "the entry has no section 'llvm'; it has: schedule, object");
}

TEST_F(InspectTest, Stats) {
  const std::string first = add("a", 10);
  add("b", 20);
  const std::string damaged = add("c", 30);
  use(first, 2);
  cache::test::write_file(scratch / (damaged + ".entry"), "x");
  const auto json = nlohmann::json::parse(
      printed([&](std::ostream& out) { return stats(shelf(), 1000, true, out); }));
  EXPECT_EQ(json.at("entries"), 3);
  EXPECT_EQ(json.at("damaged"), 1);
  EXPECT_EQ(json.at("hits"), 2);
  EXPECT_EQ(json.at("max_bytes"), 1000);
  EXPECT_EQ(json.at("bytes"), shelf().inventory.entry_bytes());
  EXPECT_DOUBLE_EQ(json.at("saved_ms"), 19.5);
  EXPECT_EQ(json.at("sections").at("object"), 30);
  const std::string text =
      printed([&](std::ostream& out) { return stats(shelf(), uint64_t{1} << 30, false, out); });
  EXPECT_TRUE(contains(text, "entries      3, 1 of them damaged\n")) << text;
  EXPECT_TRUE(contains(text, " of 1.0 GiB\n")) << text;
}

TEST_F(InspectTest, LookingChangesNothing) {
  const std::string id = add("a");
  const std::string other = add("b");
  use(id);
  const auto before = snapshot();
  std::ostringstream out;
  list(shelf(), ListOrder::Age, out);
  show(shelf(), id, out);
  print_section(shelf(), id, "object", out);
  stats(shelf(), 0, true, out);
  why(shelf(), id, other, out);
  why_last(shelf(), out);
  diff(shelf(), id, other, out);
  verify(shelf(), out);
  prune(shelf(), {0, 0}, true, out);
  cache::StoreOptions options;
  options.directory = scratch.path();
  doctor(options, out);
  EXPECT_EQ(snapshot(), before);
}

TEST_F(InspectTest, NothingIsMadeForLooking) {
  std::ostringstream out;
  EXPECT_EQ(list(open_shelf(scratch / "none"), ListOrder::Age, out), ExitCode::Ok);
  EXPECT_EQ(stats(open_shelf(scratch / "none"), 0, false, out), ExitCode::Ok);
  EXPECT_EQ(verify(open_shelf(scratch / "none"), out), ExitCode::Ok);
  EXPECT_EQ(clear(open_shelf(scratch / "none"), out), ExitCode::Ok);
  EXPECT_TRUE(scratch.names().empty());
}

}  // namespace
}  // namespace adjit::cache_tool
