// tests/jit/engine/compiler_test.cpp -- which graph and which schedule a request gets.
#include "jit/engine/compiler.hpp"

#include <gtest/gtest.h>

#include "autosched/search/scheduler.hpp"
#include "jit/engine/keys.hpp"
#include "runtime/diff/simplify/long_sums.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/engine/refused_by_emitter.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

TEST(Compiler, ItsOwnScheduleIsWhatCompilingTakesWhereNothingWasKept) {
  const Engine engine(memory_only(2));
  size_t searched = 0;
  for (const Graph& graph :
       {matmul_graph(96, 700, 40), softmax_graph(2000, 24), softmax_graph(100000, 10),
        total_graph(300, 130), conv_graph(2, 16, 14, 14, 32, 1, true), column_sum_graph(2000, 120),
        matmul_graph(4, 4, 4), softmax_graph(32, 10), softmax_graph(64, 17),
        product_graph(200, 300, 100, true, true)}) {
    Request request = request_of(graph);
    const std::string taken = schedule_of(engine.compiler(), request).moves_json;
    const Graph scheduled = long_sums_in_float64(graph);  // what the engine schedules
    searched +=
        taken !=
        default_schedule(scheduled, cpu_of(schedule_target(engine.compiler(), request))).moves_json;
    request.schedule_json = kOwnSchedule;
    EXPECT_EQ(schedule_of(engine.compiler(), request).moves_json, taken);
  }
  EXPECT_EQ(searched > 0, vector_bits_of(engine.compiler().backends->cpu().schedule_target()) >
                              128);  // else nothing is searched
}

TEST(Compiler, AKeptScheduleComesFirstAndOneThatIsNoMoreLegalIsLeftOut) {
  std::vector<std::string> warnings;
  EngineOptions options = memory_only(2);
  options.log = [&](cache::Level level, const std::string& message) {
    if (level == cache::Level::Warning) warnings.push_back(message);
  };
  cache::Store store(options.store);
  Compiler compiler(options, store);
  Request request = request_of(matmul_graph(4, 4, 4));
  const std::string chosen = schedule_of(compiler, request).moves_json;
  const cache::Key key = kept_schedule_key(request, compiler.backends->cpu().schedule_components());
  compiler.kept.keep(key, "[]", {});
  EXPECT_EQ(kept_schedule(compiler, request), "[]");
  EXPECT_EQ(schedule_of(compiler, request).moves_json, "[]");
  EXPECT_NE(chosen, "[]");
  EXPECT_TRUE(warnings.empty());
  compiler.kept.keep(key, R"([{"move": "of another version"}])", {});
  EXPECT_EQ(schedule_of(compiler, request).moves_json, chosen);
  EXPECT_EQ(warnings.size(), 1u);
}

TEST(Compiler, AGivenScheduleIsTakenOrRefused) {
  const Engine engine(memory_only(2));
  const Request plain = request_of(matmul_graph(4, 4, 4), "[]");
  EXPECT_EQ(schedule_of(engine.compiler(), plain).moves_json, "[]");
  const Request wrong = request_of(matmul_graph(4, 4, 4), R"([{"move": "none such"}])");
  EXPECT_THROW(schedule_of(engine.compiler(), wrong), Error);
}

TEST(Compiler, PlainLoopsReplaceWhatTheEmitterRefuses) {
  cache::StoreOptions off;
  off.mode = cache::Mode::Off;
  cache::Store store(off);
  Compiler compiler(memory_only(2), store);
  Request request = request_of(parse_graph(kLongBody));
  compiler.kept.keep(kept_schedule_key(request, compiler.backends->cpu().schedule_components()),
                     kUnrolled, {});
  const Graph graph = checked_graph(compiler, request).graph;
  Program program = schedule_of(compiler, request, graph);
  EXPECT_TRUE(replace_refused(compiler, request, graph, program));
  EXPECT_EQ(program.moves_json, "[]");
  EXPECT_EQ(program.fallbacks.size(), 1u);
  EXPECT_FALSE(replace_refused(compiler, request, graph, program)) << "plain loops are emitted";
  request.schedule_json = kUnrolled;
  program = schedule_of(compiler, request, graph);
  EXPECT_FALSE(replace_refused(compiler, request, graph, program)) << "the request's own";
  EXPECT_THROW(compile_program(compiler, request, graph, program), Error);
}

TEST(Compiler, ExportedKernelsAreNamedByTheirFunction) {
  const Engine engine(memory_only(1));
  const ExportedFunction function =
      exported(engine.compiler(), request_of(matmul_graph(4, 4, 4)), "f");
  EXPECT_EQ(function.name, "f");
  EXPECT_EQ(function.inputs.size(), function.plan.inputs.size());
  EXPECT_EQ(function.plan.kernels.at(0).symbol, exported_symbol("f", 0));
}

}  // namespace
}  // namespace adjit::testing
