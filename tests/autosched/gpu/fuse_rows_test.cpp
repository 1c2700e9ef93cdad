// tests/autosched/gpu/fuse_rows_test.cpp -- which stages a block computes together.
#include "autosched/gpu/fuse_rows.hpp"

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/machines.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// The kernels, each with what is attached: "y(m e s)"; behind the host's name its depth.
std::string fused(const Graph& graph, const GpuMachine& machine = kGpu) {
  const Program p = fuse_rows(initial_program(graph, machine), machine);
  expect_faithful(p, graph);
  std::string text;
  for (const Kernel& kernel : p.kernels) {
    text += (text.empty() ? "" : " ") + stage_name(p.graph, p.graph.stages[kernel.root.stage]);
    std::string attached;
    for (const Nest::Attached& a : kernel.root.attached) {
      attached += (attached.empty() ? "" : " ") + stage_name(p.graph, p.graph.stages[a.nest.stage]);
      EXPECT_EQ(a.depth, kernel.root.attached.front().depth);
    }
    if (!attached.empty()) text += "(" + attached + ")";
  }
  return text;
}
std::string fused(const std::string& text) { return fused(parse_graph("def f(" + text)); }

constexpr const char* kSoftmax =
    "x) -> (y) {\n m(i) max=! x(i, r)\n e(i, j) = exp(x(i, j) - m(i))\n s(i) +=! e(i, r)\n"
    " y(i, j) = e(i, j) / s(i)\n}";

TEST(FuseRows, ASoftmaxIsOneKernel) {
  EXPECT_EQ(fused("float(300, 128) " + std::string(kSoftmax)), "y(m e s)");
}

// Terms of a row are few, but no other row's.
TEST(FuseRows, GradientsOfNarrowRowsAreOneKernel) {
  for (const char* columns : {"64", "128", "256", "300"}) {
    const std::string shape = "float(8192, " + std::string(columns) + ") ";
    const Graph graph = parse_graph(
        "def f(" + shape + "x, " + shape + "g, float(" + columns +
        ") w) -> (d) {\n m(i) +=! x(i, r) * w(r)\n c(i, j) = x(i, j) - m(i)\n"
        " s(i) +=! g(i, r) * c(i, r) * m(i)\n d(i, j) = g(i, j) * w(j) - c(i, j) * s(i)\n}");
    EXPECT_EQ(fuse_rows(initial_program(graph, kGpu), kGpu).kernels.size(), 1u) << columns;
  }
}

TEST(FuseRows, ShortRowsAreTakenTogether) {
  const Graph graph = parse_graph("def f(float(2048, 64) " + std::string(kSoftmax));
  const Program p = fuse_rows(initial_program(graph, kGpu), kGpu);
  EXPECT_EQ(loops_text(p, "y"), "serial:i:256 serial:i:8 serial:j:64");
  EXPECT_EQ(loops_text(p, "m"), "serial:i:8 serial:r_j:64");
}

TEST(FuseRows, RowsThatSharedMemoryDoesNotHoldStayInMemory) {
  const std::string text = "float(300, 100) " + std::string(kSoftmax);
  EXPECT_EQ(fused(parse_graph("def f(" + text), {.shared_bytes = 4800}), "e(m) y(s)")
      << "beside a row and a number there is what 512 threads exchange";
}

TEST(FuseRows, LoopsOfTheRowsComeFirst) {
  const Graph graph = parse_graph(
      "def f(float(64, 256) x) -> (y) {\n s(j) +=! x(r, j)\n y(i, j) = x(i, j) / s(j)\n}");
  const Program p = fuse_rows(initial_program(graph, kGpu), kGpu);
  EXPECT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(loops_text(p, "y"), "serial:j:8 serial:j:32 serial:i:64") << "neighbours together";
}

TEST(FuseRows, TheLastRowsTogetherMayBeFewer) {
  const Graph graph = parse_graph(
      "def f(float(64, 255) x) -> (y) {\n s(j) +=! x(r, j)\n y(i, j) = x(i, j) / s(j)\n}");
  const Program p = fuse_rows(initial_program(graph, kGpu), kGpu);
  EXPECT_EQ(loops_text(p, "y"), "serial:j:16 serial:j:16 serial:i:64");
  expect_faithful(p, graph);
}

// Found by random graphs. Groups of two rows or more would compute both numbers each.
TEST(FuseRows, FewNumbersThatOthersReadAreComputedOnce) {
  const Graph graph = parse_graph(R"(def f(float(2, 64) x, float(4096, 64) w) -> (y, s) {
    s(i) +=! x(i, r)
    y(i, j) = select(i < 2, s(i), 0.0) + w(i, j) where i in 0:4096
  })");
  const Program p = fuse_rows(initial_program(graph, kGpu), kGpu);
  EXPECT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(loops_text(p, "y"), "serial:i:4096 serial:j:64");
  expect_faithful(p, graph);
}

TEST(FuseRows, RowsAcrossMemoryAreLeft) {
  EXPECT_EQ(fused("float(64, 61) x) -> (y) { s(j) +=! x(r, j)\n y(i, j) = x(i, j) / s(j) }"),
            "s y");
}

TEST(FuseRows, RowsThatLeaveMultiprocessorsIdleAreLeft) {
  const auto kernels = [](const std::string& text) {
    return fuse_rows(initial_program(parse_graph("def f(" + text), kGpu), kGpu).kernels.size();
  };
  EXPECT_EQ(kernels("float(100000, 256) x) -> (y) { s(j) +=! x(r, j)\n y(i, j) = x(i, j) / s(j) }"),
            2u)
      << "8 blocks of 32 columns";
  EXPECT_EQ(kernels("float(1000003, 3) x) -> (y) { s(i) +=! x(i, r)\n y(i, j) = x(i, j) / s(i) }"),
            1u)
      << "a block for many rows";
  EXPECT_EQ(kernels("float(200000, 5, 3) x) -> (y) { s(i, k) +=! x(i, k, r)\n"
                    " y(i, k, j) = x(i, k, j) / s(i, k) }"),
            2u)
      << "a block for 3 points";
}

// A thread that computes several of them reads the terms that they have in common once.
TEST(FuseRows, TermsThatNeighboursShareAreNotARowsOwn) {
  const auto kernels = [](const std::string& terms) {
    const Graph graph = parse_graph(
        "def f(float(64, 64, 112, 112) x, float(64, 64, 112, 112) g) -> (y) {\n s(i, j, k, l) "
        "+=! " +
        terms + "\n y(i, j, k, l) = x(i, j, k, l) * exp(s(i, j, k, l))\n}");
    return fuse_rows(initial_program(graph, kGpu), kGpu).kernels.size();
  };
  EXPECT_EQ(
      kernels("g(i, j + r - 2, k, l) * x(i, j, k, l) where j in 0:64, r in 0:5, k in 0:112, l in "
              "0:112, r + j >= 2, r + j <= 65"),
      2u);
}

// The gradient of a response that is normalised over five neighbouring channels, times what `last`
// says; windows move along j alone.
Graph normalised_channels(const std::string& batch, const std::string& inputs = "",
                          const std::string& before = "",
                          const std::string& last = "x(i, j, k, l)") {
  const std::string shape = batch + ", 16, 4, 64",
                    axes = "i in 0:" + batch + ", j in 0:16, k in 0:4, l in 0:64, r in 0:5";
  return parse_graph(
      "def f(float(" + shape + ") x" + inputs + ") -> (d) {\n" + before +
      "  s(i, j, k, l) +=! x(i, j + r - 2, k, l) * x(i, j + r - 2, k, l)\n    where " + axes +
      ", j + r >= 2, j + r <= 17\n" +
      "  p(i, j, k, l) = x(i, j, k, l) * pow(s(i, j, k, l) + 1.0, -1.75)\n"
      "  d(i, j, k, l) +=! p(i, j - r + 2, k, l) * " +
      last + "\n    where " + axes + ", j + 2 >= r, r + 13 >= j\n}");
}

GpuMachine eight_multiprocessors() {
  GpuMachine machine = kNarrowGpu;
  machine.multiprocessors = 8;
  return machine;
}

// A block has all that its points of the other axes need; a batch of one has no loop.
TEST(FuseRows, StagesOfWindowsAreRowsOfTheOtherAxes) {
  const GpuMachine machine = eight_multiprocessors();
  for (const char* batch : {"2", "1"}) {
    const Graph channels = normalised_channels(batch);
    EXPECT_EQ(fused(channels, machine), "d(s p)");
    const std::string images = batch == std::string("1") ? "" : "serial:i:2 ";
    EXPECT_EQ(loops_text(fuse_rows(initial_program(channels, machine), machine), "d"),
              images + "serial:k:4 serial:l:2 serial:l:32 serial:j:16 serial:r_m:5");
  }
  const Graph image = parse_graph(R"(
def f(float(2, 4, 32, 128) g) -> (d) {
  a(i, j, k, l) +=! g(i, j, k, 2 * l + r) where i in 0:2, j in 0:4, k in 0:32, l in 0:64, r in 0:2
  d(i, j, k, l) +=! a(i, j, 2 * k + r, l) where i in 0:2, j in 0:4, k in 0:16, l in 0:64, r in 0:2
})");
  EXPECT_EQ(fused(image, machine), "d(a)");
}

// A mean has few results: the kernel that is priced does not have it.
TEST(FuseRows, WhatHasFewResultsIsNoRowOfWindows) {
  const Graph graph = normalised_channels("2", ", float(2, 64, 4, 64) w",
                                          "  m(i, k, l) +=! w(i, r, k, l)\n", "m(i, k, l)");
  EXPECT_EQ(fused(graph, eight_multiprocessors()), "m d(s p)");
}

TEST(FuseRows, ChainsOfWindowsWithEmptyAndSingleAxesAreLeft) {
  for (const char* size : {"0", "1"}) {
    const std::string n = size;
    const Graph graph =
        parse_graph("def f(float(3, 9, " + n +
                    ") x) -> (y) {\n s(i, j, k) +=! x(i, j + r, k) where i in 0:3, j in "
                    "0:7, k in 0:" +
                    n +
                    ", r in 0:3\n y(i, j, k) +=! s(i, j + r, k) where i in 0:3, j in 0:5, "
                    "k in 0:" +
                    n + ", r in 0:3\n}");
    expect_faithful(fuse_rows(initial_program(graph, kGpu), kGpu), graph);
  }
}

TEST(FuseRows, WhatIsReadElsewhereIsStoredThere) {
  EXPECT_EQ(fused("float(300, 100) x) -> (s, y) { s(i) +=! x(i, r)\n y(i, j) = x(i, j) / s(i) }"),
            "y(s)");
}

TEST(FuseRows, NothingIsComputedTwice) {
  EXPECT_EQ(fused("float(300) x) -> (y) { s() +=! x(r)\n y(i) = x(i) / s() }"), "s y");
}

TEST(FuseRows, WhatGoesFromPointToPointIsLeft) {
  EXPECT_EQ(
      fused("float(300, 100) x) -> (y) { t(i, j) = exp(x(i, j))\n y(i, j) = t(i, j) * t(i, j) }"),
      "t y");
}

TEST(FuseRows, NumbersOfRowsThatNoReductionMadeAreLeft) {
  EXPECT_EQ(fused("float(160, 256) x, float(256) w) -> (y) { t(j) = exp(w(j))\n"
                  " y(i, j) = x(i, j) * t(j) }"),
            "t y");
}

// What asks for another order of the loops does not keep others from being fused without.
TEST(FuseRows, AProducerThatDoesNotPayIsLeftAlone) {
  const Program p = fuse_rows(
      initial_program(parse_graph("def f(float(100000, 256) x) -> (y) {\n m(i) +=! x(i, r)\n"
                                  " c(j) +=! x(r, j)\n y(i, j) = (x(i, j) - m(i)) / c(j)\n}"),
                      kGpu),
      kGpu);
  ASSERT_EQ(p.kernels.size(), 2u);
  EXPECT_EQ(nest_of(p, stage_of(p, "y")).attached.size(), 1u) << "its row's sum";
}

TEST(FuseRows, ContractionsAndReductionsInOrderAreLeft) {
  EXPECT_EQ(fused("float(300, 64) a, float(64, 64) b) -> (y) { t(i, j) +=! a(i, r) * b(r, j)\n"
                  " y(i) max=! t(i, j) }"),
            "t y");
  EXPECT_EQ(fused("float(300, 64) a) -> (y) { (v, k)(i) argmax=! (a(i, r), 9 - r)\n"
                  " y(i, j) = a(i, j) - v(i) }"),
            "v y");
  EXPECT_EQ(fused("float(300, 64) a) -> (y) { (v, k)(i) argmax=! (a(i, r), int32(r))\n"
                  " y(i, j) = a(i, j) - v(i) }"),
            "y(v)")
      << "any order gives the same";
}

TEST(FuseRows, FewRowsOnlyWhereTheyAreShort) {
  const std::string text = "x) -> (y) { s(i) +=! x(i, r)\n y(i, j) = x(i, j) / s(i) }";
  EXPECT_EQ(fused("float(4, 1000) " + text), "y(s)");
  const Program p = initial_program(parse_graph("def f(float(4, 1000000) " + text), kGpu);
  EXPECT_EQ(fuse_rows(p, kGpu).kernels.size(), 2u);
}

}  // namespace
}  // namespace adjit::sched
