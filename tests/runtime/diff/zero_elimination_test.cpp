// tests/runtime/diff/zero_elimination_test.cpp -- zeros that a user wrote down are not computed:
// forward and adjoint as stored text, with as many points as there are non-zero terms, and the same
// values as the unsimplified graph and as finite differences. ADJIT_UPDATE_GOLDEN=1 rewrites the
// files.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/print/printer.hpp"
#include "runtime/graph/verify/verify.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/diff/forwards.hpp"
#include "tests/runtime/diff/gradient_check.hpp"

namespace adjit::testing {
namespace {

Ex equal(Ex a, Ex b) { return call(Op::Eq, a, b); }
Ex at_most(Ex a, Ex b) { return call(Op::Le, a, b); }
Ex any_of(Ex a, Ex b) { return call(Op::Or, a, b); }
Ex as_number(Ex condition) {
  return {condition.pool, condition.pool->cast(condition.id, DType::Float64)};
}
Ex or_zero(Ex condition, Ex value) { return select(condition, value, number(value, 0)); }

struct ZeroCase {
  const char* name;
  std::function<Graph(Forward&)> build;
  int64_t forward_points;  // of all stages of the simplified forward
  int64_t adjoint_points;  // of all stages of its adjoint
};

// y[j] = sum_k (k == j ? a[k] : 0)
Graph pick(Forward& f) {
  const TensorId a = f.input("a", {7});
  return f.returning({f.sum(
      "y", {7}, {7}, [&](const Axes& i) { return or_zero(equal(i[1], i[0]), f.at(a, {i[1]})); })});
}

// y[j, m] = sum_k (k == 2 j + 1) * b[k, m]
Graph one_hot(Forward& f) {
  const TensorId b = f.input("b", {9, 3});
  return f.returning({f.sum("y", {4, 3}, {9}, [&](const Axes& i) {
    return as_number(equal(i[2], i[0] * 2.0 + 1.0)) * f.at(b, {i[2], i[1]});
  })});
}

// The identity as a stage of its own, times a matrix.
Graph identity(Forward& f) {
  const TensorId b = f.input("b", {5, 3});
  return f.returning({f.sum("y", {5, 3}, {5}, [&](const Axes& i) {
    return as_number(equal(i[0], i[2])) * f.at(b, {i[2], i[1]}) * 2.0;
  })});
}

Graph triangle_by_select(Forward& f) {
  const TensorId x = f.input("x", {6, 6}), v = f.input("v", {6});
  return f.returning({f.sum("y", {6}, {6}, [&](const Axes& i) {
    return or_zero(at_most(i[1], i[0]), f.at(x, {i[0], i[1]})) * f.at(v, {i[1]});
  })});
}

Graph triangle_by_cast(Forward& f) {
  const TensorId x = f.input("x", {6, 6}), v = f.input("v", {6});
  return f.returning({f.sum("y", {6}, {6}, [&](const Axes& i) {
    return f.at(x, {i[0], i[1]}) * as_number(less(i[0], i[1])) * f.at(v, {i[1]});
  })});
}

// y[i] = sum_k (0 <= i + k - 1 < n ? x[i + k - 1] : 0) * w[k]
Graph padded_conv(Forward& f) {
  const TensorId x = f.input("x", {8}), w = f.input("w", {3});
  return f.returning({f.sum("y", {8}, {3}, [&](const Axes& i) {
    const Ex at = i[0] + i[1] - 1.0;
    const Ex inside = both(at_most(number(at, 0), at), less(at, number(at, 8)));
    return or_zero(inside, f.at(x, {at}, inside)) * f.at(w, {i[1]});
  })});
}

// y[i] = sum_{r, a} (a == 2 i + r ? x[a] : 0) * w[r]
Graph sparse_window(Forward& f) {
  const TensorId x = f.input("x", {9}), w = f.input("w", {3});
  return f.returning({f.sum("y", {4}, {3, 9}, [&](const Axes& i) {
    return or_zero(equal(i[2], i[0] * 2.0 + i[1]), f.at(x, {i[2]})) * f.at(w, {i[1]});
  })});
}

// y[i] = sum_k (k == i || k == i + 1) * x[k]^2
Graph two_diagonals(Forward& f) {
  const TensorId x = f.input("x", {9});
  return f.returning({f.sum("y", {9}, {9}, [&](const Axes& i) {
    const Ex v = f.at(x, {i[1]});
    return as_number(any_of(equal(i[1], i[0]), equal(i[1], i[0] + 1.0))) * (v * v);
  })});
}

// Overlapping alternatives: each term counts once.
Graph ends(Forward& f) {
  const TensorId x = f.input("x", {20});
  return f.returning({f.sum("y", {20}, {20}, [&](const Axes& i) {
    const Ex v = f.at(x, {i[1]}), last = number(i[1], 17);
    return or_zero(
        any_of(less(i[1], number(i[1], 2)), any_of(less(last, i[1]), less(i[1], number(i[1], 1)))),
        v * v * f.at(x, {i[0]}));
  })});
}

// sum_{j, k} (k % 3 == 0) * a[i] * b[j, k]: a leaves the sum.
Graph factor_out(Forward& f) {
  const TensorId a = f.input("a", {5}), b = f.input("b", {4, 9});
  return f.returning({f.sum("y", {5}, {4, 9}, [&](const Axes& i) {
    return or_zero(equal(mod(i[2], 3), number(i[2], 0)), f.at(a, {i[0]}) * f.at(b, {i[1], i[2]}));
  })});
}

// y[i, j] = sum_k (k == n[i] ? w[k, j] : 0)
Graph row_by_data(Forward& f) {
  const TensorId w = f.input("w", {5, 3}), n = f.input("n", {4}, DType::Int64);
  return f.returning({f.sum("y", {4, 3}, {5}, [&](const Axes& i) {
    return or_zero(equal(i[2], f.at(n, {i[0]})), f.at(w, {i[2], i[1]}));
  })});
}

// One-hot rows as a stage of their own, times a matrix.
Graph one_hot_by_data(Forward& f) {
  const TensorId w = f.input("w", {5, 3}), n = f.input("n", {4}, DType::Int64);
  const TensorId hot =
      f.map("hot", {4, 5}, [&](const Axes& i) { return as_number(equal(f.at(n, {i[0]}), i[1])); });
  return f.returning({f.sum("y", {4, 3}, {5}, [&](const Axes& i) {
    return f.at(hot, {i[0], i[2]}) * f.at(w, {i[2], i[1]});
  })});
}

// Two equal stages of which one would do, and one that nothing needs.
Graph equal_and_dead(Forward& f) {
  const TensorId x = f.input("x", {6});
  const Body body = [&](const Axes& i) { return call(Op::Exp, f.at(x, i)); };
  const TensorId one = f.map("one", {6}, body), two = f.map("two", {6}, body);
  f.map("dead", {6}, [&](const Axes& i) { return f.at(one, i) * 3.0; });
  return f.returning({f.map("y", {6}, [&](const Axes& i) { return f.at(one, i) * f.at(two, i); })});
}

const std::vector<ZeroCase>& cases() {
  static const std::vector<ZeroCase> list{
      {"pick", pick, 0, 0},
      {"one_hot", one_hot, 4 * 3, 4 * 3},
      {"identity", identity, 5 * 3, 5 * 3},
      {"triangle_by_select", triangle_by_select, 21, 21 + 21},
      {"triangle_by_cast", triangle_by_cast, 15, 15 + 15},
      {"padded_conv", padded_conv, 22, 22 + 22},
      {"sparse_window", sparse_window, 12, 12 + 12},
      {"two_diagonals", two_diagonals, 17 + 9, 9},
      {"ends", ends, 2 * (2 + 20) + 20, 20 + 2 * (2 + 2 + 20) + 20},
      {"row_by_data", row_by_data, 4 * 3, 4 * 3},
      {"one_hot_by_data", one_hot_by_data, 4 * 3, 4 * 3},
      {"factor_out", factor_out, 4 * 3 + 5, 4 * 3 + 5 + 4 * 3 * 5},
      {"equal_and_dead", equal_and_dead, 12, 18},
  };
  return list;
}

void expect_stored(const std::string& text, const std::string& name) {
  const std::string path = std::string(ADJIT_TEST_SOURCE_DIR) + "/golden/zeros/" + name + ".txt";
  const char* update = std::getenv("ADJIT_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") std::ofstream(path) << text;
  std::ifstream file(path);
  std::ostringstream stored;
  stored << file.rdbuf();
  EXPECT_EQ(text, stored.str()) << "run with ADJIT_UPDATE_GOLDEN=1 to accept";
}

class ZeroElimination : public ::testing::TestWithParam<ZeroCase> {};

TEST_P(ZeroElimination, LeavesTheNonZeroTerms) {
  Forward f;
  const Graph forward = GetParam().build(f), simple = simplify(forward);
  ReverseOptions options{float_inputs(forward), {0}};
  const Graph adjoint = vjp(forward, options);
  expect_stored(print(simple) + "\n" + print(adjoint), GetParam().name);
  EXPECT_EQ(points(simple), GetParam().forward_points) << print(simple);
  EXPECT_EQ(points(adjoint), GetParam().adjoint_points) << print(adjoint);
  verify(simple);
  const std::vector<Array> inputs = random_inputs(forward);
  const Array wanted = interpret(forward, inputs)[0], got = interpret(simple, inputs)[0];
  for (int64_t e = 0; e < wanted.element_count(); ++e)
    EXPECT_NEAR(got.at(e), wanted.at(e), 1e-13 * (1 + std::abs(wanted.at(e))));
  EXPECT_TRUE(check_gradients(forward, inputs, 2));
  EXPECT_TRUE(check_gradients(simple, inputs, 1));
  EXPECT_EQ(print(simplify(simple)), print(simple)) << "a fixed point";
}

INSTANTIATE_TEST_SUITE_P(Cases, ZeroElimination, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace adjit::testing
