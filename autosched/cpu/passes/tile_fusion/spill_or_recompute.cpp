// autosched/cpu/passes/tile_fusion/spill_or_recompute.cpp -- large results of one level that
// another one reads.
#include "autosched/cpu/passes/tile_fusion/spill_or_recompute.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "autosched/moves/moves.hpp"

namespace adjit::sched {
namespace {

// Decides, for one level, which large results of levels before are kept as a whole and which
// stages are computed again for it: what takes less time, as long as not too much is kept.
class Keeping {
 public:
  Keeping(const RowReads& reads, const RowStages& common, const RowLevels& levels, int level,
          RowPassing& passing)
      : reads_(reads),
        costs_(reads),
        common_(common),
        levels_(levels),
        level_(level),
        passing_(passing) {}

  // What is made first is there, or computed, for what comes from it.
  void provide_for(const std::vector<size_t>& readers) {
    std::set<std::pair<size_t, TensorId>> needed;
    for (size_t reader : readers)
      for (TensorId id : passed_to(reader)) needed.emplace(reads_.producer(id), id);
    for (const auto& [s, id] : needed) provide(id);
  }

  // Whether the stage reads what is computed again.
  bool computes_for(size_t reader) const {
    return std::ranges::any_of(passed_to(reader),
                               [&](TensorId id) { return again.contains(reads_.producer(id)); });
  }

  std::set<size_t> again;  // stages

 private:
  std::vector<TensorId> passed_to(size_t reader) const {
    std::vector<TensorId> passed;
    for (TensorId id : reads_.read_by(reader))
      if (common_.passed.contains(id) && levels_.of[reads_.producer(id)] < level_)
        passed.push_back(id);
    return passed;
  }

  void provide(TensorId id) {
    const size_t s = reads_.producer(id);
    if (again.contains(s) || passing_.kept.contains(id)) return;
    const double cost = costs_.cost_of_keeping(common_, id, passing_.kept);
    passing_.too_much |= cost >= RowCosts::kNever;
    std::map<size_t, double> known;
    if (cost <= cost_again(s, known)) {
      passing_.kept.insert(id);
    } else {
      again.insert(s);
      provide_for({s});
    }
  }

  // Cycles of a core, with those for what the stage needs of levels before that is not there; by
  // stage, those that are known.
  double cost_again(size_t s, std::map<size_t, double>& known) const {
    if (again.contains(s)) return 0;
    if (const auto before = known.find(s); before != known.end()) return before->second;
    double cost = costs_.cycles_again(s);
    for (TensorId id : passed_to(s))
      if (!passing_.kept.contains(id))
        cost += std::min(costs_.cost_of_keeping(common_, id, passing_.kept),
                         cost_again(reads_.producer(id), known));
    return known[s] = std::min(cost, RowCosts::kNever / 2);
  }

  const RowReads& reads_;
  RowCosts costs_;
  const RowStages& common_;
  const RowLevels& levels_;
  int level_;
  RowPassing& passing_;
};

}  // namespace

std::optional<RowPassing> passing_of(const RowReads& reads, const RowStages& common,
                                     const RowLevels& levels, const std::set<TensorId>& kept) {
  RowPassing passing;
  passing.kept = kept;
  for (int level = levels.last; level > 0; --level) {
    Keeping keeping(reads, common, levels, level, passing);
    std::vector<size_t> readers;
    for (const auto& [s, axes] : common.stages)
      if (levels.of[s] == level) readers.push_back(s);
    keeping.provide_for(readers);
    size_t first = SIZE_MAX;  // of those that read what is computed again
    for (size_t s : readers)
      if (keeping.computes_for(s)) first = std::min(first, s);
    if (first == SIZE_MAX) continue;
    RowsAgain made{{}, reads.stage(first).results.front()};
    for (auto s = keeping.again.rbegin(); s != keeping.again.rend(); ++s) {
      bool read_before = false;  // else it need not be there twice
      for (TensorId id : reads.stage(*s).results)
        for (size_t reader : reads.program().readers[id.value]) {
          if (reader >= first && levels.of[reader] < level) return std::nullopt;
          read_before |= reader < first;
        }
      if (!read_before) return std::nullopt;
      made.stages.push_back(reads.stage(*s).results.front());
    }
    passing.again.push_back(std::move(made));
  }
  return passing;
}

Program compute_rows_again(Program program, const std::vector<RowsAgain>& again) {
  for (const RowsAgain& level : again) {
    const size_t first = defining_stages(program.graph)[level.reader.value];
    for (TensorId name : level.stages) {
      const size_t s = defining_stages(program.graph)[name.value];
      size_t reader = SIZE_MAX;
      for (TensorId id : program.graph.stages[s].results)
        for (size_t one : program.readers[id.value])
          if (one >= first) reader = std::min(reader, one);
      invariant(reader != SIZE_MAX, "a stage is computed again for one that reads it");
      program = rematerialize(std::move(program), s, reader);
    }
  }
  return program;
}

}  // namespace adjit::sched
