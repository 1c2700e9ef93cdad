// tests/runtime/diff/rules/dependence_test.cpp -- which results depend differentiably on marked
// tensors.
#include "runtime/diff/rules/dependence.hpp"

#include <gtest/gtest.h>

#include <set>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// NameSet of the results that depend on the inputs of these names.
std::set<std::string> dependent(const char* source, const std::set<std::string>& on) {
  const Graph graph = parse_graph(source);
  std::vector<char> marked(graph.tensors.size(), 0);
  for (TensorId id : graph.inputs) marked[id.value] = on.contains(graph.info(id).name);
  const std::vector<char> found = differentiably_dependent(graph, marked);
  std::set<std::string> names;
  for (size_t t = 0; t < found.size(); ++t)
    if (found[t] && !on.contains(graph.tensors[t].name)) names.insert(graph.tensors[t].name);
  return names;
}

using NameSet = std::set<std::string>;

TEST(Dependence, FollowsFloatsAndStopsAtIntegersAndStops) {
  constexpr const char* kSource = R"(def f(float(4) x, float(4) z, int64(4) n) -> (d, e, g) {
    a(i) = x(i) * 2
    b(i) = int64(x(i))
    c(i) =[stop_gradient] a(i) + 1
    d(i) = a(i) + float(b(i)) + c(i)
    e(i) = c(i) + float(b(i)) + z(n(i))
    g(i) = z(b(i))
  })";
  EXPECT_EQ(dependent(kSource, {"x"}), (NameSet{"a", "d"}));
  EXPECT_EQ(dependent(kSource, {"z"}), (NameSet{"e", "g"}));
  EXPECT_EQ(dependent(kSource, {"n"}), (NameSet{"e"}));
  EXPECT_EQ(dependent(kSource, {}), NameSet{});
}

TEST(Dependence, IndicesPredicatesAndStartsCount) {
  constexpr const char* kSource = R"(def f(float(4) x, float(4) h0, float(4) v) -> (s, t) {
    scatter float(4) s(3 - i) += x(i) from h0 where i in 0:4
    t(i) = select(v(i) > 0, x(i), 0)
  })";
  EXPECT_EQ(dependent(kSource, {"h0"}), (NameSet{"s"}));
  EXPECT_EQ(dependent(kSource, {"v"}), (NameSet{"t"}));
}

TEST(Dependence, AScanIsOneStage) {
  constexpr const char* kSource = R"(def f(float c0, float(5) x, int64 n0) -> (c, n, ys) {
    scan (c, n, ys) = step[5](carry float s = c0, carry int64 k = n0, over float v = x) -> (t, m, y) {
      t() = s() * 2
      m() = k() + 1
      y() = v()
    }
  })";
  EXPECT_EQ(dependent(kSource, {"x"}), (NameSet{"c", "ys"})) << "coarse, but never the integer";
}

TEST(Dependence, CarriesDependOverSteps) {
  constexpr const char* kSource =
      R"(def f(float u0, float v0, float w0, int64 n0, float(5) x) -> (u, v, w, n) {
    scan (u, v, w, n) = step[5](carry float a = u0, carry float b = v0, carry float c = w0, carry int64 k = n0, over float y = x) -> (p, q, r, m) {
      p() = b()
      q() = c() * 2
      r() = c() + 1
      m() = k() + int64(b())
    }
  })";
  const Graph graph = parse_graph(kSource);
  const Scan& scan = *graph.stages[0].scan;
  using Flags = std::vector<char>;
  EXPECT_EQ(dependent_inputs(scan, {0, 0, 1, 0, 0}), (Flags{1, 1, 1, 0, 0})) << "by two steps";
  EXPECT_EQ(dependent_inputs(scan, {0, 1, 0, 0, 0}), (Flags{1, 1, 0, 0, 0}));
  EXPECT_EQ(dependent_inputs(scan, {1, 0, 0, 0, 1}), (Flags{1, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace adjit::testing
