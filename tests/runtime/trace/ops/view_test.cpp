// tests/runtime/trace/ops/view_test.cpp -- shapes, indexing, padding, joining against loops over
// row-major positions.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

// 0, 1, 2, ... in row-major order: a result shows where each element came from.
Array counting(Shape shape) {
  Array result = Array::zeros(DType::Float64, std::move(shape));
  for (int64_t k = 0; k < result.element_count(); ++k) result.set(k, static_cast<double>(k));
  return result;
}

void expect(const Array& found, const Shape& shape, const Values& wanted) {
  EXPECT_EQ(found.shape, shape);
  EXPECT_EQ(values(found), wanted);
}

// The reads of a one-stage graph's body, as (op) of their index expressions.
std::vector<Op> index_ops(const Graph& graph) {
  std::vector<Op> ops;
  for (ExprId id : reachable(graph.pool, graph.stages.at(0).bodies))
    ops.push_back(graph.pool[id].op);
  return ops;
}

TEST(Reshape, KeepsRowMajorOrder) {
  for (const auto& [from, to] : std::vector<std::pair<Shape, Shape>>{{{4, 6}, {24}},
                                                                     {{24}, {2, 3, 4}},
                                                                     {{4, 6}, {3, 8}},
                                                                     {{2, 3, 4}, {6, 4}},
                                                                     {{2, 3, 4}, {2, 12}},
                                                                     {{6, 1, 4}, {1, 2, 3, 4}},
                                                                     {{4, 9}, {6, 6}},
                                                                     {{1}, {}},
                                                                     {{}, {1, 1}}}) {
    const Array x = counting(from);
    const Array y = run("reshape", {x}, R"({"shape": )" + Json(to).dump() + "}");
    expect(y, to, values(x));
  }
  EXPECT_EQ(run("reshape", {counting({2, 0})}, R"({"shape": [0, 5]})").shape, (Shape{0, 5}));
  EXPECT_EQ(run("reshape", {counting({4, 6})}, R"({"shape": [-1, 3]})").shape, (Shape{8, 3}));
  EXPECT_THROW(run("reshape", {counting({4, 6})}, R"({"shape": [5, -1]})"), Error);
  EXPECT_THROW(run("reshape", {counting({4})}, R"({"shape": [3]})"), Error);
}

TEST(Reshape, SplitsAndMergesTouchNoOtherDimension) {
  // (8, 4, 6) -> (8, 24): the first index stays an axis; the merge needs one // and one %.
  const Graph merged = trace_call("reshape", {counting({8, 4, 6})}, R"({"shape": [8, 24]})");
  const std::vector<Op> ops = index_ops(merged);
  EXPECT_EQ(std::ranges::count(ops, Op::FloorDiv), 1);
  EXPECT_EQ(std::ranges::count(ops, Op::Mod), 1);
  // Splitting needs neither.
  const Graph split = trace_call("reshape", {counting({8, 24})}, R"({"shape": [8, 4, 6]})");
  EXPECT_EQ(std::ranges::count(index_ops(split), Op::FloorDiv), 0);
  EXPECT_EQ(std::ranges::count(index_ops(split), Op::Mod), 0);
}

TEST(Views, Reorder) {
  const Array x = counting({2, 3});
  expect(run("transpose", {x}), {3, 2}, {0, 3, 1, 4, 2, 5});
  expect(run("flip", {x}), {2, 3}, {5, 4, 3, 2, 1, 0});
  expect(run("flip", {x}, R"({"axis": 1})"), {2, 3}, {2, 1, 0, 5, 4, 3});
  expect(run("roll", {x}, R"({"shift": 1, "axis": 1})"), {2, 3}, {2, 0, 1, 5, 3, 4});
  expect(run("roll", {x}, R"({"shift": -2})"), {2, 3}, {2, 3, 4, 5, 0, 1});
  expect(run("tile", {counting({2})}, R"({"repetitions": [2, 2]})"), {2, 4},
         {0, 1, 0, 1, 0, 1, 0, 1});
  expect(run("repeat", {x}, R"({"repeats": 2, "axis": 1})"), {2, 6},
         {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5});
  expect(run("moveaxis", {counting({1, 2, 3})}, R"({"source": 2, "destination": 0})"), {3, 1, 2},
         {0, 3, 1, 4, 2, 5});
  expect(run("broadcast_to", {counting({2, 1})}, R"({"shape": [2, 2, 3]})"), {2, 2, 3},
         {0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1});
  EXPECT_EQ(run("expand_dims", {x}, R"({"axis": [0, 2]})").shape, (Shape{1, 2, 1, 3}));
  EXPECT_THROW(run("squeeze", {x}, R"({"axis": 0})"), Error);
}

TEST(Views, PixelShuffleIsItsUnshufflesInverse) {
  const Array x = counting({1, 8, 2, 3});
  const Array y = run("nn.pixel_shuffle", {x}, R"({"upscale_factor": 2})");
  EXPECT_EQ(y.shape, (Shape{1, 2, 4, 6}));
  EXPECT_EQ(values(y)[1], 6);  // channel 1 stands right of channel 0
  expect(run("nn.pixel_unshuffle", {y}, R"({"downscale_factor": 2})"), {1, 8, 2, 3}, values(x));
}

TEST(Indexing, BasicItems) {
  const Array x = counting({4, 5});
  const auto item = [&](const std::string& items) {
    return run("getitem", {x}, R"({"items": )" + items + "}");
  };
  expect(item("[1]"), {5}, {5, 6, 7, 8, 9});
  expect(item("[-1, -1]"), {}, {19});
  expect(item("[[null, null, -2], [1, 4, 2]]"), {2, 2}, {16, 18, 6, 8});
  expect(item(R"(["...", 0])"), {4}, {0, 5, 10, 15});
  expect(item(R"(["newaxis", [3, null, null], [0, 1, null]])"), {1, 1, 1}, {15});
  expect(item("[[9, 2, 1]]"), {0, 5}, {});
  expect(item("[[-100, 100, 3], 2]"), {2}, {2, 17});
  EXPECT_THROW(item("[4]"), Error);
  EXPECT_THROW(item("[0, 0, 0]"), Error);
  try {
    item("[0, 5]");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Bounds);
    for (const char* word : {"test.py:7", "index 5", "axis 1", "extent 5"})
      EXPECT_NE(std::string(e.what()).find(word), std::string::npos) << e.what();
  }
}

TEST(Indexing, IndexTensors) {
  const Array x = counting({3, 4, 2}), i = i64({2}, {2, -3}), j = i64({2, 1}, {1, 3});
  // x[i, j]: broadcast to (2, 2), then the last dimension.
  expect(run("getitem", {x, i, j}, R"({"items": [{"tensor": 0}, {"tensor": 1}]})"), {2, 2, 2},
         {18, 19, 2, 3, 22, 23, 6, 7});
  // x[i, :, 1]: separated by a slice, the index dimensions come first.
  expect(run("getitem", {x, i}, R"({"items": [{"tensor": 0}, [null, null, null], 1]})"), {2, 4},
         {17, 19, 21, 23, 1, 3, 5, 7});
  // x[:, i2]: stays in place.
  expect(run("getitem", {x, i64({1}, {3})}, R"({"items": ["...", {"tensor": 0}, [0, 1, null]]})"),
         {3, 1, 1}, {6, 14, 22});
  EXPECT_THROW(run("getitem", {x, i64({1}, {3})}, R"({"items": [{"tensor": 0}]})"), Error);
}

TEST(Gathering, TakeAndItsModes) {
  const Array x = counting({2, 3});
  expect(run("take", {x, i64({2}, {2, 0})}, R"({"axis": 1})"), {2, 2}, {2, 0, 5, 3});
  expect(run("take", {x, i64({}, {1})}, R"({"axis": 0})"), {3}, {3, 4, 5});
  expect(run("take", {x}, R"({"indices": [-1, 1]})"), {2}, {5, 1});
  expect(run("take", {x, i64({2}, {7, -7})}, R"({"axis": 1, "mode": "clip"})"), {2, 2},
         {2, 0, 5, 3});
  expect(run("take", {x, i64({2}, {4, -1})}, R"({"axis": 1, "mode": "wrap"})"), {2, 2},
         {1, 2, 4, 5});
  EXPECT_THROW(run("take", {x}, R"({"indices": [6]})"), Error);
  EXPECT_THROW(run("take", {x, i64({1}, {5})}, R"({"axis": 0})"), Error);
  expect(run("take_along_axis", {x, i64({2, 1}, {2, 1})}), {2, 1}, {2, 4});
  expect(run("scatter_add", {x, i64({2, 2}, {0, 0, 2, 1}), f64({2, 2}, {1, 1, 1, 1})}), {2, 3},
         {2, 1, 2, 3, 5, 6});
  expect(run("index_add", {x, i64({2}, {1, 1}), counting({2, 3})}), {2, 3}, {0, 1, 2, 6, 9, 12});
  expect(run("nn.one_hot", {i64({2}, {2, 0})}, R"({"num_classes": 3})"), {2, 3},
         {0, 0, 1, 1, 0, 0});
}

// NumPy's definition, position by position.
int64_t padded_source(int64_t t, int64_t n, const std::string& mode) {
  if (mode == "edge") return std::clamp<int64_t>(t, 0, n - 1);
  if (mode == "wrap") return ((t % n) + n) % n;
  const int64_t period = mode == "reflect" ? 2 * (n - 1) : 2 * n;
  const int64_t m = ((t % period) + period) % period;
  if (mode == "reflect") return m < n ? m : period - m;
  return m < n ? m : period - 1 - m;
}

TEST(Padding, AllModes) {
  for (const std::string mode : {"edge", "wrap", "reflect", "symmetric"})
    for (int64_t before : {0, 1, 3, 7})
      for (int64_t behind : {0, 2, 9}) {
        const Array x = counting({4});
        Values wanted;
        for (int64_t t = -before; t < 4 + behind; ++t)
          wanted.push_back(static_cast<double>(padded_source(t, 4, mode)));
        const std::string attributes = R"({"mode": ")" + mode + R"(", "pad_width": [[)" +
                                       std::to_string(before) + "," + std::to_string(behind) +
                                       "]]}";
        expect(run("pad", {x}, attributes), {4 + before + behind}, wanted);
      }
  expect(run("pad", {counting({1, 2})}, R"({"pad_width": [[0, 1], [1, 0]], "constant_values": 9})"),
         {2, 3}, {9, 0, 1, 9, 9, 9});
  expect(run("nn.pad", {counting({2, 2})}, R"({"pad": [-1, 1]})"), {2, 2}, {1, 0, 3, 0});
}

TEST(Joining, ConcatStackSplit) {
  const Array a = counting({2, 1}), b = counting({2, 2});
  expect(run("concat", {a, b}, R"({"axis": 1})"), {2, 3}, {0, 0, 1, 1, 2, 3});
  expect(run("concat", {counting({0, 2}), b, b}), {4, 2}, {0, 1, 2, 3, 0, 1, 2, 3});
  expect(run("stack", {b, b}, R"({"axis": -1})"), {2, 2, 2}, {0, 0, 1, 1, 2, 2, 3, 3});
  const std::vector<Array> parts =
      run_all("split", {counting({5})}, R"({"sections_or_indices": [1, 3]})");
  ASSERT_EQ(parts.size(), 3u);
  expect(parts[1], {2}, {1, 2});
  expect(parts[2], {2}, {3, 4});
  EXPECT_THROW(run("split", {counting({5})}, R"({"sections_or_indices": 2})"), Error);
  EXPECT_THROW(run("concat", {a, counting({3, 2})}, R"({"axis": 1})"), Error);
  expect(run_all("meshgrid", {counting({2}), counting({3})})[0], {3, 2}, {0, 1, 0, 1, 0, 1});
}

TEST(Triangles, CutAndEmbed) {
  const Array x = counting({3, 3});
  expect(run("tril", {x}), {3, 3}, {0, 0, 0, 3, 4, 0, 6, 7, 8});
  expect(run("triu", {x}, R"({"k": 1})"), {3, 3}, {0, 1, 2, 0, 0, 5, 0, 0, 0});
  expect(run("diagonal", {x}, R"({"offset": -1})"), {2}, {3, 7});
  expect(run("trace", {x}), {}, {12});
  expect(run("diag_embed", {f64({2}, {5, 6})}, R"({"offset": 1})"), {3, 3},
         {0, 5, 0, 0, 0, 6, 0, 0, 0});
}

TEST(Creation, Fills) {
  expect(run("zeros", {}, R"({"shape": [2]})"), {2}, {0, 0});
  EXPECT_EQ(run("zeros", {}, R"({"shape": [2]})").dtype, DType::Float32);
  expect(run("arange", {}, R"({"start": 5, "stop": 0, "step": -2})"), {3}, {5, 3, 1});
  expect(run("arange", {}, R"({"start": 3})"), {3}, {0, 1, 2});
  EXPECT_EQ(run("arange", {}, R"({"start": 0, "stop": 1, "step": 0.25})").shape, (Shape{4}));
  expect(run("eye", {}, R"({"n_rows": 2, "n_cols": 3, "k": 1})"), {2, 3}, {0, 1, 0, 0, 0, 1});
  expect(run("linspace", {}, R"({"start": 1, "stop": 2, "num": 3, "dtype": "float64"})"), {3},
         {1, 1.5, 2});
  expect(run("full", {f64({}, {7})}, R"({"shape": [2]})"), {2}, {7, 7});
}

}  // namespace
}  // namespace adjit::testing
