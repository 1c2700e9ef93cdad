// autosched/rows_in_common.cpp -- which stages have their rows in common, and where they part.
#include "autosched/rows_in_common.hpp"

#include <algorithm>
#include <utility>

#include "autosched/moves.hpp"
#include "autosched/region.hpp"
#include "autosched/totals.hpp"
#include "autosched/work.hpp"

namespace adjit {
namespace {

constexpr int64_t kLeastRuns = 8;                      // of tasks in turn that occupy the cores
constexpr int64_t kLeastBlock = 64, kMostBlock = 256;  // of a block
constexpr double kWorthBlocks =
    0.04;  // of the contractions' time, that passing through memory takes
constexpr size_t kMostFailures = 32;  // before no more are looked for: bounds the time that takes
constexpr size_t kMostStages = 256;   // of a chain
constexpr double kOfPeak = 0.8;       // at which contractions run
constexpr double kNever = 1e30;

// The axis that an index is, also as the quotient of what was put together from it.
std::optional<size_t> axis_at(const ExprPool& pool, ExprId index, const Domain& domain) {
  if (pool.is(index, Op::Axis)) return pool.axis_number(index);
  if (!pool.is(index, Op::FloorDiv)) return std::nullopt;
  Domain own = domain;
  const std::optional<Affine> form = as_affine(pool, index, own);
  for (size_t a = 0; form && a < domain.rank(); ++a)
    if (*form == Affine::variable(a)) return a;
  return std::nullopt;
}

bool is_large_in(const Program& program, const Target& target, const std::vector<size_t>& producers,
                 TensorId id) {
  return program.scopes[id.value] == Scope::Workspace && producers[id.value] != SIZE_MAX &&
         tensor_bytes(program.graph, id) > target.l2_bytes;
}

}  // namespace

// When stages can run: those of a level need sums over rows, or what is no rows, of the level
// before.
struct RowGroupFinder::Levels {
  std::vector<int> of;  // every stage
  int last = 0;         // of those that have rows in common
};

// What is done about what passes from one level to another.
struct RowGroupFinder::Passing {
  std::vector<RowsAgain> again;
  std::set<TensorId> kept;  // with that of other groups
  bool too_much = false;    // to keep all of it
};

// The stages that have their rows in common with one tensor.
class RowGroupFinder::Closure {
 public:
  // `place`: dimensions of `from`.
  Closure(const RowGroupFinder& finder, TensorId from, const RowPlace& place)
      : finder_(finder), program_(finder.program_) {
    const std::vector<int64_t>& shape = program_.graph.info(from).shape;
    rows = shape[place.row];
    for (size_t b : place.batch) batches *= shape[b];
    if (add_passed(from, place)) add_stages_between();
  }

  bool empty() const { return stages.empty(); }

  std::map<size_t, RowPlace> stages;
  std::set<TensorId> passed;  // large results over the rows that only these stages read
  int64_t rows = 0, batches = 1;

 private:
  const Stage& stage(size_t s) const { return program_.graph.stages[s]; }

  // A large tensor over the rows, the stage that makes it and all that read it; nothing when one of
  // them has no such rows.
  bool add_passed(TensorId id, const RowPlace& dims) {
    if (passed.contains(id)) return true;
    if (refused_.contains(id)) return false;
    auto stages_before = stages;
    auto passed_before = passed;
    passed.insert(id);
    const bool all = add_stage(finder_.producers_[id.value], dims) &&
                     std::ranges::all_of(program_.readers[id.value], [&](size_t reader) {
                       const std::optional<RowPlace> axes = finder_.axes_reading(reader, id, dims);
                       return axes && add_stage(reader, *axes);
                     });
    if (all) return true;
    stages = std::move(stages_before);
    passed = std::move(passed_before);
    refused_.insert(id);
    return false;
  }

  // With all that large tensors over its rows bring along; what they do not bring along exists as
  // a whole.
  bool add_stage(size_t s, const RowPlace& axes) {
    const auto [at, fresh] = stages.emplace(s, axes);
    if (!fresh) return at->second == axes;
    if (stages.size() > kMostStages || !may_join(stage(s), axes)) return false;
    if (!finder_.reduces(s, axes))
      for (TensorId id : stage(s).results)
        if (finder_.is_large(id)) add_passed(id, axes);
    for (ExprId read : reads_of(program_.graph, stage(s))) {
      const TensorId id = program_.graph.pool.read_tensor(read);
      if (!finder_.is_large(id)) continue;
      if (const std::optional<RowPlace> dims = finder_.dims_read(stage(s).domain, read, axes))
        add_passed(id, *dims);
    }
    return true;
  }

  bool may_join(const Stage& one, const RowPlace& axes) const {
    const Domain& domain = one.domain;
    if (one.kind != StageKind::Compute || one.running ||
        finder_.taken_.contains(one.results[0].value) || domain.extents[axes.row] != rows)
      return false;
    int64_t count = 1;
    for (size_t b : axes.batch) {
      // What sums over the rows may sum over the batch, too.
      if ((b >= domain.output_rank && axes.row < domain.output_rank) || b == axes.row ||
          std::ranges::count(axes.batch, b) > 1)
        return false;
      count *= domain.extents[b];
    }
    return count == batches &&
           (axes.row < domain.output_rank || goes_on_in_memory(program_.graph, one, axes.row));
  }

  // Stages outside that read rows of one inside and are needed by another.
  void add_stages_between() {
    std::set<size_t> others;
    while (const std::optional<std::pair<size_t, TensorId>> between = stage_between(others)) {
      const auto [s, read] = *between;
      const size_t producer = finder_.producers_[read.value];
      const RowPlace& dims = stages.at(producer);
      const std::optional<RowPlace> axes =
          finder_.reduces(producer, dims) ? std::nullopt : finder_.axes_reading(s, read, dims);
      auto stages_before = stages;
      auto passed_before = passed;
      if (axes && add_stage(s, *axes)) continue;
      stages = std::move(stages_before);
      passed = std::move(passed_before);
      others.insert(s);
    }
  }

  std::optional<std::pair<size_t, TensorId>> stage_between(const std::set<size_t>& others) const {
    std::vector<bool> needed(program_.graph.stages.size(), false);
    for (size_t s = needed.size(); s-- > 0;)
      if (needed[s] || stages.contains(s))
        for (TensorId id : finder_.read_by_[s])
          if (finder_.producers_[id.value] != SIZE_MAX) needed[finder_.producers_[id.value]] = true;
    for (const auto& [s, axes] : stages)
      for (TensorId id : stage(s).results)
        for (size_t reader : program_.readers[id.value])
          if (needed[reader] && !stages.contains(reader) && !others.contains(reader))
            return std::pair(reader, id);
    return std::nullopt;
  }

  const RowGroupFinder& finder_;
  const Program& program_;
  std::set<TensorId> refused_;  // large, and not read by rows only
};

RowGroupFinder::RowGroupFinder(const Program& program, const Target& target,
                               const std::unordered_set<uint32_t>& taken,
                               const std::set<TensorId>& kept)
    : program_(program),
      target_(target),
      taken_(taken),
      kept_(kept),
      producers_(defining_stages(program.graph)) {
  for (const Stage& s : program.graph.stages) read_by_.push_back(tensors_read(program.graph, s));
}

std::optional<RowsFound> RowGroupFinder::operator()(std::set<TensorId>& seen,
                                                    const std::set<TensorId>& only_kept,
                                                    size_t& failures) const {
  std::vector<TensorId> candidates;
  for (const Stage& s : program_.graph.stages)
    for (TensorId id : s.results)
      if (is_large(id) && is_product_sum(program_.graph, s) && !seen.contains(id))
        candidates.push_back(id);
  std::ranges::stable_sort(candidates, std::greater<>(),
                           [&](TensorId id) { return tensor_bytes(program_.graph, id); });
  for (TensorId id : candidates) {
    if (failures >= kMostFailures) break;
    seen.insert(id);
    for (const RowPlace& place : places_of(id)) {
      const Closure closure(*this, id, place);
      if (closure.empty()) continue;
      const Levels levels = levels_of(closure);
      std::optional<Passing> passing = passing_of(closure, levels);
      if (passing && !passing->again.empty() && !only_kept.contains(id) &&
          pays_again(closure, levels, *passing))
        return RowsFound{
            id, {}, std::move(passing->again), std::move(passing->kept), seeds_of(closure, levels)};
      RowGroup group = group_at(closure, levels, levels.of[producers_[id.value]]);
      // What is larger was looked at with its own batch around the rows.
      const bool looked_at = std::ranges::any_of(
          group.passed, [&](TensorId other) { return other != id && seen.contains(other); });
      if (looked_at || !pays(group)) continue;
      seen.insert(group.passed.begin(), group.passed.end());
      return RowsFound{id, std::move(group), {}, passing ? passing->kept : kept_, {}};
    }
    ++failures;
  }
  return std::nullopt;
}

bool RowGroupFinder::finds_from(TensorId id) const {
  return std::ranges::any_of(places_of(id), [&](const RowPlace& place) {
    const Closure closure(*this, id, place);
    if (closure.empty()) return false;
    const Levels levels = levels_of(closure);
    return pays(group_at(closure, levels, levels.of[producers_[id.value]]));
  });
}

// The dimensions of a result that may be its rows.
std::vector<RowPlace> RowGroupFinder::places_of(TensorId id) const {
  const std::vector<int64_t>& shape = program_.graph.info(id).shape;
  std::vector<RowPlace> places;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] < 2 * kLeastBlock) continue;
    RowPlace place{d, {}};
    for (size_t b = 0; b < d; ++b)
      if (shape[b] > 1) place.batch.push_back(b);
    places.push_back(std::move(place));
  }
  return places;
}

// For every level that contractions give something large, the largest of it.
std::vector<TensorId> RowGroupFinder::seeds_of(const Closure& closure, const Levels& levels) const {
  std::map<int, TensorId> seeds;
  for (TensorId id : closure.passed) {
    const size_t s = producers_[id.value];
    if (!is_contraction(s)) continue;
    const auto [at, fresh] = seeds.emplace(levels.of[s], id);
    if (!fresh && tensor_bytes(program_.graph, id) > tensor_bytes(program_.graph, at->second))
      at->second = id;
  }
  std::vector<TensorId> found;
  for (const auto& [level, id] : seeds) found.push_back(id);
  return found;
}

bool RowGroupFinder::is_large(TensorId id) const {
  return is_large_in(program_, target_, producers_, id);
}

bool RowGroupFinder::is_contraction(size_t s) const {
  return is_product_sum(program_.graph, stage(s));
}

// The axes by which a stage reads a tensor at these dimensions, the same in all its reads.
std::optional<RowPlace> RowGroupFinder::axes_reading(size_t s, TensorId id,
                                                     const RowPlace& dims) const {
  const ExprPool& pool = program_.graph.pool;
  const Domain& domain = stage(s).domain;
  std::optional<RowPlace> found;
  for (ExprId read : reads_of(program_.graph, stage(s))) {
    if (pool.read_tensor(read) != id) continue;
    const std::span<const ExprId> index = pool.read_index(read);
    const std::optional<size_t> row = axis_at(pool, index[dims.row], domain);
    if (!row) return std::nullopt;
    RowPlace axes{*row, {}};
    for (size_t d : dims.batch) {
      const std::optional<size_t> axis = axis_at(pool, index[d], domain);
      if (!axis) return std::nullopt;
      axes.batch.push_back(*axis);
    }
    if (found && *found != axes) return std::nullopt;
    found = axes;
  }
  return found;
}

// The dimensions at which a read has these axes.
std::optional<RowPlace> RowGroupFinder::dims_read(const Domain& domain, ExprId read,
                                                  const RowPlace& axes) const {
  const ExprPool& pool = program_.graph.pool;
  const std::span<const ExprId> index = pool.read_index(read);
  const auto dim = [&](size_t axis) {
    for (size_t d = 0; d < index.size(); ++d)
      if (axis_at(pool, index[d], domain) == axis) return d;
    return SIZE_MAX;
  };
  RowPlace dims{dim(axes.row), {}};
  for (size_t b : axes.batch) dims.batch.push_back(dim(b));
  if (dims.row == SIZE_MAX || std::ranges::find(dims.batch, SIZE_MAX) != dims.batch.end())
    return std::nullopt;
  return dims;
}

RowGroupFinder::Levels RowGroupFinder::levels_of(const Closure& closure) const {
  Levels levels{std::vector<int>(program_.graph.stages.size(), 0), 0};
  for (size_t s = 0; s < levels.of.size(); ++s) {
    const auto here = closure.stages.find(s);
    for (TensorId id : read_by_[s]) {
      const size_t producer = producers_[id.value];
      if (producer == SIZE_MAX) continue;
      const auto from = closure.stages.find(producer);
      const bool by_rows = from != closure.stages.end() && here != closure.stages.end() &&
                           !reduces(producer, from->second) &&
                           axes_reading(s, id, from->second) == here->second;
      const int later = from == closure.stages.end() || by_rows ? 0 : 1;
      levels.of[s] = std::max(levels.of[s], levels.of[producer] + later);
    }
    if (here != closure.stages.end()) levels.last = std::max(levels.last, levels.of[s]);
  }
  // What only later levels read is computed there, where that takes nothing large with it.
  const auto first_reading = [&](size_t s) {
    int first = levels.last;
    for (TensorId id : stage(s).results)
      for (size_t reader : program_.readers[id.value]) first = std::min(first, levels.of[reader]);
    return first;
  };
  for (auto member = closure.stages.rbegin(); member != closure.stages.rend(); ++member) {
    const size_t s = member->first;
    const int first = first_reading(s);
    if (first <= levels.of[s] || !std::ranges::all_of(stage(s).results, [&](TensorId id) {
          return closure.passed.contains(id);
        }))
      continue;
    const int before = std::exchange(levels.of[s], first);
    const bool takes_nothing = std::ranges::all_of(read_by_[s], [&](TensorId id) {
      return !closure.passed.contains(id) || kept_.contains(id) ||
             first_reading(producers_[id.value]) >= first;
    });
    if (!takes_nothing) levels.of[s] = before;
  }
  return levels;
}

// The stages of a level, and what only they write and read.
RowGroup RowGroupFinder::group_at(const Closure& closure, const Levels& levels, int level) const {
  RowGroup group;
  group.rows = closure.rows;
  group.batches = closure.batches;
  std::vector<size_t> stages;
  for (const auto& [s, axes] : closure.stages) {
    if (levels.of[s] != level) continue;
    group.stages.emplace(s, axes);
    stages.push_back(s);
    if (reduces(s, axes)) group.sums.push_back(s);
  }
  if (stages.size() < 2 || !can_gather(program_, stages)) return {};
  for (TensorId id : closure.passed)
    if (group.stages.contains(producers_[id.value]) &&
        std::ranges::all_of(program_.readers[id.value],
                            [&](size_t reader) { return group.stages.contains(reader); })) {
      group.passed.push_back(id);
      if (is_stored(id)) group.stored.push_back(id);
    }
  group.closed = levels.last == 0 && is_closed(closure);
  choose_blocks(group);
  return group;
}

// Whether nothing large over its rows exists as a whole.
bool RowGroupFinder::is_closed(const Closure& closure) const {
  return std::ranges::all_of(closure.stages, [&](const auto& member) {
    const auto& [s, axes] = member;
    const bool results =
        reduces(s, axes) || std::ranges::all_of(stage(s).results, [&](TensorId id) {
          return !is_large(id) || closure.passed.contains(id);
        });
    return results && std::ranges::all_of(reads_of(program_.graph, stage(s)), [&](ExprId read) {
             const TensorId id = program_.graph.pool.read_tensor(read);
             return !is_large(id) || closure.passed.contains(id) ||
                    !dims_read(stage(s).domain, read, axes);
           });
  });
}

bool RowGroupFinder::is_stored(TensorId id) const {
  return is_contraction(producers_[id.value]) ||
         std::ranges::any_of(program_.readers[id.value],
                             [&](size_t reader) { return is_contraction(reader); });
}

// Cycles of a core to write a large result as a whole and to read it in the next level.
double RowGroupFinder::cost_of_keeping(const Closure& closure, TensorId id,
                                       const std::set<TensorId>& kept) const {
  double bytes = static_cast<double>(tensor_bytes(program_.graph, id)), all = bytes;
  for (TensorId other : kept) all += static_cast<double>(tensor_bytes(program_.graph, other));
  if (all > static_cast<double>(target_.kept_bytes)) return kNever;
  // Of blocks that do not divide the rows, a copy is put together.
  RowGroup one;
  one.rows = closure.rows;
  one.batches = closure.batches;
  one.stored = {id};
  choose_blocks(one);
  if (one.rows % (one.parts * one.block) != 0) bytes *= 2;
  return cycles_of(2 * bytes, bytes > static_cast<double>(target_.l3_bytes) / 2);
}

// Decides, for one level, which large results of levels before are kept as a whole and which
// stages are computed again for it: what takes less time, as long as not too much is kept.
class RowGroupFinder::Keeping {
 public:
  Keeping(const RowGroupFinder& finder, const Closure& closure, const Levels& levels, int level,
          Passing& passing)
      : finder_(finder), closure_(closure), levels_(levels), level_(level), passing_(passing) {}

  // What is made first is there, or computed, for what comes from it.
  void provide_for(const std::vector<size_t>& readers) {
    std::set<std::pair<size_t, TensorId>> needed;
    for (size_t reader : readers)
      for (TensorId id : passed_to(reader)) needed.emplace(finder_.producers_[id.value], id);
    for (const auto& [s, id] : needed) provide(id);
  }

  // Whether the stage reads what is computed again.
  bool computes_for(size_t reader) const {
    return std::ranges::any_of(passed_to(reader), [&](TensorId id) {
      return again.contains(finder_.producers_[id.value]);
    });
  }

  std::set<size_t> again;  // stages

 private:
  std::vector<TensorId> passed_to(size_t reader) const {
    std::vector<TensorId> passed;
    for (TensorId id : finder_.read_by_[reader])
      if (closure_.passed.contains(id) && levels_.of[finder_.producers_[id.value]] < level_)
        passed.push_back(id);
    return passed;
  }

  void provide(TensorId id) {
    const size_t s = finder_.producers_[id.value];
    if (again.contains(s) || passing_.kept.contains(id)) return;
    const double cost = finder_.cost_of_keeping(closure_, id, passing_.kept);
    passing_.too_much |= cost >= kNever;
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
    double cost = finder_.cycles_again(s);
    for (TensorId id : passed_to(s))
      if (!passing_.kept.contains(id))
        cost += std::min(finder_.cost_of_keeping(closure_, id, passing_.kept),
                         cost_again(finder_.producers_[id.value], known));
    return known[s] = std::min(cost, kNever / 2);
  }

  const RowGroupFinder& finder_;
  const Closure& closure_;
  const Levels& levels_;
  int level_;
  Passing& passing_;
};

// For every level but the first, the stages that are computed again; nullopt where one cannot be.
std::optional<RowGroupFinder::Passing> RowGroupFinder::passing_of(const Closure& closure,
                                                                  const Levels& levels) const {
  Passing passing;
  passing.kept = kept_;
  for (int level = levels.last; level > 0; --level) {
    Keeping keeping(*this, closure, levels, level, passing);
    std::vector<size_t> readers;
    for (const auto& [s, axes] : closure.stages)
      if (levels.of[s] == level) readers.push_back(s);
    keeping.provide_for(readers);
    size_t first = SIZE_MAX;  // of those that read what is computed again
    for (size_t s : readers)
      if (keeping.computes_for(s)) first = std::min(first, s);
    if (first == SIZE_MAX) continue;
    RowsAgain made{{}, stage(first).results.front()};
    for (auto s = keeping.again.rbegin(); s != keeping.again.rend(); ++s) {
      bool read_before = false;  // else it need not be there twice
      for (TensorId id : stage(*s).results)
        for (size_t reader : program_.readers[id.value]) {
          if (reader >= first && levels.of[reader] < level) return std::nullopt;
          read_before |= reader < first;
        }
      if (!read_before) return std::nullopt;
      made.stages.push_back(stage(*s).results.front());
    }
    passing.again.push_back(std::move(made));
  }
  return passing;
}

// Bytes that a task may have.
double RowGroupFinder::near() const {
  return std::max(1.5 * static_cast<double>(target_.l2_bytes),
                  static_cast<double>(target_.l3_bytes) / 16);
}

double RowGroupFinder::bytes_of(const std::vector<TensorId>& tensors) const {
  double bytes = 0;
  for (TensorId id : tensors) bytes += static_cast<double>(tensor_bytes(program_.graph, id));
  return bytes;
}

double RowGroupFinder::bytes_of_row(const RowGroup& group) const {
  return std::max(
      1.0, bytes_of(group.stored) / static_cast<double>(checked_mul(group.rows, group.batches)));
}

// As many rows as stay near a core; parts of a batch where batches are few.
void RowGroupFinder::choose_blocks(RowGroup& group) const {
  const auto rows = static_cast<int64_t>(near() / bytes_of_row(group));
  const int64_t runs = group.sums.empty() ? 1 : ceil_div(kLeastRuns, group.batches);
  group.block =
      std::clamp(std::min(rows, group.rows / (2 * runs)), kLeastBlock, kMostBlock) / 16 * 16;
  while (group.parts < runs && 4 * group.parts * group.block <= group.rows) group.parts *= 2;
  // Blocks of equal length, if there are such: results in them lie as they would as a whole.
  const int64_t part = ceil_div(group.rows, group.parts), wanted = group.block;
  const auto divides = [&](int64_t block) { return part % block == 0; };
  for (int64_t block = wanted; 3 * block >= 2 * wanted; --block)
    if (divides(block)) {
      group.block = block;
      return;
    }
  for (int64_t block = wanted; 3 * block <= 4 * wanted && 2 * block <= part; ++block)
    if (divides(block)) {
      group.block = block;
      return;
    }
}

// How often a tensor goes through memory or the third cache when it exists as a whole: stages
// that are no contractions take it row by row, together; sums over rows take a copy of it.
double RowGroupFinder::passes_of(TensorId id, const std::vector<size_t>& sums) const {
  double passes = 1;
  bool by_rows = false;
  for (size_t reader : program_.readers[id.value]) {
    if (!is_contraction(reader)) {
      by_rows = true;
    } else {
      passes += std::ranges::find(sums, reader) != sums.end() ? 3 : 1;
    }
  }
  return passes + (by_rows ? 1 : 0);
}

// Of a core.
double RowGroupFinder::cycles_of(double bytes, bool from_memory) const {
  return from_memory ? bytes / target_.memory_gb_per_core * target_.ghz
                     : bytes / target_.l3_bytes_per_cycle;
}

// Cycles of a core.
double RowGroupFinder::arithmetic_of(size_t s) const {
  const double lanes =
      lanes_per_cycle(target_, size_of(program_.graph.info(stage(s).results[0]).dtype));
  const double points = box_points(stage(s).domain) / lanes;
  return is_contraction(s) ? points : points * WorkMeter(program_.graph.pool)(stage(s).bodies).cost;
}

double RowGroupFinder::cycles_again(size_t s) const {
  return arithmetic_of(s) / (is_contraction(s) ? kOfPeak : 1);
}

// Cycles of a core that sums over rows take to go on from block to block, and from part to part.
double RowGroupFinder::added_by_sums(const RowGroup& group) const {
  const auto last = static_cast<double>(target_.l3_bytes);
  const auto blocks = static_cast<double>(group.rows) / static_cast<double>(group.block);
  const auto parts = static_cast<double>(group.parts);
  double sums = 0;
  for (size_t s : group.sums) sums += bytes_of(stage(s).results);
  return cycles_of(2 * blocks * sums, sums / static_cast<double>(group.batches) > last / 4) +
         (parts > 1 ? cycles_of(2 * parts * sums, true) : 0);
}

bool RowGroupFinder::is_right_size(const RowGroup& group) const {
  const double stored = bytes_of(group.stored);
  const auto last = static_cast<double>(target_.l3_bytes);
  const auto batches = static_cast<double>(group.batches);
  if (group.rows < 2 * group.block || stored <= 2 * static_cast<double>(target_.l2_bytes))
    return false;
  // Batches that stay near a core are tasks as they are (task_chains.hpp).
  if (group.batches >= kLeastRuns && stored / batches <= near()) return false;
  const double task = bytes_of_row(group) * static_cast<double>(group.block);
  return task <= std::max(near(), last / 4);
}

bool RowGroupFinder::pays(const RowGroup& group) const {
  if (group.stages.empty() || !is_right_size(group)) return false;
  double moved = 0, arithmetic = 0;
  for (TensorId id : group.stored)
    moved += passes_of(id, group.sums) * static_cast<double>(tensor_bytes(program_.graph, id));
  for (const auto& [s, axes] : group.stages)
    if (is_contraction(s)) arithmetic += arithmetic_of(s);
  const double stored = bytes_of(group.stored);
  const bool from_memory = stored > static_cast<double>(target_.l3_bytes);
  // Blocks cost what they have around them, too.
  if (!group.closed && 2 * stored < static_cast<double>(target_.l3_bytes)) return false;
  return cycles_of(moved, from_memory) - added_by_sums(group) > kWorthBlocks * arithmetic;
}

// Whether groups of all levels, with what is computed again for them and what is kept, take less
// time than large results that all exist as a whole.
bool RowGroupFinder::pays_again(const Closure& closure, const Levels& levels,
                                const Passing& passing) const {
  std::vector<TensorId> stored;
  for (TensorId id : closure.passed)
    if (is_stored(id)) stored.push_back(id);
  double moved = 0, arithmetic = 0, added = 0;
  std::vector<size_t> sums;
  for (const auto& [s, axes] : closure.stages) {
    if (is_contraction(s)) arithmetic += arithmetic_of(s);
    if (reduces(s, axes)) sums.push_back(s);
  }
  for (TensorId id : stored)
    moved += passes_of(id, sums) * static_cast<double>(tensor_bytes(program_.graph, id));
  for (int level = 0; level <= levels.last; ++level) {
    RowGroup group = group_at(closure, levels, level);
    if (group.stages.empty()) continue;
    group.stored.clear();  // with what is computed again for it
    for (TensorId id : stored)
      if (group.stages.contains(producers_[id.value]) ||
          std::ranges::any_of(program_.readers[id.value],
                              [&](size_t reader) { return group.stages.contains(reader); }))
        group.stored.push_back(id);
    if (group.stored.empty()) continue;
    choose_blocks(group);
    if (!is_right_size(group)) return false;
    added += added_by_sums(group);
  }
  for (const RowsAgain& stages : passing.again)
    for (TensorId name : stages.stages) added += cycles_again(producers_[name.value]);
  for (TensorId id : passing.kept)
    if (closure.passed.contains(id)) added += cost_of_keeping(closure, id, {});
  return bytes_of(stored) > static_cast<double>(target_.l3_bytes) &&
         (passing.too_much || cycles_of(moved, true) - added > kWorthBlocks * arithmetic);
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

Program take_batches_apart(Program program, const Target& target) {
  const ExprPool& pool = program.graph.pool;
  std::vector<size_t> producers = defining_stages(program.graph);
  for (size_t s = 0; s < program.graph.stages.size(); ++s) {
    if (!is_product_sum(program.graph, program.graph.stages[s])) continue;
    std::optional<std::pair<size_t, int64_t>> part;  // axis and divisor
    for (ExprId read : reads_of(program.graph, program.graph.stages[s])) {
      if (!is_large_in(program, target, producers, pool.read_tensor(read))) continue;
      for (ExprId index : pool.read_index(read)) {
        if (!pool.is(index, Op::FloorDiv)) continue;
        const Domain& domain = program.graph.stages[s].domain;
        const std::optional<size_t> axis = axis_at(pool, pool.operand(index, 0), domain);
        const int64_t divisor = pool.int_value(pool.operand(index, 1)).value_or(INT64_MAX);
        if (!axis || *axis >= domain.output_rank || divisor > kLargestGroup ||
            domain.extents[*axis] < 2 * divisor)
          continue;
        const int64_t modulus = residue_modulus(program.graph, program.graph.stages[s], *axis);
        if (modulus > 0 && modulus % divisor == 0) part = std::pair(*axis, divisor);
      }
    }
    if (!part) continue;
    program = split_residues(std::move(program), s, part->first, part->second, true);
    producers = defining_stages(program.graph);
    ++s;  // puts residues together
  }
  return program;
}

}  // namespace adjit
