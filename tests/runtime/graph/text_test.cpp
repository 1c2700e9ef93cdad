// The printed form: golden texts, and that each reads back to itself.
#include "runtime/graph/text.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <unordered_set>

#include "runtime/graph/interpreter.hpp"
#include "runtime/graph/verify.hpp"

namespace adjit::graph {
namespace {

void expect_round_trip(const Graph& graph) {
  const std::string text = print(graph);
  Graph parsed;
  ASSERT_NO_THROW(parsed = parse_graph(text)) << text;
  EXPECT_EQ(print(parsed), text);
  EXPECT_EQ(content_hash(parsed), content_hash(graph)) << text;
}

// Prints as it stands.
void expect_golden(const std::string& text) {
  const Graph graph = parse_graph(text);
  EXPECT_EQ(print(graph), text);
  expect_round_trip(graph);
  EXPECT_NO_THROW(verify(graph)) << text;
}

TEST(Text, Matmul) {
  expect_golden(
      "def main(float(4, 6) A, float(6, 5) B) -> (C) {\n"
      "  C(i, j) +=! A(i, r_k) * B(r_k, j) where i in 0:4, j in 0:5, r_k in 0:6\n"
      "}\n");
}

TEST(Text, LongConstantsAreWholeOrElided) {
  Graph graph;
  std::vector<std::byte> bytes(4000, std::byte{0x3f});
  graph.outputs = {add_constant(graph, "c", DType::Float32, {1000}, bytes),
                   add_constant(graph, "d", DType::Int64, {2}, std::vector<std::byte>(16))};
  expect_round_trip(graph);
  EXPECT_GT(print(graph).size(), 8000U);
  const std::string elided = print(graph, LongConstants::Elided);
  EXPECT_NE(elided.find("const float(1000) c = ... (4000 bytes)\n"), std::string::npos) << elided;
  EXPECT_NE(elided.find("const int64(2) d = [0, 0]\n"), std::string::npos) << elided;
  EXPECT_THROW(parse_graph(elided), Error) << "for people";
}

TEST(Text, EveryKindOfStatement) {
  expect_golden(
      "def main(float(4, 6) A, int64(4) I, float s) -> (v, at, A, h) {\n"
      "  const float(3) c = [0.1, -2.0, inf]\n"
      "  const bool(2) b = [true, false]\n"
      "  y() =[stop_gradient] s() * c(2)\n"
      "  z(i, j) = A(i, j - 1 where 1 <= j) + 0.5 where i in 0:4, j in 0:6\n"
      "  (v, at)(i) argmax=! (z(i, r_j), r_j) where i in 0:4, r_j in 0:6\n"
      "  p(i) max=![first] z(i, i + r_j) where i in 0:4, r_j in 0:2\n"
      "  q(i) any=! z(i, r_j) < 2.0 where i in 0:4, r_j in 0:6\n"
      "  scatter float(9) h0(I(i)) +=![drop] p(i) where i in 0:4\n"
      "  scatter float(9) h(I(i)) += p(i) from h0 where i in 0:4\n"
      "  (m, n)(i) custom=! (z(i, r_j), 1)\n"
      "    combine (a0, a1), (b0, b1) -> (max(a0, b0), a1 + b1)\n"
      "    identity (-inf, 0)\n"
      "    where i in 0:4, r_j in 0:6\n"
      "  call (float(4) sorted, int64(4) order) = sort(p)\n"
      "}\n");
}

TEST(Text, DomainsWithDivisionsAndRows) {
  expect_golden(
      "def main(float(5) dy) -> (dx) {\n"
      "  dx(i) +=! dy(i // 2)\n"
      "    where i in 0:10, r_j in 0:3, q0 = i // 2, q1 = (i + 2*q0 - 3) // 4, i <= 8, i + 1 >= "
      "r_j, "
      "i == 2*q0, 0 == r_j\n"
      "}\n" +
      std::string());
}

TEST(Text, Scans) {
  expect_golden(
      "def main(float(2) h0, float(3, 2) X, float w) -> (h, ys) {\n"
      "  scan (h, ys) = step[3, reverse](carry float(2) c = h0, over float(2) x = X, fixed float u "
      "= "
      "w) -> (n, x) {\n"
      "    n(i) = c(i) * u() + x(i) where i in 0:2\n"
      "    scan (k) = inner[2](carry float(2) d = n) -> (e) {\n"
      "      e(i) = -d(i) where i in 0:2\n"
      "    }\n"
      "  }\n"
      "}\n");
}

TEST(Text, LiteralsOfEveryDType) {
  Graph graph;
  std::vector<ExprId> bodies;
  const double kInf = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kDTypeCount; ++k) {
    const DType t = static_cast<DType>(k);
    if (!is_float(t)) {
      for (int64_t v : {int64_t{0}, int64_t{1}, int64_t{-1}, INT64_MIN, INT64_MAX})
        bodies.push_back(graph.pool.constant_int(v, t));
      continue;
    }
    for (double v : {0.0, -0.0, 0.1, 1.0 / 3, 1e-45, 1e30, -7.0, kInf, -kInf, 5e-324, 123456789.0})
      bodies.push_back(graph.pool.constant_float(v, t));
    for (uint64_t bits : {0x7ff8000000000000ull, 0xfff8000000000000ull, 0x7ff8000000000123ull})
      bodies.push_back(graph.pool.intern({Op::Constant, t, 0, 0, bits}, {}));
  }
  Domain domain;
  for (ExprId body : bodies) {
    graph.outputs.push_back(add_compute(graph, "y", domain, {}, {body})[0]);
    // And beside an operand, where the dtype is taken from it.
    const DType t = graph.pool.dtype(body);
    const TensorId x = add_input(graph, "x", t, {});
    const ExprId condition = graph.pool.make(Op::Le, {read(graph, x, {}), body});
    graph.outputs.push_back(add_compute(
        graph, "z", domain, {},
        {graph.pool.intern({Op::Select, t, 0, 0, 0},
                           std::vector{condition, body, bodies[0] == body ? body : body})})[0]);
  }
  expect_round_trip(graph);
}

TEST(Text, PrecedenceIsKept) {
  Graph graph;
  ExprPool& p = graph.pool;
  const TensorId x = add_input(graph, "x", DType::Int32, {});
  const ExprId a = read(graph, x, {}), two = p.constant(2, DType::Int32);
  const auto op = [&](Op o, ExprId l, ExprId r) {
    return p.intern({o, info(o).rule == TypeRule::Comparison ? DType::Bool : DType::Int32, 0, 0, 0},
                    std::vector{l, r});
  };
  std::vector<Op> ops{Op::Add,   Op::Sub,    Op::Mul,       Op::FloorDiv,   Op::Mod, Op::BitAnd,
                      Op::BitOr, Op::BitXor, Op::ShiftLeft, Op::ShiftRight, Op::Min, Op::Fmod};
  Domain domain;
  for (Op outer : ops)
    for (Op inner : ops) {
      const ExprId in = op(inner, a, two);
      for (ExprId body :
           {op(outer, in, a), op(outer, a, in), op(outer, in, in),
            p.intern({Op::Neg, DType::Int32, 0, 0, 0}, std::vector{op(outer, in, a)})})
        graph.outputs.push_back(add_compute(graph, "y", domain, {}, {body})[0]);
    }
  const ExprId less = op(Op::Lt, a, two), equal = op(Op::Eq, op(Op::BitAnd, a, two), two);
  for (ExprId body :
       {p.make(Op::Not, {equal}), p.make(Op::And, {p.make(Op::Or, {less, equal}), less}),
        op(Op::Eq, less, equal)})
    graph.outputs.push_back(add_compute(graph, "y", domain, {}, {body})[0]);
  expect_round_trip(graph);
}

TEST(Text, UnfoldedNodesSurvive) {
  Graph graph;
  ExprPool& p = graph.pool;
  const ExprId one = p.constant(1, DType::Float64), half = p.constant(0.5, DType::Float32);
  const ExprId sum = p.intern({Op::Add, DType::Float64, 0, 0, 0}, std::vector{one, one});
  const ExprId cast = p.intern({Op::Cast, DType::Float32, 0, 0, 0}, std::vector{sum});
  const ExprId narrow = p.intern({Op::Cast, DType::Int8, 0, 0, 0}, std::vector{half});
  const ExprId negative = p.intern({Op::Neg, DType::Float32, 0, 0, 0}, std::vector{half});
  const ExprId nested = p.intern({Op::Neg, DType::Float32, 0, 0, 0}, std::vector{negative});
  const ExprId select = p.intern({Op::Select, DType::Float32, 0, 0, 0},
                                 std::vector{p.constant(1, DType::Bool), half, half});
  const ExprId widened = p.intern({Op::Cast, DType::Float64, 0, 0, 0}, std::vector{select});
  for (ExprId body : {sum, cast, narrow, negative, nested, select, widened})
    graph.outputs.push_back(add_compute(graph, "y", {}, {}, {body})[0]);
  const std::string text = print(graph);
  EXPECT_EQ(print(parse_graph(text)), text);
  EXPECT_NE(text.find("-(0.5)"), std::string::npos) << text;
}

TEST(Text, ReservedAndEqualNamesAreMadeDistinct) {
  Graph graph;
  const TensorId x = add_input(graph, "max", DType::Float32, {2});
  graph.tensors.push_back(graph.tensors[0]);  // twice the same name
  graph.inputs.push_back(TensorId{1});
  const ExprId i = graph.pool.axis(0);
  Domain domain;
  domain.extents = {2};
  domain.output_rank = 1;
  graph.outputs =
      add_compute(graph, "i", domain, {},
                  {graph.pool.make(Op::Max, {read(graph, x, std::span(&i, 1)),
                                             read(graph, TensorId{1}, std::span(&i, 1))})});
  expect_round_trip(graph);
  EXPECT_NE(print(graph).find("max(max_(i_), max__(i_))"), std::string::npos) << print(graph);
}

// Ten thousand nodes that share each other: linear text, no deep recursion, and back.
TEST(Text, LargeSharedBodiesPrintLinearly) {
  const auto length = [](int nodes) {
    Graph graph;
    const TensorId x = add_input(graph, "x", DType::Float32, {3});
    const ExprId i = graph.pool.axis(0);
    ExprId chain = read(graph, x, std::span(&i, 1));
    for (int k = 0; k < nodes; ++k)
      chain = k % 3 == 0
                  ? graph.pool.mul(chain, chain)
                  : graph.pool.make(
                        Op::Sin, {graph.pool.sub(graph.pool.constant(1, DType::Float32), chain)});
    Domain domain;
    domain.extents = {3};
    domain.output_rank = 1;
    graph.outputs = add_compute(graph, "y", domain, {}, {chain});
    expect_round_trip(graph);
    return print(graph).size();
  };
  const size_t small = length(1000), large = length(10000);
  EXPECT_LT(large, 12 * small);
  EXPECT_LT(large, 10000u * 60);
}

TEST(Text, DeepNestingInHandWrittenTextParses) {
  std::string text = "def main(float x) -> (y) { y = ";
  for (int k = 0; k < 50'000; ++k) text += "-(";
  text += "x";
  text.append(50'000, ')');
  EXPECT_NO_THROW(parse_graph(text + " }"));
  EXPECT_THROW(parse_graph(text), Error);
}

TEST(Text, ConstantsWithManyElementsOrNan) {
  Graph graph;
  std::vector<double> values(200);
  for (size_t k = 0; k < values.size(); ++k) values[k] = 0.1 * static_cast<double>(k);
  const Array large = Array::of(DType::Float32, {20, 10}, values);
  const std::vector<double> odd{1, std::numeric_limits<double>::quiet_NaN()};
  graph.outputs = {
      add_constant(graph, "large", DType::Float32, {20, 10}, large.bytes),
      add_constant(graph, "odd", DType::Float16, {2}, Array::of(DType::Float16, {2}, odd).bytes)};
  expect_round_trip(graph);
}

TEST(Text, ManyTensorsKeepTheirNames) {
  Graph graph;
  TensorId last = add_input(graph, "x", DType::Float32, {});
  for (int k = 0; k < 200; ++k)
    last = add_compute(graph, "x", {}, {}, {graph.pool.neg(read(graph, last, {}))})[0];
  graph.outputs = {last};
  expect_round_trip(graph);
}

// Each older version gets the next number that no tensor has. So many that searching for it from
// the first one on would take minutes.
TEST(Text, VersionsOfOneNameAreNumbered) {
  constexpr size_t kUpdates = 100'000;
  std::string text = "def f(float(3) x) -> (t) {\n  t_3(i) = x(i)\n  t(i) = t_3(i)\n";
  for (size_t k = 0; k < kUpdates; ++k) text += "  t(i) = sin(t(i))\n";
  const Graph graph = parse_graph(text + "}");
  std::unordered_set<std::string> names;
  for (const TensorInfo& tensor : graph.tensors) names.insert(tensor.name);
  EXPECT_EQ(names.size(), graph.tensors.size());
  EXPECT_EQ(graph.info(graph.outputs[0]).name, "t");
  EXPECT_TRUE(names.contains("t_" + std::to_string(kUpdates)));
}

TEST(PrintStage, IsALineOfTheText) {
  const Graph graph = parse_graph("def f(float(3) x) -> (y) { y(i) = x(i) * 2 }");
  EXPECT_EQ(print_stage(graph, graph.stages[0]), "y(i) = x(i) * 2.0 where i in 0:3\n");
}

TEST(PrintExpr, UsesTheNamesGiven) {
  const Graph graph = parse_graph("def f(float(3) x) -> (y) { y(i) = x(i) * 2 }");
  const std::string names[] = {"row"};
  EXPECT_EQ(print_expr(graph, graph.stages[0].bodies[0], names), "x(row) * 2.0");
}

}  // namespace
}  // namespace adjit::graph
