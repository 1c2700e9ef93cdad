// tests/autosched/analysis/shared_buffers_test.cpp -- two tensors lie in one buffer only where
// nobody wants the old values.
#include "autosched/analysis/shared_buffers.hpp"

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/lower/scatters.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/autosched/same_results.hpp"

namespace adjit::sched {
namespace {

Graph graph_of(const std::string& stages, const std::string& results = "y") {
  return parse_graph("def main(float(6) x, int64(6) n, float(6) h) -> (" + results + ") {\n" +
                     stages + "\n}");
}

// The tensor that the last scatter starts from, once it is lowered.
std::string start_of(const Graph& graph) {
  const LoweredGraph lowered = lower_scatters(LoweredGraph(graph));
  std::string name;
  for (const Stage& stage : lowered.stages)
    if (stage.kind == StageKind::Scatter) name = lowered.info(stage.initial).name;
  return name;
}

// Compiled or not, by any schedule, a graph means the same.
void expect_right(const Graph& graph) {
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    testing::expect_same_results(graph, initial_program(graph, CpuMachine{2, 512}), seed);
    testing::expect_same_results(graph, default_schedule(graph, kTwoCores), seed);
  }
}

struct Start {
  const char* title;
  const char* stages;
  const char* results = "y";
  bool on_top = false;  // whether the scatter writes over s
};

const Start kStarts[] = {
    {"nobody wants it", "scatter float(6) y(n(i) % 6) += x(i) from s where i in 0:6", "y", true},
    {"its points add it", "scatter float(6) y(n(i) % 6) += s(i) from s where i in 0:6"},
    {"its points add it elsewhere", "scatter float(6) y(i) += s(n(i) % 6) from s where i in 0:6"},
    {"its places depend on it",
     "scatter float(6) y(int64(s(i)) % 6) += x(i) from s where i in 0:6"},
    {"a condition of its points depends on it",
     "scatter float(6) y(n(i) % 6) += select(s(5 - i) > 0.0, x(i), 1.0) from s where i in 0:6"},
    {"clamped reads", "scatter float(6) y(min(i + 1, 5)) += s(i) from s where i in 0:6"},
    {"the largest", "scatter float(6) y(n(i) % 6) max= s(i) from s where i in 0:6"},
    {"the last one", "scatter float(6) y(n(i) % 6) = s(5 - i) from s where i in 0:6"},
    {"a later stage",
     "scatter float(6) t(n(i) % 6) += x(i) from s where i in 0:6\ny(i) = t(i) + s(i)"},
    {"an earlier stage, which may be computed again",
     "u(i) = s(5 - i) where i in 0:6\n"
     "scatter float(6) t(n(i) % 6) += x(i) from s where i in 0:6\ny(i) = t(i) * u(i)"},
    {"a later scatter",
     "scatter float(6) t(n(i) % 6) += x(i) from s where i in 0:6\n"
     "scatter float(6) y(n(i) % 6) += s(i) from t where i in 0:6"},
    {"a view in a later stage",
     "v(a, b) = s(2 * a + b) where a in 0:3, b in 0:2\n"
     "scatter float(6) t(n(i) % 6) += x(i) from s where i in 0:6\n"
     "y(a, b) = v(a, b) + t(2 * a + b)"},
    {"a view that the points read",
     "v(a, b) = s(2 * a + b) where a in 0:3, b in 0:2\n"
     "scatter float(6) y(n(i) % 6) += v(i // 2, i % 2) from s where i in 0:6"},
    {"the caller", "scatter float(6) y(n(i) % 6) += x(i) from s where i in 0:6", "y, s"},
    {"a running sum",
     "scatter float(6) t(n(i) % 6) += x(i) from s where i in 0:6\n"
     "c(i) +=! s(r) where i in 0:6, r in 0:6, r <= i\ny(i) = c(i) + t(i)"},
};

TEST(SharedBuffers, AScatterWritesOverItsStartWhereNobodyWantsIt) {
  for (const Start& start : kStarts) {
    SCOPED_TRACE(start.title);
    const Graph graph =
        graph_of("s(i) = h(i) * 2.0 + 1.0\n" + std::string(start.stages), start.results);
    if (std::string(start.title) != "a later scatter") {
      EXPECT_EQ(start_of(graph) == "s", start.on_top) << print(lower_scatters(LoweredGraph(graph)));
    }
    expect_right(graph);
  }
}

// What the caller gave is the caller's.
TEST(SharedBuffers, InputsAreNotWrittenOver) {
  const Graph graph = graph_of("scatter float(6) y(n(i) % 6) += x(i) from h where i in 0:6");
  EXPECT_EQ(start_of(graph), "y_start");
  expect_right(graph);
}

struct Gather {
  const char* title;
  const char* stages;
  bool reshapes = false;  // whether the stage g has the elements of s in their order
};

const Gather kGathers[] = {
    {"another shape", "g(a, b) = s(2 * a + b) where a in 0:3, b in 0:2", true},
    {"a permutation from data", "g(i) = s(n(i) % 6) where i in 0:6"},
    {"a permutation from data of the tensor itself", "g(i) = s(int64(s(i)) % 6) where i in 0:6"},
    {"an index from data that no axis moves", "g(a, i) = s(i + n(0) % 1) where a in 0:1, i in 0:6"},
    {"backwards", "g(i) = s(5 - i) where i in 0:6"},
    {"a transposition", "g(b, a) = s(2 * a + b) where b in 0:2, a in 0:3"},
    {"rotated", "g(i) = s((i + 1) % 6) where i in 0:6"},
    {"clamped", "g(i) = s(min(i + 1, 5)) where i in 0:6"},
};

TEST(SharedBuffers, OnlyOtherShapesLieInPlace) {
  for (const Gather& gather : kGathers) {
    SCOPED_TRACE(gather.title);
    const bool flat = std::string(gather.stages).starts_with("g(i)");
    const std::string read = flat ? "g(i)" : std::string(gather.stages).substr(0, 7);
    // A sum that runs on needs what it sums in memory; s is read later, too.
    const Graph graph =
        graph_of("s(i) = sin(h(i) * 2.0 + 1.0)\n" + std::string(gather.stages) +
                     (flat ? "\nc(i) +=! g(r) where i in 0:6, r in 0:6, r <= i\ny(i) = c(i) + s(i)"
                           : "\ny(i) = s(i) * 2.0"),
                 flat ? "y" : "y, g");
    EXPECT_EQ(only_reshapes(LoweredGraph(graph), graph.stages[1]), gather.reshapes);
    const Program plain = initial_program(graph, CpuMachine{2, 512});
    const BufferSharing sharing(plain.graph);
    EXPECT_EQ(!sharing.refusal(1, plain.graph.stages[0].results[0]), gather.reshapes);
    if (!gather.reshapes) expect_refused([&] { alias_reshape(plain, 1); }, "in their order");
    testing::expect_same_results(graph, reshapes_in_place(plain), 1);
    expect_right(graph);
  }
}

// A scatter does not write over what lies in place of another result, and nothing is put in place
// of what one writes over.
TEST(SharedBuffers, ViewsCountAsReaders) {
  const Graph graph = graph_of(
      "s(i) = h(i) * 2.0\n"
      "v(a, b) = s(2 * a + b) where a in 0:3, b in 0:2\n"
      "scatter float(3, 2) y(n(i) % 3, i % 2) += v(2 - i // 2, i % 2) from v where i in 0:6");
  Program program = initial_program(graph, CpuMachine{2, 512});
  EXPECT_EQ(stages_in_place(reshapes_in_place(program)), std::vector<size_t>{1});
  expect_right(graph);
  const Graph start = graph_of(
      "s(i) = h(i) * 2.0\n"
      "v(a, b) = s(2 * a + b) where a in 0:3, b in 0:2\n"
      "scatter float(3, 2) y(n(i) % 3, i % 2) += x(i) from v where i in 0:6");
  expect_refused([&] { alias_reshape(initial_program(start, CpuMachine{2, 512}), 1); },
                 "a scatter writes over it");
  expect_right(start);
}

// Programs come from schedules that anyone writes: a buffer that may not be shared is no program.
TEST(SharedBuffers, VerifyRefusesWhatMayNotBeShared) {
  const Graph graph =
      graph_of("s(i) = h(i) * 2.0\nscatter float(6) y(n(i) % 6) += x(i) from s where i in 0:6");
  Program program = initial_program(graph, CpuMachine{2, 512});
  ASSERT_NO_THROW(verify(program));
  Stage& scatter = program.graph.stages[1];
  const std::vector<ExprId> here{program.graph.pool.axis(0)};
  scatter.bodies = {read(program.graph, scatter.initial, here)};
  index_readers(program);
  expect_refused([&] { verify(program); }, "its points read what it starts from");

  const Graph gather = graph_of("s(i) = h(i) * 2.0\ny(i) = s(n(i) % 6) where i in 0:6");
  Program moved = initial_program(gather, CpuMachine{2, 512});
  moved.kernels.pop_back();
  ++moved.in_place;
  expect_refused([&] { verify(moved); }, "in their order");
}

}  // namespace
}  // namespace adjit::sched
