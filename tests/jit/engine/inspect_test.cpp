// tests/jit/engine/inspect_test.cpp -- proposals, explanations and code of a request.
#include "jit/engine/inspect.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/engine/refused_by_emitter.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(Inspect, ProposalsAreDifferentAndBeginWithWhatCompilingTakes) {
  const Engine engine(memory_only(2));
  const Request request = request_of(matmul_graph(96, 70, 40));
  const std::vector<Proposal> found = proposals(engine.compiler(), request, 6, 1);
  ASSERT_FALSE(found.empty());
  EXPECT_LE(found.size(), 6u);
  EXPECT_EQ(found[0].schedule_json, schedule_of(engine.compiler(), request).moves_json);
  std::set<std::string> schedules;
  for (const Proposal& proposal : found) {
    EXPECT_TRUE(schedules.insert(proposal.schedule_json).second);
    EXPECT_GT(proposal.predicted, 0);
  }
}

TEST(Inspect, OnlyTheDefaultScheduleIsComparedWithOthers) {
  const Engine engine(memory_only(2));
  Request request = request_of(matmul_graph(96, 70, 40));
  const std::string by_default = explain(engine.compiler(), request);
  request.schedule_json = schedule_of(engine.compiler(), request).moves_json;
  const std::string given = explain(engine.compiler(), request);
  EXPECT_FALSE(given.empty());
  EXPECT_GT(by_default.size(), given.size());
  EXPECT_NE(by_default.find(given), std::string::npos);
}

TEST(Inspect, WhatTheEmitterRefusesIsNamedAndNotShown) {
  Engine engine(memory_only(1));
  const Request kept = request_of(parse_graph(kLongBody));
  const Request plain = request_of(parse_graph(kLongBody), "[]");
  engine.keep_schedule(kept, kUnrolled);
  const std::string text = explain(engine.compiler(), kept);
  EXPECT_NE(text.find("without what was refused: all loops: instances of the long body"),
            std::string::npos)
      << text;
  EXPECT_TRUE(text.starts_with(explain(engine.compiler(), plain))) << text;
  EXPECT_EQ(llvm_text(engine.compiler(), kept), llvm_text(engine.compiler(), plain));
  EXPECT_EQ(assembly_text(engine.compiler(), kept), assembly_text(engine.compiler(), plain));
}

TEST(Inspect, TextsHaveEveryDifferentKernelOnce) {
  const Engine engine(memory_only(1));
  const Request request = request_of(matmul_graph(4, 4, 4));
  const std::string llvm = llvm_text(engine.compiler(), request);
  EXPECT_NE(llvm.find("define"), std::string::npos);
  EXPECT_NE(llvm.find("@adjit_kernel_0"), std::string::npos);
  EXPECT_NE(assembly_text(engine.compiler(), request).find("adjit_kernel_0:"), std::string::npos);
}

}  // namespace
}  // namespace adjit::testing
