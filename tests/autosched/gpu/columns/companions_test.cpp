// tests/autosched/gpu/columns/companions_test.cpp -- stages that go through what a reduction goes
// through.
#include "autosched/gpu/columns/companions.hpp"

#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/norms.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

std::string indices_text(const std::optional<std::vector<Affine>>& indices) {
  if (!indices) return "none";
  const std::vector<std::string> names{"a", "b", "c", "d"};
  std::string text;
  for (const Affine& index : *indices) text += (text.empty() ? "" : ", ") + to_string(index, names);
  return text;
}

// Of y in z's reads of x, both over boxes.
std::string indices(const std::string& y, const std::string& z) {
  const Program p =
      plain(parse_graph("def f(float(8, 8) x, float(64) v) -> (y, z) {\n" + y + "\n" + z + "\n}"));
  return indices_text(indices_like(p.graph, p.graph.stages[0], p.graph.stages[1], 64));
}

TEST(Companions, IndicesFollowWhatBothRead) {
  EXPECT_EQ(indices("y(i, j) = x(i, j)", "z(j) +=! x(r, j)"), "b, a");
  EXPECT_EQ(indices("y(i, j) = x(j, i)", "z(j) +=! x(r, j)"), "a, b");
  EXPECT_EQ(indices("y(i, j) = x(i, j)", "z(p, j) +=! x(4 * p + r, j) where p in 0:2, r in 0:4"),
            "4*a + c, b");
  EXPECT_EQ(indices("y(i, j) = x(i + 1, j) where i in 0:7", "z(j) +=! x(r, j)"), "b - 1, a");
  EXPECT_EQ(indices("y(i, j) = x(i, i + j) where i in 0:4, j in 0:4", "z(j) +=! x(r, j)"), "none");
  EXPECT_EQ(indices("y(i, k) = x(i, 0) where k in 0:9", "z(j) +=! x(r, j)"), "none");
  EXPECT_EQ(indices("y(i, j) = v(8 * i + j) where i in 0:8, j in 0:8", "z(j) +=! x(r, j)"), "none");
  EXPECT_EQ(indices("y(i, j) = x(i // 2, j) where i in 0:16", "z(j) +=! x(r, j)"), "none");
}

TEST(Companions, AreRowsThatDoNotNeedTheSum) {
  Program p = plain(layer_norm(64, 32));
  EXPECT_EQ(companions_of(p, stage_of(p, "dw")), std::vector<size_t>{stage_of(p, "dx")});
  p =
      plain(parse_graph("def f(float(8, 8) x) -> (y, z) {\n s(j) +=! x(r, j)\n"
                        " y(i, j) = x(i, j) / s(j)\n z(i, j) = exp(x(i, j))\n}"));
  EXPECT_EQ(companions_of(p, 0), std::vector<size_t>{2});
  p =
      plain(parse_graph("def f(float(8, 8) x) -> (y, s) {\n y(i, j) = exp(x(j, i)) \n"
                        " s(j) +=! y(r, j)\n}"));
  EXPECT_EQ(companions_of(p, 1), std::vector<size_t>{0}) << "what it reads";
}

TEST(Companions, EpiloguesOfProductsAreNone) {
  const auto companions = [](const std::string& outputs) {
    const Program p = plain(
        parse_graph("def f(float(64, 64) a, float(64, 64) b, float(64, 64) y) -> (" + outputs +
                    ") {\n t(i, j) +=! a(i, r) * b(r, j)\n z(i, j) = y(i, j) * t(i, j)\n"
                    " s(j) +=! z(r, j)\n}"));
    EXPECT_EQ(is_epilogue(p, defining_stages(p.graph), 1), outputs == "z, s");
    return companions_of(p, 2);
  };
  EXPECT_EQ(companions("z, s"), std::vector<size_t>{});
  EXPECT_EQ(companions("z, s, t"), std::vector<size_t>{1}) << "the product is there anyway";
}

}  // namespace
}  // namespace adjit::sched
