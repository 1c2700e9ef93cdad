// tests/autosched/gpu/columns/column_results_test.cpp -- what is computed of sums over rows.
#include "autosched/gpu/columns/column_results.hpp"

#include "autosched/moves/moves.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/gpu/nest_text.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

const char* const kRounded =
    "def f(float(6, 300) x, float(300) w) -> (a, b) {\n s(j) +=! double(x(r, j))\n"
    " t(j) +=! double(x(r, j) * x(r, j))\n a(j) = float(s(j))\n b(j) = w(j) - float(t(j))\n}";

Program sums(const char* text) {
  return fuse_siblings(plain_on_gpu(parse_graph(text)), std::vector<size_t>{0, 1});
}

TEST(ColumnResults, AreOneStageAndOneKernel) {
  Program p = join_readers(sums(kRounded), 0);
  ASSERT_EQ(p.graph.stages.size(), 2u);
  p = attach_to_reader(std::move(p), 0);
  EXPECT_EQ(p.kernels.size(), 1u);
  EXPECT_EQ(loops_text(p, "a"), "serial:i:3 serial:i:128");
  expect_faithful(p, parse_graph(kRounded));
}

TEST(ColumnResults, StayWhereOthersReadTheSums) {
  const auto same = [](const char* text) {
    const Program p = sums(text);
    return print(join_readers(p, 0)) == print(p) && print(attach_to_reader(p, 0)) == print(p);
  };
  EXPECT_FALSE(same(kRounded));
  EXPECT_TRUE(
      same("def f(float(6, 300) x) -> (s, a, b) {\n s(j) +=! x(r, j)\n t(j) +=! -x(r, j)\n"
           " a(j) = s(j) * 2.0\n b(j) = t(j) * 2.0\n}"))
      << "the caller gets one";
  EXPECT_TRUE(
      same("def f(float(6, 300) x) -> (a, b) {\n s(j) +=! x(r, j)\n t(j) +=! -x(r, j)\n"
           " a(j) = s(j) * 2.0\n b(j) = t(j) * a(j)\n}"))
      << "one needs the other";
  EXPECT_TRUE(
      same("def f(float(6, 300) x) -> (a, b) {\n s(j) +=! x(r, j)\n t(j) +=! -x(r, j)\n"
           " a(j) = s(j) * 2.0\n b(i, j) = t(j) * x(i, j)\n}"))
      << "another domain";
}

}  // namespace
}  // namespace adjit::sched
