// tests/autosched/search/cpu_programs_test.cpp -- programs for processors, made on several cores.
#include "autosched/search/cpu_programs.hpp"

#include "tests/autosched/programs.hpp"

namespace adjit::sched {
namespace {

// All single changes of the default schedule, as text.
std::vector<std::string> all_changes(const Graph& graph, int cores) {
  const CpuMachine machine{.cores = cores};
  CpuPrograms programs(graph, machine);
  const Priced start = programs.start();
  std::vector<Wanted> wanted;
  for (const Offer& offer : start.offers)
    for (size_t option = 1; option < offer.options.size(); ++option)
      wanted.push_back(changed(start, offer, option));
  programs.price_all(wanted);
  std::vector<std::string> all;
  for (const Wanted& one : wanted)
    if (const Priced* made = programs.price(one))
      all.push_back(one.changes + std::to_string(made->candidate.microseconds) +
                    programs.program(made->candidate).moves_json);
  return all;
}

TEST(CpuPrograms, AreTheSameHoweverManyAreMadeAtOnce) {
  const Graph graph = matmul_graph(96, 700, 40);
  const CpuMachine two{.cores = 2};
  const std::vector<std::string> found = all_changes(graph, 2);
  EXPECT_GT(found.size(), 3u);
  EXPECT_EQ(all_changes(graph, 2), found);
  CpuPrograms one_by_one(graph, two);
  const Priced start = one_by_one.start();
  size_t k = 0;
  for (const Offer& offer : start.offers)
    for (size_t option = 1; option < offer.options.size(); ++option) {
      const Wanted wanted = changed(start, offer, option);
      const Priced* const made = one_by_one.price(wanted);
      if (made == nullptr) continue;
      EXPECT_EQ(found.at(k++), wanted.changes + std::to_string(made->candidate.microseconds) +
                                   one_by_one.program(made->candidate).moves_json);
    }
  EXPECT_EQ(k, found.size());
}

}  // namespace
}  // namespace adjit::sched
