// tests/autosched/graphs_for_passes.hpp -- graphs that together need every pass of the default
// schedule.
#pragma once

#include <string>
#include <vector>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/attention.hpp"
#include "tests/autosched/indexed_rows.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {

struct NamedGraph {
  std::string name;
  Graph graph;
  CpuMachine machine = {.cores = 2};
};

/// Of which golden files show every pass.
inline std::vector<NamedGraph> graphs_for_passes() {
  std::vector<NamedGraph> graphs;
  graphs.push_back({"softmax", softmax_graph(4096, 1024)});
  graphs.push_back({"product", parse_graph(R"(
def f(float(512, 512) a, float(512, 512) b, float(512) c) -> (y) {
  p(i, j) +=! a(i, r) * b(j, r)
  y(i, j) = max(p(i, j) + c(j), 0)
})")});
  graphs.push_back({"convolution", conv_graph(8, 64, 28, 28, 64, 1, true)});
  graphs.push_back({"normalisation",
                    parse_graph(R"(
def f(float(8192, 64) x) -> (y, z) {
  m(i) +=! x(i, r)
  d(i) +=! (x(i, r) - m(i)) * (x(i, r) - m(i))
  y(i, j) = (x(i, j) - m(i)) / sqrt(d(i))
  z(j) +=! y(r, j) * x(r, j)
})"),
                    {.cores = 2, .l1_bytes = 8 << 10, .l2_bytes = 64 << 10, .l3_bytes = 1 << 20}});
  graphs.push_back({"attention", attention(4, 512, 512, 32), {.cores = 2, .l2_bytes = 256 << 10}});
  graphs.push_back({"histogram", parse_graph(R"(
def f(int64(100000) v, float(100000) x) -> (y) {
  scatter float(16) y(v(i)) +=![drop] exp(x(i)) where i in 0:100000
})")});
  graphs.push_back({"recurrence", parse_graph(R"(
def f(float(64, 128) h0, float(20, 64, 128) x, float(128, 128) w) -> (h) {
  scan (h, hs) = step[20](carry float(64, 128) c = h0, over float(64, 128) v = x,
                          fixed float(128, 128) u = w) -> (n, n) {
    p(i, j) +=! c(i, r) * u(r, j)
    n(i, j) = tanh(p(i, j) + v(i, j))
  }
})")});
  graphs.push_back({"flow_gradient", flow_gradient(2, 16, 40)});
  return graphs;
}

/// With those above: of which every pass changes one, and every decision is about a stage of one.
inline std::vector<NamedGraph> graphs_for_decisions() {
  std::vector<NamedGraph> graphs = graphs_for_passes();
  const CpuMachine small{.cores = 2, .l2_bytes = 16 << 10};
  graphs.push_back({"reshape", parse_graph(R"(
def f(float(600, 40) x, float(40, 50) w) -> (y) {
  c(i, j) +=! x(i, r) * w(r, j)
  y(b, r, j) = c(300 * b + r, j) where b in 0:2, r in 0:300, j in 0:50
})")});
  graphs.push_back({"large", parse_graph("def f(float(8000000) x) -> (y) { y(i) = x(i) + 1.0 }")});
  graphs.push_back({"groups", parse_graph(R"(
def f(float(2, 24, 16, 16) x, float(36, 8, 3, 3) w) -> (y) {
  y(i, j, k, l) +=! x(i, r_c + j // 12 * 8, k + r_a, l + r_b) * w(j, r_c, r_a, r_b)
    where i in 0:2, j in 0:36, k in 0:14, l in 0:14, r_c in 0:8, r_a in 0:3, r_b in 0:3
})")});
  graphs.push_back({"layer", parse_graph(R"(
def f(float(300, 24) x, float(24, 200) w, float(200) b) -> (y) {
  p(i, j) +=! x(i, r) * w(r, j)
  y(i, j) = max(p(i, j) + b(j), 0.0)
})")});
  graphs.push_back({"total", total_graph(4096, 1024)});
  graphs.push_back({"siblings", parse_graph(R"(
def f(float(300, 300) x) -> (y, z) {
  y(i, j) = exp(x(i, j))
  z(i, j) = sin(x(i, j))
})")});
  graphs.push_back({"images", parse_graph(R"(
def f(float(4, 128, 28, 28) x, float(64, 128) w) -> (y) {
  y(b, i, k, l) +=! w(i, r) * x(b, r, k, l)
})")});
  graphs.push_back({"weights",
                    parse_graph(R"(
def f(float(8, 128, 28, 28) d, float(8, 64, 58, 58) x) -> (w) {
  w(o, c, p, q) +=! d(r_n, o, r_y, r_x) * x(r_n, c, 2 * r_y + p, 2 * r_x + q)
    where o in 0:128, c in 0:64, p in 0:3, q in 0:3, r_n in 0:8, r_y in 0:28, r_x in 0:28
})"),
                    {.cores = 2, .l2_bytes = 1 << 20}});
  graphs.push_back({"filters", parse_graph(R"(
def f(float(64, 8, 18) x, float(8, 64, 3, 3) w) -> (y) {
  y(i, j, k) +=! x(r_c, j + r_p, k + r_q) * w(i, r_c, r_p, r_q)
    where i in 0:8, j in 0:6, k in 0:16, r_c in 0:64, r_p in 0:3, r_q in 0:3
})"),
                    small});
  graphs.push_back({"pairs", parse_graph(R"(
def f(float(600, 2) g, float(600, 3) x, float(500, 3) y, float(500, 2) b) -> (dx, dy) {
  t(i, j) +=! (x(i, r_k) - y(j, r_k)) * (x(i, r_k) - y(j, r_k))
  d(i, j) +=! g(i, r_k) * b(j, r_k)
  w(i, j) = tanh(exp(-tanh(t(i, j)))) * d(i, j)
  dx(i, k) +=! w(i, r) * (x(i, k) - y(r, k)) where i in 0:600, k in 0:3, r in 0:500
  dy(j, k) +=! w(r, j) * (y(j, k) - x(r, k)) where j in 0:500, k in 0:3, r in 0:600
})"),
                    small});
  return graphs;
}

}  // namespace adjit::sched
