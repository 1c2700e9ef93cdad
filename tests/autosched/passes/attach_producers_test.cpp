// tests/autosched/passes/attach_producers_test.cpp -- which producers are offered, in which order.
#include "autosched/passes/attach_producers.hpp"

#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// d reads b, c and x; c reads a and b; b reads a.
std::string offered(const std::string& refused) {
  const Program p = initial_program(
      parse_graph("def f(float(8) x) -> (d) {\n a(i) = exp(x(i))\n b(i) = exp(a(i))\n"
                  " c(i) = a(i) * b(i)\n d(i) = b(i) + c(i) * x(i)\n}"),
      CpuMachine{2, 128});
  std::string names;
  attach_producers(p, defining_stages(p.graph), stage_of(p, "d"), [&](size_t stage) {
    const std::string& name = stage_name(p.graph, p.graph.stages[stage]);
    names += name;
    return refused.find(name) == std::string::npos;
  });
  return names;
}

TEST(AttachProducers, NearestOnesComeFirstAndEachOnce) { EXPECT_EQ(offered(""), "cba"); }

TEST(AttachProducers, WhatIsNotTakenLeadsNoFurther) {
  EXPECT_EQ(offered("c"), "cba") << "b leads to a";
  EXPECT_EQ(offered("b"), "cba") << "c does, too";
  EXPECT_EQ(offered("bc"), "cb");
}

}  // namespace
}  // namespace adjit::sched
