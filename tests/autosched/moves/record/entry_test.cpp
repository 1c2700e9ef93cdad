// tests/autosched/moves/record/entry_test.cpp -- members of a move in JSON, and what is said of
// those that are wrong.
#include "autosched/moves/record/entry.hpp"

#include <gtest/gtest.h>

#include <array>

#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

struct Entry {
  explicit Entry(const std::string& text) : json(Json::parse(text)) {}
  MoveEntry operator()() const { return MoveEntry(json, program); }

  Program program = plain(matmul_graph(4, 5, 6));
  Json json;
};

// What the query is refused for; "" when it is not.
template <typename Query>
std::string refusal_of(const std::string& text, Query&& query) {
  const Entry entry(text);
  try {
    query(entry());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Schedule);
    return error.what();
  }
  return "";
}

constexpr const char* kEntry =
    R"({"move": "tile", "stage": "C", "axis": 2, "steps": [8, 4], "of": [[1, 2], []], "flag": true,
        "stages": ["C", "C"], "operand": "B"})";

TEST(MoveEntry, MembersAreReadAsWhatTheyAre) {
  const Entry entry(kEntry);
  const MoveEntry e = entry();
  EXPECT_EQ(e.kind(), "tile");
  EXPECT_EQ(e.subject(), "tile of 'C'");
  EXPECT_TRUE(e.has("axis"));
  EXPECT_FALSE(e.has("depth"));
  EXPECT_EQ(e["axis"].number({0, 2}), 2);
  EXPECT_EQ(e.axis("axis", 0), 2u);
  EXPECT_EQ(e["steps"].numbers(kPositive), (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(e["steps"].positions(9), (std::vector<size_t>{8, 4}));
  EXPECT_EQ(e["of"].lists(kPositive), (std::vector<std::vector<int64_t>>{{1, 2}, {}}));
  EXPECT_TRUE(e["flag"].flag());
  EXPECT_EQ(e.stage("stage"), 0u);
  EXPECT_EQ(e.stages("stages"), (std::vector<size_t>{0, 0}));
  EXPECT_EQ(e.tensor("operand"), entry.program.graph.inputs[1]);
}

TEST(MoveEntry, WhatIsNoMoveIsRefused) {
  const auto none = [](const MoveEntry&) {};
  EXPECT_EQ(refusal_of("[1]", none), "a move must be an object");
  EXPECT_EQ(refusal_of("{}", none), "a move lacks \"move\"");
  EXPECT_EQ(refusal_of(R"({"move": 3})", none), "a move: \"move\" is 3; it must be a name");
}

TEST(MoveEntry, NumbersOutOfRangeNameTheRange) {
  const auto axis = [](const MoveEntry& e) { e.axis("axis", 0); };
  const auto with = [](const std::string& value) {
    return R"({"move": "tile", "stage": "C", "axis": )" + value + "}";
  };
  EXPECT_EQ(refusal_of(with("-1"), axis),
            "tile of 'C': \"axis\" is -1; it must be an integer from 0 to 2");
  for (const char* value : {"3", "1.0", "\"1\"", "null", "18446744073709551615", "1e300"})
    EXPECT_NE(refusal_of(with(value), axis).find("from 0 to 2"), std::string::npos) << value;
  EXPECT_EQ(refusal_of(with("0"), [](const MoveEntry& e) { e["axis"].number(kPositive); }),
            "tile of 'C': \"axis\" is 0; it must be an integer from 1 on");
  EXPECT_NE(refusal_of(with("0"), [](const MoveEntry& e) { e["axis"].position(0); })
                .find("it must be one of none"),
            std::string::npos);
}

TEST(MoveEntry, OfListsTheElementThatIsWrongIsNamed) {
  const auto numbers = [](const MoveEntry& e) { e["steps"].numbers(kPositive); };
  EXPECT_EQ(refusal_of(R"({"move": "tile", "steps": [4, 0]})", numbers),
            "tile: \"steps\" is [4,0]; 0 must be an integer from 1 on");
  EXPECT_EQ(refusal_of(R"({"move": "tile", "steps": 4})", numbers),
            "tile: \"steps\" is 4; it must be a list");
  EXPECT_EQ(refusal_of(R"({"move": "tile", "of": [[1], 2]})",
                       [](const MoveEntry& e) { e["of"].lists(kPositive); }),
            "tile: \"of\" is [[1],2]; 2 must be a list");
  EXPECT_EQ(
      refusal_of(R"({"move": "tile", "flag": 1})", [](const MoveEntry& e) { e["flag"].flag(); }),
      "tile: \"flag\" is 1; it must be true or false");
}

TEST(MoveEntry, NamesThatAreNotThereNameThoseThatAre) {
  const auto stage = [](const MoveEntry& e) { e.stage("stage"); };
  EXPECT_EQ(refusal_of(R"({"move": "tile", "stage": "D"})", stage),
            "tile: \"stage\" is \"D\"; there is no stage 'D'; there are 'C'");
  EXPECT_NE(refusal_of(R"({"move": "tile", "stages": ["C", "D"]})",
                       [](const MoveEntry& e) { e.stages("stages"); })
                .find("there is no stage 'D'"),
            std::string::npos);
  EXPECT_NE(refusal_of(R"({"move": "pack", "operand": "x"})",
                       [](const MoveEntry& e) { e.tensor("operand"); })
                .find("there is no such tensor"),
            std::string::npos);
}

TEST(MoveEntry, OtherMembersAreRefused) {
  const auto only = [](const MoveEntry& e) {
    e.allow_only(
        std::array{MoveMember{"stage", "a name"}, MoveMember{"axis", "an axis"}, MoveMember{}});
  };
  EXPECT_EQ(refusal_of(R"({"move": "tile", "stage": "C", "axis": 1})", only), "");
  EXPECT_EQ(refusal_of(R"({"move": "tile", "stage": "C", "axes": 1})", only),
            "tile of 'C' has no member \"axes\"; it has \"stage\", \"axis\"");
  EXPECT_NE(refusal_of(R"({"move": "tile", "": 1})", only).find("has no member \"\""),
            std::string::npos)
      << "an empty name is none";
  EXPECT_NE(refusal_of(R"({"move": "x", "y": 1})", [](const MoveEntry& e) { e.allow_only({}); })
                .find("it has none"),
            std::string::npos);
}

TEST(MoveEntry, LongAndForeignTextIsShownShortAndInAscii) {
  EXPECT_EQ(shown(Json("\xc3\xa9")), "\"\\u00e9\"");
  const std::string text = shown(Json(std::string(1000, 'a')));
  EXPECT_EQ(text.size(), 203u);
  EXPECT_TRUE(text.ends_with("..."));
}

}  // namespace
}  // namespace adjit::sched
