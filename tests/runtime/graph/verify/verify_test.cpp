#include "runtime/graph/verify/verify.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "runtime/graph/parse/text_module.hpp"

namespace adjit::graph {
namespace {

// The error of verifying a text, or "".
std::string error_of(const std::string& text, ErrorCode* code = nullptr) {
  const Graph graph = parse_graph(text);
  try {
    verify(graph);
  } catch (const Error& error) {
    if (code != nullptr) *code = error.code();
    return error.what();
  }
  return "";
}

std::string body_error(const std::string& inputs, const std::string& statements) {
  ErrorCode code = ErrorCode::Bounds;
  const std::string error = error_of("def main(" + inputs + ") -> () {" + statements + "}", &code);
  EXPECT_EQ(code, ErrorCode::Bounds) << error;
  return error;
}

TEST(VerifyBounds, PlainReads) {
  EXPECT_EQ(body_error("float(4, 6) A", "y(i, j) = A(i, j) where i in 0:4, j in 0:6"), "");
  EXPECT_EQ(body_error("float(4, 6) A", "y(i) +=! A(i, 2 * r + 1) where i in 0:4, r in 0:3"), "");
}

TEST(VerifyBounds, NamesTheReadThePointAndTheRemedy) {
  const std::string error = body_error("float(4) A", "y(i) = A(i + 1) where i in 0:4");
  for (const char* part : {"stage 'y'", "<text>:1", "A(i + 1)", "i = 3", "index 4", "extent 4",
                           "runs from 1 to 4", "guard it"})
    EXPECT_NE(error.find(part), std::string::npos) << part << " in " << error;
}

TEST(VerifyBounds, GuardsOfPaddedConvolutions) {
  const std::string inputs = "float(1, 3, 8, 9) x, float(5, 3, 3, 3) w";
  const std::string ranges =
      " where n in 0:1, m in 0:5, h in 0:8, v in 0:9, c in 0:3, a in 0:3, b in 0:3";
  EXPECT_EQ(body_error(inputs,
                       "y(n, m, h, v) +=! select(0 <= h + a - 1 && h + a - 1 < 8 && "
                       "0 <= v + b - 1 && v + b - 1 < 9, x(n, c, h + a - 1, v + b - 1), 0) "
                       "* w(m, c, a, b)" +
                           ranges),
            "");
  EXPECT_EQ(body_error(inputs,
                       "y(n, m, h, v) +=! x(n, c, h + a - 1, v + b - 1 where "
                       "0 <= h + a - 1 && h + a - 1 < 8 && 0 <= v + b - 1 && v + b - 1 < 9) "
                       "* w(m, c, a, b)" +
                           ranges),
            "");
  // A guard on the wrong side protects nothing.
  EXPECT_NE(body_error(inputs,
                       "y(n, m, h, v) +=! x(n, c, h + a - 1, v + b - 1 where "
                       "0 <= h + a && h + a - 1 < 8 && 0 <= v + b - 1 && v + b - 1 < 9) "
                       "* w(m, c, a, b)" +
                           ranges),
            "");
}

TEST(VerifyBounds, StridedAndDilatedGuards) {
  EXPECT_EQ(body_error("float(11) x",
                       "y(i) max=! select(0 <= 2*i + 3*r - 4 && 2*i + 3*r - 4 < 11, "
                       "x(2*i + 3*r - 4), -inf) where i in 0:6, r in 0:4"),
            "");
  EXPECT_EQ(body_error("float(11) x",
                       "y(i) max=! x(2*i + 3*r - 4) where i in 0:6, r in 0:4, "
                       "2*i + 3*r >= 4, 2*i + 3*r <= 14"),
            "");
}

TEST(VerifyBounds, NestedSelectsAndTheirElseBranches) {
  // Reflect padding by two on both sides.
  EXPECT_EQ(body_error("float(6) x",
                       "y(i) = select(i < 2, x(2 - i), select(i >= 8, x(12 - i), "
                       "x(i - 2))) where i in 0:10"),
            "");
  EXPECT_EQ(body_error("float(6) x", "y(i) = select(i < 2 || i > 7, 0, x(i - 2)) where i in 0:10"),
            "");
  EXPECT_EQ(
      body_error("float(6) x", "y(i) = select(!(i >= 2 && i <= 7), 0, x(i - 2)) where i in 0:10"),
      "");
  EXPECT_NE(body_error("float(6) x", "y(i) = select(i < 2, 0, x(i - 2)) where i in 0:10"), "");
}

TEST(VerifyBounds, AReadSharedByTwoBranchesNeedsBoth) {
  EXPECT_EQ(body_error("float(4) x",
                       "y(i) = select(i < 2, x(i), 0) + select(i < 3, x(i), 1) "
                       "where i in 0:9"),
            "");
  EXPECT_NE(body_error("float(4) x",
                       "y(i) = select(i < 2, x(i), 0) + select(i > 3, x(i), 1) "
                       "where i in 0:9"),
            "");
  EXPECT_NE(body_error("float(4) x", "y(i) = select(i < 2, x(i), 0) + x(i) where i in 0:9"), "");
}

TEST(VerifyBounds, DivisionsAndModuli) {
  EXPECT_EQ(body_error("float(3, 4) x", "y(i) = x(i // 4, i % 4) where i in 0:12"), "");
  EXPECT_NE(body_error("float(3, 4) x", "y(i) = x(i // 4, i % 4) where i in 0:13"), "");
  EXPECT_EQ(body_error("float(5) x", "y(i) = x((3 * i - 7) % 5) where i in 0:100"), "");
  EXPECT_EQ(body_error("float(6) x", "y(i) = x((i // 2) * 2 + 1) where i in 0:6"), "");
  EXPECT_EQ(body_error("float(24) x",  // transposed blocks
                       "y(i) = x((i % 6) * 4 + (i // 6)) where i in 0:24"),
            "");
}

TEST(VerifyBounds, RestrictedDomains) {
  // A fibre of a strided convolution: r = (j + 1 - 2 q) with q free.
  EXPECT_EQ(body_error("float(5) dy, float(3) w",
                       "dx(j) +=! dy(q) * w(j + 1 - 2*q) where j in 0:10, q in 0:5, "
                       "j + 1 >= 2*q, j + 1 - 2*q <= 2"),
            "");
  // A congruence: the quotient of an exact division.
  EXPECT_EQ(body_error("float(5) dy",
                       "dx(j) +=! dy(p) where j in 0:9, r in 0:1, p = j // 2, "
                       "j == 2*p"),
            "");
  EXPECT_EQ(body_error("float(10) x", "y(i) +=! x(i - r) where i in 0:10, r in 0:10, r <= i"), "");
  EXPECT_NE(body_error("float(10) x", "y(i) +=! x(i - r) where i in 0:10, r in 0:10, r <= i + 1"),
            "");
}

TEST(VerifyBounds, ClippedIndices) {
  EXPECT_EQ(body_error("float(6) x", "y(i) = x(min(max(i - 2, 0), 5)) where i in 0:10"), "");
  EXPECT_EQ(body_error("float(6) x", "y(i) = x(abs(i - 5)) where i in 0:11"), "");
  EXPECT_EQ(body_error("float(6) x", "y(i) = x(select(i < 3, i, i - 3)) where i in 0:9"), "");
  EXPECT_NE(body_error("float(6) x", "y(i) = x(min(i, 6)) where i in 0:10"), "");
}

TEST(VerifyBounds, DataDependentIndicesAreLeftToRunTime) {
  EXPECT_EQ(body_error("float(6) x, int64(4) I", "y(i) = x(I(i)) where i in 0:4"), "");
  EXPECT_EQ(body_error("float(6) x, int64(4) I", "y(i) = x(I(i) + i) where i in 0:4"), "");
  // But the index tensor itself is not data-dependent.
  EXPECT_NE(body_error("float(6) x, int64(4) I", "y(i) = x(I(i)) where i in 0:5"), "");
}

TEST(VerifyBounds, DataDependentConditionsDoNotExcludePoints) {
  EXPECT_NE(body_error("float(6) x", "y(i) = select(x(i) > 0, x(i + 1), 0) where i in 0:6"), "");
  EXPECT_EQ(
      body_error("float(6) x", "y(i) = select(i < 5 && x(i) > 0, x(i + 1), 0) where i in 0:6"), "");
}

TEST(VerifyBounds, ProductsOfAxesByEnumeration) {
  EXPECT_EQ(body_error("float(10) x", "y(i, j) = x(i * j) where i in 0:4, j in 0:4"), "");
  EXPECT_EQ(body_error("float(7) x", "y(i, j) = x(i * j where i + j < 6) where i in 0:4, j in 0:4"),
            "");
  EXPECT_NE(body_error("float(9) x", "y(i, j) = x(i * j) where i in 0:4, j in 0:4"), "");
}

// Only the axes on which the index depends are enumerated, however large the others are.
TEST(VerifyBounds, AxesThatAnIndexDoesNotMentionCostNothing) {
  EXPECT_EQ(body_error("float(10) x, float(3000, 3000) z",
                       "y(i, a, j, b) = x(i * j) * z(a, b) "
                       "where i in 0:4, a in 0:3000, j in 0:4, b in 0:3000"),
            "");
  EXPECT_NE(body_error("float(9) x, float(3000, 3000) z",
                       "y(i, a, j, b) = x(i * j) * z(a, b) "
                       "where i in 0:4, a in 0:3000, j in 0:4, b in 0:3000"),
            "");
  EXPECT_EQ(body_error("float(4) x, float(3000) z",
                       "y(i, a) = x(int64(floor(float(i) / 9.0 * 3.0))) * z(a) "
                       "where i in 0:10, a in 0:3000"),
            "");
  // A row ties i, which the index mentions, to a, which it does not.
  EXPECT_EQ(body_error("float(5) x, float(9) z",
                       "y(i) +=! x(i * i) * z(a) where i in 0:9, a in 0:9, a <= 2, i <= a"),
            "");
}

// What rows say of axes that nothing connects with an index is no reason to enumerate these.
TEST(VerifyBounds, RowsOfOtherAxesCostNothing) {
  const auto with_rows = [](const std::string& extent, const std::string& rows) {
    return body_error("float(" + extent + ") x, float(3000) z, float(3000) w",
                      "y(i, j) +=! x(i * j) * z(r_a) * w(r_b) where i in 0:4, j in 0:4, r_a in "
                      "0:3000, r_b in 0:3000, " +
                          rows);
  };
  EXPECT_EQ(with_rows("10", "r_a >= r_b"), "");
  EXPECT_EQ(with_rows("10", "q = r_a // 7, q == r_b"), "");
  EXPECT_NE(with_rows("9", "r_a >= r_b"), "");
  EXPECT_EQ(with_rows("7", "i + j <= 5, r_a >= r_b"), "") << "3 * 2 is the largest";
  EXPECT_NE(with_rows("6", "i + j <= 5, r_a >= r_b"), "");
  const std::string undecided = with_rows("9", "r_a >= 5, r_a <= 2000, r_b >= r_a, r_b <= 2500");
  EXPECT_NE(undecided.find("could not be proved"), std::string::npos)
      << "no corner of the box is inside the rows: " << undecided;
}

TEST(VerifyBounds, UndecidedReadsAreRefusedWithTheRemedy) {
  const std::string error =
      body_error("float(1000000) x",
                 "y(i, j) = x((i * i + j * j) % 1000003 * 0 + (i ^ j) % 1000001) "
                 "where i in 0:4000, j in 0:4000");
  EXPECT_NE(error.find("could not be proved"), std::string::npos) << error;
  EXPECT_NE(error.find("guard it"), std::string::npos) << error;
}

// Too many points to try: the proof itself has to hold.
TEST(VerifyBounds, LargeDomainsAreProven) {
  EXPECT_EQ(
      body_error("float(8, 64, 224, 224) x, float(64, 64, 3, 3) w",
                 "y(n, m, h, v) +=! select(0 <= h + a - 1 && h + a - 1 < 224 && 0 <= v + b - 1 "
                 "&& v + b - 1 < 224, x(n, c, h + a - 1, v + b - 1), 0) * w(m, c, a, b) where n "
                 "in 0:8, m in 0:64, h in 0:224, v in 0:224, c in 0:64, a in 0:3, b in 0:3"),
      "");
  EXPECT_EQ(
      body_error("float(24000000) x", "y(i) = x((i % 6) * 4000000 + i // 6) where i in 0:24000000"),
      "");
  EXPECT_EQ(body_error("float(1000, 3000) x",
                       "y(i, j) = x((3 * i + j) // 3 % 1000, (7 * j - 5 * i) % 3000) where i in "
                       "0:90000, j in 0:90000"),
            "");
  EXPECT_EQ(body_error("float(500000) dy, float(3) w",
                       "dx(j) +=! dy(q) * w(j + 1 - 2*q) where j in 0:1000000, q in 0:500000, "
                       "j + 1 >= 2*q, j + 1 - 2*q <= 2"),
            "");
  EXPECT_EQ(body_error("float(100000) dy",  // pool k2 s3: the quotient of a congruence
                       "dx(j) +=! dy(p) where j in 0:300000, r in 0:2, p = (j - r) // 3, "
                       "j - r == 3*p, j >= r"),
            "");
  EXPECT_EQ(
      body_error("float(100000) x",  // reflect
                 "y(i) = select(i < 2, x(2 - i), select(i >= 100002, x(200000 - i), x(i - 2))) "
                 "where i in 0:100004"),
      "");
  EXPECT_EQ(
      body_error("float(400, 300) x",  // flattened index under per-coordinate guards
                 "y(i, j, a, b) = select(0 <= i + a - 1 && i + a - 1 < 400 && 0 <= j + b - 1 && "
                 "j + b - 1 < 300, x(((i + a - 1) * 300 + j + b - 1) // 300, ((i + a - 1) * 300 "
                 "+ j + b - 1) % 300), 0) where i in 0:400, j in 0:300, a in 0:3, b in 0:3"),
      "");
}

// Of one read, more ways than are told apart: each leads to places inside, or one does not.
TEST(VerifyBounds, ReadsWithManyWays) {
  const auto chosen = [](int last) {
    std::string body = "let t = sin(x(i)); 0.0";
    for (int n = 0; n < 12; ++n)
      body += " + select(i == " + std::to_string(n < 11 ? n % 8 : last) + ", t * " +
              std::to_string(n + 2) + ".0, 0.0)";
    return "y(i) = " + body + " where i in 0:20";
  };
  EXPECT_EQ(body_error("float(8) x", chosen(3)), "");
  const std::string error = body_error("float(8) x", chosen(9));
  EXPECT_NE(error.find("at i = 9: index 9"), std::string::npos) << error;
}

TEST(VerifyBounds, EmptyDomainsReadNothing) {
  EXPECT_EQ(body_error("float(0) x", "y(i) = x(i + 7) where i in 0:0"), "");
  EXPECT_EQ(body_error("float(0) x", "y(i) +=! x(r) where i in 0:3, r in 0:0"), "");
  EXPECT_NE(body_error("float(0) x", "y(i) = x(i) where i in 0:1"), "");
}

TEST(VerifyBounds, ScatterTargets) {
  EXPECT_EQ(body_error("float(4) x", "scatter float(4) y(3 - i) = x(i) where i in 0:4"), "");
  EXPECT_NE(body_error("float(4) x", "scatter float(4) y(4 - i) = x(i) where i in 0:4"), "");
  EXPECT_EQ(body_error("float(4) x", "scatter float(4) y(4 - i) =[drop] x(i) where i in 0:4"), "");
  EXPECT_EQ(
      body_error("float(4) x, int64(4) I", "scatter float(4) y(I(i)) +=! x(i) where i in 0:4"), "");
}

// Structure: graphs that no text describes.
class VerifyStructure : public ::testing::Test {
 protected:
  VerifyStructure() {
    x = add_input(graph, "x", DType::Float32, {4});
    Domain domain;
    domain.extents = {4};
    domain.output_rank = 1;
    i = graph.pool.axis(0);
    y = add_compute(graph, "y", domain, {}, {read(graph, x, std::span(&i, 1))})[0];
    graph.outputs = {y};
  }
  ErrorCode code() {
    try {
      verify(graph);
    } catch (const Error& error) {
      return error.code();
    }
    return ErrorCode::Internal;
  }
  Stage& stage() { return graph.stages[0]; }

  Graph graph;
  TensorId x, y;
  ExprId i;
};

TEST_F(VerifyStructure, TheGraphItselfIsSound) { EXPECT_NO_THROW(verify(graph)); }

TEST_F(VerifyStructure, OrderAndSingleDefinition) {
  std::swap(graph.outputs[0], graph.inputs[0]);
  EXPECT_EQ(code(), ErrorCode::Invalid);
  std::swap(graph.outputs[0], graph.inputs[0]);
  graph.stages.push_back(stage());
  EXPECT_EQ(code(), ErrorCode::Invalid);
}

TEST_F(VerifyStructure, AnUndefinedOutput) {
  graph.outputs = {add_tensor(graph, "z", DType::Float32, {1})};
  EXPECT_EQ(code(), ErrorCode::Invalid);
  graph.outputs = {TensorId{99}};
  EXPECT_EQ(code(), ErrorCode::Invalid);
}

TEST_F(VerifyStructure, ShapesAndDTypesOfResults) {
  graph.tensors[y.value].shape = {5};
  EXPECT_EQ(code(), ErrorCode::Shape);
  graph.tensors[y.value].shape = {4};
  graph.tensors[y.value].dtype = DType::Float64;
  EXPECT_EQ(code(), ErrorCode::DType);
}

TEST_F(VerifyStructure, RankAndDTypeOfReads) {
  const ExprId two[] = {i, i};
  stage().bodies = {graph.pool.read(x, DType::Float32, two)};
  EXPECT_EQ(code(), ErrorCode::Shape);
  stage().bodies = {graph.pool.read(x, DType::Float64, std::span(&i, 1))};
  EXPECT_EQ(code(), ErrorCode::DType);
}

TEST_F(VerifyStructure, AxesThatDoNotExist) {
  stage().bodies = {graph.pool.cast(graph.pool.axis(3), DType::Float32)};
  EXPECT_EQ(code(), ErrorCode::Invalid);
  stage().bodies = {graph.pool.argument(0, DType::Float32)};
  EXPECT_EQ(code(), ErrorCode::Invalid);
}

TEST_F(VerifyStructure, OperationsWithAWrongDType) {
  const ExprId operands[] = {stage().bodies[0], stage().bodies[0]};
  stage().bodies = {graph.pool.intern({Op::Lt, DType::Float32, 0, 0, 0}, operands)};
  EXPECT_EQ(code(), ErrorCode::DType);
}

TEST_F(VerifyStructure, Combiners) {
  stage().domain.output_rank = 0;
  graph.tensors[y.value].shape = {};
  EXPECT_EQ(code(), ErrorCode::Invalid);  // nothing combines
  stage().combiner.kind = CombinerKind::Sum;
  EXPECT_NO_THROW(verify(graph));
  stage().combiner.kind = CombinerKind::Any;
  EXPECT_EQ(code(), ErrorCode::DType);
  stage().combiner.kind = CombinerKind::ArgMax;
  EXPECT_EQ(code(), ErrorCode::DType);
  stage().combiner.kind = CombinerKind::Custom;
  EXPECT_EQ(code(), ErrorCode::Invalid);
}

TEST_F(VerifyStructure, Domains) {
  stage().domain.inequalities = {Affine::variable(1)};
  EXPECT_EQ(code(), ErrorCode::Invalid);
  stage().domain.inequalities.clear();
  stage().domain.divisions = {{Affine::variable(0), 0}};
  EXPECT_EQ(code(), ErrorCode::Invalid);
  stage().domain.divisions = {{Affine::variable(1), 2}};
  EXPECT_EQ(code(), ErrorCode::Invalid);
}

TEST_F(VerifyStructure, ConstantsOfTheWrongSize) {
  const TensorId c = add_constant(graph, "c", DType::Int64, {1}, std::vector<std::byte>(8));
  EXPECT_NO_THROW(verify(graph));
  graph.constants[0].bytes.pop_back();
  EXPECT_EQ(code(), ErrorCode::Shape);
  (void)c;
}

TEST(VerifyScan, SignatureOfTheStep) {
  const std::string text =
      "def main(float(2) h0, float(5, 2) X) -> (h, ys) {\n"
      "  scan (h, ys) = step[5](carry float(2) h = h0, over float(2) x = X) -> (n, x) {\n"
      "    n(i) = h(i) + x(i) where i in 0:2\n  }\n}\n";
  Graph graph = parse_graph(text);
  EXPECT_NO_THROW(verify(graph));
  auto scan = std::make_shared<Scan>(*graph.stages[0].scan);
  scan->trips = 4;
  graph.stages[0].scan = scan;
  EXPECT_THROW(verify(graph), Error);
  scan->trips = 5;
  scan->fixed = 1;
  EXPECT_THROW(verify(graph), Error);
}

}  // namespace
}  // namespace adjit::graph
