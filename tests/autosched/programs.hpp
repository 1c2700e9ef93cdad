// tests/autosched/programs.hpp -- small graphs by text notation and the checks that every move's
// test makes.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/machine/target.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/program.hpp"
#include "runtime/graph/graph.hpp"
#include "tests/autosched/program_interpreter.hpp"

namespace adjit::sched {

/// Whether a move of that name made a program.
inline bool has_move(const Program& p, const std::string& name) {
  return p.moves_json.find("\"" + name + "\"") != std::string::npos;
}

/// Reads an axis, adds, ... : enough to write test graphs down briefly.
struct Builder {
  Graph graph;
  ExprId axis(size_t k) { return graph.pool.axis(k); }
  ExprId integer(int64_t v) { return graph.pool.constant_int(v); }
  ExprId at(TensorId t, std::initializer_list<ExprId> index, ExprId predicate = {}) {
    return read(graph, t, std::span(index.begin(), index.size()), predicate);
  }
  TensorId input(std::string_view name, std::vector<int64_t> shape) {
    return add_input(graph, name, DType::Float32, std::move(shape));
  }
  TensorId stage(std::string_view name, std::vector<int64_t> extents, size_t output_rank,
                 CombinerKind kind, ExprId body) {
    Domain domain;
    domain.extents = std::move(extents);
    domain.output_rank = output_rank;
    Combiner combiner;
    combiner.kind = kind;
    return add_compute(graph, name, std::move(domain), std::move(combiner), {body}).front();
  }
  void output(TensorId t) { graph.outputs.push_back(t); }
};

inline Graph matmul_graph(int64_t m, int64_t n, int64_t k) {
  Builder b;
  const TensorId a = b.input("A", {m, k}), w = b.input("B", {k, n});
  b.output(
      b.stage("C", {m, n, k}, 2, CombinerKind::Sum,
              b.graph.pool.mul(b.at(a, {b.axis(0), b.axis(2)}), b.at(w, {b.axis(2), b.axis(1)}))));
  return b.graph;
}

/// C(48, 64) += A(48, 100) B(100, 64) in register tiles of 12 rows and two vectors of 16.
inline Program tiled_product() {
  Program p = initial_program(matmul_graph(48, 64, 100), CpuMachine{1, 512});
  p = vectorize(std::move(p), 0, 1, 16);
  p = unroll(std::move(p), 0, 0, 12);
  return unroll(std::move(p), 0, 1, 2);
}

inline Graph product_graph(int64_t m, int64_t n, int64_t k, bool transpose_a, bool transpose_b) {
  Builder b;
  const auto input = [&](const char* name, int64_t rows, int64_t columns, bool transposed) {
    return transposed ? b.input(name, {columns, rows}) : b.input(name, {rows, columns});
  };
  const TensorId x = input("A", m, k, transpose_a), y = input("B", k, n, transpose_b);
  const auto at = [&](TensorId t, size_t i, size_t j, bool transposed) {
    return transposed ? b.at(t, {b.axis(j), b.axis(i)}) : b.at(t, {b.axis(i), b.axis(j)});
  };
  b.output(b.stage("C", {m, n, k}, 2, CombinerKind::Sum,
                   b.graph.pool.mul(at(x, 0, 2, transpose_a), at(y, 2, 1, transpose_b))));
  return b.graph;
}

inline Graph column_sum_graph(int64_t rows, int64_t columns) {
  Builder b;
  const TensorId x = b.input("x", {rows, columns});
  b.output(b.stage("s", {columns, rows}, 1, CombinerKind::Sum, b.at(x, {b.axis(1), b.axis(0)})));
  return b.graph;
}

inline Graph total_graph(int64_t rows, int64_t columns) {
  Builder b;
  const TensorId x = b.input("x", {rows, columns});
  b.output(b.stage("s", {rows, columns}, 0, CombinerKind::Sum, b.at(x, {b.axis(0), b.axis(1)})));
  return b.graph;
}

/// y[i, j] = e[i, j] / s[i], with m, e, s before it.
inline Graph softmax_graph(int64_t rows, int64_t columns) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {rows, columns});
  const auto ij = [&](TensorId t) { return b.at(t, {b.axis(0), b.axis(1)}); };
  const TensorId m = b.stage("m", {rows, columns}, 1, CombinerKind::Max, ij(x));
  const TensorId e = b.stage("e", {rows, columns}, 2, CombinerKind::None,
                             p.make(Op::Exp, {p.sub(ij(x), b.at(m, {b.axis(0)}))}));
  const TensorId s = b.stage("s", {rows, columns}, 1, CombinerKind::Sum, ij(e));
  b.output(
      b.stage("y", {rows, columns}, 2, CombinerKind::None, p.div(ij(e), b.at(s, {b.axis(0)}))));
  return b.graph;
}

/// y = conv2d(x [n, c, h, w], f [k, c, 3, 3]), padding 1: by predicates, or by rows of the domain.
inline Graph conv_graph(int64_t n, int64_t c, int64_t h, int64_t w, int64_t k, int64_t stride = 1,
                        bool rows = false) {
  Builder b;
  ExprPool& p = b.graph.pool;
  const TensorId x = b.input("x", {n, c, h, w}), f = b.input("f", {k, c, 3, 3});
  const int64_t oh = (h + 2 - 3) / stride + 1, ow = (w + 2 - 3) / stride + 1;
  const auto position = [&](size_t out, size_t tap) {
    return p.add(p.add(p.mul(b.axis(out), b.integer(stride)), b.axis(tap)), b.integer(-1));
  };
  const ExprId hi = position(2, 5), wi = position(3, 6);
  ExprId inside = p.make(Op::Le, {b.integer(0), hi});
  inside = p.logical_and(inside, p.make(Op::Lt, {hi, b.integer(h)}));
  inside = p.logical_and(inside, p.make(Op::Le, {b.integer(0), wi}));
  inside = p.logical_and(inside, p.make(Op::Lt, {wi, b.integer(w)}));
  const ExprId body = p.mul(b.at(x, {b.axis(0), b.axis(4), hi, wi}, rows ? ExprId{} : inside),
                            b.at(f, {b.axis(1), b.axis(4), b.axis(5), b.axis(6)}));
  b.output(b.stage("y", {n, k, oh, ow, c, 3, 3}, 4, CombinerKind::Sum, body));
  if (rows) {
    Stage& stage = b.graph.stages.front();
    for (const auto& [out, tap, extent] : {std::tuple{2, 5, h}, std::tuple{3, 6, w}}) {
      const Affine at = Affine::variable(static_cast<size_t>(out), stride, -1) +
                        Affine::variable(static_cast<size_t>(tap));
      stage.domain.inequalities.push_back(at);
      stage.domain.inequalities.push_back(Affine(extent - 1) - at);
    }
  }
  return b.graph;
}

inline std::vector<Array> some_inputs(const Graph& graph) {
  std::vector<Array> inputs;
  uint32_t state = 12345;
  for (TensorId id : graph.inputs) {
    const TensorInfo& info = graph.info(id);
    Array array = Array::zeros(info.dtype, info.shape);
    for (int64_t k = 0; k < array.element_count(); ++k) {
      state = state * 1664525 + 1013904223;
      const int64_t small = static_cast<int64_t>(state >> 20) % 17;
      array.set(k, is_float(info.dtype)
                       ? (static_cast<double>(small) - 8) / 4
                       : static_cast<double>(info.dtype == DType::Bool ? small % 2 : small % 3));
    }
    inputs.push_back(std::move(array));
  }
  return inputs;
}

inline void expect_close(const std::vector<Array>& expected, const std::vector<Array>& actual) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t k = 0; k < expected.size(); ++k) {
    ASSERT_EQ(expected[k].shape, actual[k].shape);
    for (int64_t i = 0; i < expected[k].element_count(); ++i) {
      const double a = expected[k].at(i), b = actual[k].at(i);
      if (std::isnan(a) && std::isnan(b)) continue;
      ASSERT_TRUE(a == b || std::abs(a - b) <= 1e-4 * (1 + std::abs(a)))
          << "output " << k << ", element " << i << ": " << a << " against " << b;
    }
  }
}

/// The program is legal, means what the graph means, and is what replaying its moves gives.
inline void expect_faithful(const Program& program, const Graph& graph) {
  ASSERT_NO_THROW(verify(program)) << print(program);
  const std::vector<Array> inputs = some_inputs(graph);
  SCOPED_TRACE(print(program));
  expect_close(interpret(graph, inputs), interpret(program, inputs));
  const Program again = replay(graph, program.moves_json, program.target);
  EXPECT_EQ(print(again), print(program));
  EXPECT_EQ(again.moves_json, program.moves_json);
}

inline size_t stage_of(const Program& program, std::string_view name) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (stage_name(program.graph, program.graph.stages[s]) == name) return s;
  ADD_FAILURE() << "no stage " << name;
  return 0;
}

template <typename F>
void expect_refused(F&& move, std::string_view reason) {
  try {
    move();
    ADD_FAILURE() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Schedule);
    EXPECT_NE(std::string(error.what()).find(reason), std::string::npos) << error.what();
  }
}

inline constexpr CpuMachine kOneCore{1, 512}, kTwoCores{2, 512};

/// A kernel per stage with plain loops, vectors of 512 bits.
inline Program plain(const Graph& graph, int cores = 2) {
  return initial_program(graph, CpuMachine{cores, 512});
}

/// The same for a GPU.
inline Program plain_on_gpu(const Graph& graph) { return initial_program(graph, GpuMachine()); }

/// The first stage that scatters.
inline size_t scatter_in(const Program& program) {
  for (size_t s = 0; s < program.graph.stages.size(); ++s)
    if (program.graph.stages[s].kind == StageKind::Scatter) return s;
  return SIZE_MAX;
}

/// x, x * x, x * x * x, ...: `length` products of `points` elements.
inline Graph chain(int length, int64_t points) {
  Builder b;
  const TensorId x = b.input("x", {points});
  TensorId t = x;
  for (int k = 0; k < length; ++k)
    t = b.stage("t", {points}, 1, CombinerKind::None,
                b.graph.pool.mul(b.at(t, {b.axis(0)}), b.at(x, {b.axis(0)})));
  b.output(t);
  return b.graph;
}

}  // namespace adjit::sched
