// autosched/search/gpu_programs.hpp -- programs for a GPU, priced by its cost model.
#pragma once

#include "autosched/machine/gpu_machine.hpp"
#include "autosched/search/priced_programs.hpp"

namespace adjit::sched {

class GpuPrograms final : public PricedPrograms {
 public:
  /// Both must outlive it.
  GpuPrograms(const Graph& graph, const GpuMachine& machine)
      : PricedPrograms(graph), machine_(machine) {}

 private:
  std::vector<Found> make(const std::vector<const Wanted*>& wanted) override;
  Program made_with(Choices& choices) override;
  Program made_with_fallbacks(Choices& choices) const override;
  Prices prices_of(const Program& program) const override;

  const GpuMachine& machine_;
};

}  // namespace adjit::sched
