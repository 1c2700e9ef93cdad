// autosched/search/cpu_programs.hpp -- programs for a processor, priced by its cost model.
#pragma once

#include "autosched/cpu/schedule.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"
#include "autosched/search/priced_programs.hpp"

namespace adjit::sched {

/// Several at once are made on up to kMostThreads of the machine's cores: these change no result.
class CpuPrograms final : public PricedPrograms {
 public:
  static constexpr int kMostThreads = 8;

  /// Both must outlive it.
  CpuPrograms(const Graph& graph, const CpuMachine& machine)
      : PricedPrograms(graph), machine_(machine) {}

 private:
  // A program before its loops, what is planned for them, and what has been offered until then.
  struct Known {
    Program program;
    StagePlans plans;
    std::vector<Offer> offers;
  };
  using Memory = std::shared_ptr<TileMemory>;

  std::vector<Found> make(const std::vector<const Wanted*>& wanted) override;
  Program made_with(Choices& choices) override;
  Program made_with_fallbacks(Choices& choices) const override;
  Prices prices_of(const Program& program) const override;

  size_t threads_for(size_t wanted);
  void prepare(const std::vector<const Wanted*>& wanted);
  Found priced(const Answers& answers, const std::string& changes, const Memory& memory) const;
  Known before_loops(Choices& choices) const;
  Program with_loops(const Known& known, Choices& choices) const;

  const CpuMachine& machine_;
  std::map<Answers, std::optional<Known>> prepared_;  // by answers that are not about loops
  std::vector<Memory> memories_{std::make_shared<TileMemory>()};  // a thread's each
};

}  // namespace adjit::sched
