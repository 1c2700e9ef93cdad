// tests/autosched/cpu/passes/loops/interchange_reductions_test.cpp -- loops over taps and channels,
// and copies as these loops read them.
#include "autosched/cpu/passes/loops/interchange_reductions.hpp"

#include "autosched/lower/initial_program.hpp"
#include "autosched/search/scheduler.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/graph/print/printer.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// A convolution of images of so many channels by 3 x 3 taps, with zeros around them where `padded`.
Graph convolution(int64_t channels, int64_t side, bool padded = true) {
  const std::string c = std::to_string(channels), n = std::to_string(side),
                    m = std::to_string(padded ? side : side - 2);
  const std::string at = padded ? " - 1" : "";
  return parse_graph(
      "def f(float(4, " + c + ", " + n + ", " + n + ") x, float(32, " + c + ", 3, 3) w) -> (y) {" +
      " y(b, i, j, k) +=! x(b, r_c, j + r_p" + at + ", k + r_q" + at +
      ") * w(i, r_c, r_p, r_q) where b in 0:4, i in 0:32, j in 0:" + m + ", k in 0:" + m +
      ", r_c in 0:" + c + ", r_p in 0:3, r_q in 0:3" +
      (padded ? ", j + r_p >= 1, j + r_p <= " + n + ", k + r_q >= 1, k + r_q <= " + n : "") + " }");
}

std::optional<size_t> long_axis_of(const Graph& graph) {
  const Stage& stage = graph.stages.back();
  return long_axis(graph, stage, accesses_of(LoweredGraph(graph), stage));
}

TEST(LongAxis, ChannelsBesideTaps) {
  EXPECT_EQ(long_axis_of(convolution(16, 12)), 4u);
  EXPECT_EQ(long_axis_of(convolution(64, 12, false)), 4u);
  EXPECT_EQ(long_axis_of(convolution(15, 12)), std::nullopt) << "few channels";
  EXPECT_EQ(long_axis_of(matmul_graph(64, 64, 64)), std::nullopt) << "one loop";
  EXPECT_EQ(long_axis_of(parse_graph(
                "def f(float(8, 16, 28, 28) x, float(8, 16, 28, 28) d) -> (w) { w(i, j) +=! x(r_b, "
                "i, r_p, r_q) * d(r_b, j, r_p, r_q) where i in 0:16, j in 0:16 }")),
            std::nullopt)
      << "what is walked in the smallest steps is long";
  EXPECT_EQ(
      long_axis_of(parse_graph("def f(float(40, 64, 12) x) -> (y) { y(i) max=! x(i, r_c, r_p) "
                               "where i in 0:40, r_c in 0:64, r_p in 0:3 }")),
      std::nullopt)
      << "no sum of products";
}

TEST(WalkedAlong, PutsADimensionNextToTheInnermost) {
  const auto order = [](std::vector<size_t> dims, size_t dim) {
    Packing packing;
    for (size_t d : dims) packing.dimensions.push_back({d, 1, 0});
    packing = walked_along(std::move(packing), dim);
    for (size_t k = 0; k < dims.size(); ++k) dims[k] = packing.dimensions[k].dim;
    return dims;
  };
  using Dims = std::vector<size_t>;
  EXPECT_EQ(order({0, 1, 2, 3}, 1), (Dims{0, 2, 1, 3}));
  EXPECT_EQ(order({0, 1, 2, 3}, 0), (Dims{1, 2, 0, 3}));
  EXPECT_EQ(order({0, 1, 2, 3}, 2), (Dims{0, 1, 2, 3}));
  EXPECT_EQ(order({0, 1, 2, 3}, 3), (Dims{0, 1, 2, 3})) << "innermost already";
  EXPECT_EQ(order({0, 1}, 7), (Dims{0, 1})) << "no such dimension";
}

// Axes of the serial loops over the reduction, outermost first, of the default schedule.
std::vector<size_t> reduction_loops(const Program& p, const std::string& name) {
  const Nest& nest = nest_of(p, stage_of(p, name));
  const size_t outputs = p.graph.stages[nest.stage].domain.output_rank;
  std::vector<size_t> axes;
  for (const Loop& loop : nest.loops)
    if (loop.axis >= outputs && loop.kind == LoopKind::Serial) axes.push_back(loop.axis - outputs);
  return axes;
}

TEST(OrderReductions, ChannelsInsideTaps) {
  using Axes = std::vector<size_t>;
  const CpuMachine machine{.cores = 2, .vector_bits = 256};
  const Graph graph = convolution(32, 20);
  const Program p = default_schedule(graph, machine);
  EXPECT_EQ(reduction_loops(p, "y"), (Axes{1, 2, 0})) << print(p);
  const std::string text = print(p);
  EXPECT_NE(text.find("float(4, 22, 32, 22) x_packed"), std::string::npos) << text;
  EXPECT_NE(text.find("3, 3, 32, "), std::string::npos) << "panels of w:\n" << text;
  // Channels of 64 x 64 images are 16 kB apart, two lines of a set of L1.
  const Program far = default_schedule(convolution(32, 64, false), machine);
  EXPECT_EQ(reduction_loops(far, "y"), (Axes{0, 1, 2})) << print(far);
  const Program near = default_schedule(convolution(32, 29, false), machine);
  EXPECT_EQ(reduction_loops(near, "y"), (Axes{1, 2, 0})) << print(near);
  // 14 rows of weights that no copy puts next to each other: 4,032 lines a walk.
  const Program small = default_schedule(convolution(512, 7), machine);
  EXPECT_NE(reduction_loops(small, "y").back(), 0u) << print(small);
  EXPECT_NE(print(small).find("float(4, 512, 9, 9) x_packed"), std::string::npos)
      << "what the lanes read stays in its order\n"
      << print(small);
  expect_faithful(default_schedule(convolution(16, 7), machine), convolution(16, 7));
}

// Eight rows of 64 channels would take all 512 lines of L1, but rows of 17 elements
// begin anywhere and end in another line: channels stay outside.
TEST(OrderReductions, LinesLeaveRoomInTheFirstCache) {
  const Graph graph = parse_graph(
      "def f(float(4, 256, 17, 17) x, float(256, 19, 2, 2) w) -> (d) {\n"
      " d(i, j, k, l) +=! x(i, r_m + j // 19 * 64, r_n * -1 + k + 1, r_o * -1 + l + 1) * "
      "w(r_m + j // 19 * 64, j - j // 19 * 19, r_n, r_o)\n where i in 0:4, j in 0:76, k in 0:16, "
      "l in 0:16, r_m in 0:64, r_n in 0:2, r_o in 0:2\n}");
  Choices whole_groups({{{Decision::Residues, "d"}, 1}});
  const Program p = schedule_with(graph, CpuMachine{.cores = 1, .vector_bits = 256}, whole_groups);
  const std::vector<size_t> loops = reduction_loops(p, "d");
  ASSERT_GE(loops.size(), 2u) << print(p);  // a tile may take the window's rows as a whole
  EXPECT_EQ(loops.front(), 0u) << print(p);
}

// The gradient of 3 x 3 weights of 8 channels, `apart` floats from one to the next, over 64 images
// of 14 x 14 places; axes of its reduction, outermost first, around a tile of all channels.
std::vector<size_t> around_images(int64_t apart) {
  const std::string channel = std::to_string(apart);
  const Graph graph =
      parse_graph("def f(float(64, 14, 14, 16) d, float(64, " + std::to_string(8 * apart + 16) +
                  ") x) -> (w) { w(c, o, p, q) +=! d(r_n, r_y, r_x, o) * x(r_n, " + channel +
                  " * c + 16 * (r_y + p) + r_x + q) where c in 0:8, o in 0:16, p in 0:3, q in 0:3, "
                  "r_n in 0:64, "
                  "r_y in 0:14, r_x in 0:14 }");
  const CpuMachine machine{.l1_bytes = 64 << 10};
  Program program = initial_program(graph, machine);
  program = unroll(vectorize(std::move(program), 0, 1, 16), 0, 0, 8);
  const Accesses accesses = accesses_of(LoweredGraph(graph), graph.stages[0]);
  return reduction_loops(order_reductions(std::move(program), 0, accesses, machine), "w");
}

TEST(OrderReductions, PagesStayAtHand) {
  using Axes = std::vector<size_t>;
  EXPECT_EQ(around_images(256), (Axes{1, 2, 0})) << "64 images on two pages each";
  EXPECT_EQ(around_images(1280), (Axes{0, 1, 2})) << "512 pages, in as many lines";
}

}  // namespace
}  // namespace adjit::sched
