// runtime/diff/simplify/merge_equal.cpp -- equal stages become one.
#include <algorithm>
#include <map>
#include <utility>

#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::diff {
namespace {

// Everything that a stage's results depend on, as a sequence of integers that is equal for equal
// stages of one pool.
class Key {
 public:
  explicit Key(const Stage& stage) {
    add(static_cast<int64_t>(stage.kind));
    add(static_cast<int64_t>(stage.combiner.kind));
    add(static_cast<int64_t>(stage.combiner.ties));
    add(stage.stop_gradient);
    add(stage.region);
    add(static_cast<int64_t>(stage.out_of_range));
    add(stage.initial.value);
    add(stage.domain);
    for (const auto* list :
         {&stage.bodies, &stage.target, &stage.combiner.combine, &stage.combiner.identity}) {
      add(static_cast<int64_t>(list->size()));
      for (ExprId id : *list) add(id.value);
    }
  }
  const std::vector<int64_t>& words() const { return words_; }

 private:
  void add(int64_t word) { words_.push_back(word); }
  void add(const Affine& form) {
    add(form.constant());
    add(static_cast<int64_t>(form.size()));
    for (int64_t c : form.coefficients()) add(c);
  }
  void add(const Domain& domain) {
    add(static_cast<int64_t>(domain.output_rank));
    add(static_cast<int64_t>(domain.extents.size()));
    for (int64_t extent : domain.extents) add(extent);
    add(static_cast<int64_t>(domain.divisions.size()));
    for (const Division& d : domain.divisions) {
      add(d.numerator);
      add(d.divisor);
    }
    for (const auto* rows : {&domain.inequalities, &domain.equalities}) {
      add(static_cast<int64_t>(rows->size()));
      for (const Affine& row : *rows) add(row);
    }
  }
  std::vector<int64_t> words_;
};

class Merger {
 public:
  explicit Merger(Graph graph) : graph_(std::move(graph)), now_(graph_.tensors.size()) {
    for (uint32_t t = 0; t < now_.size(); ++t) now_[t] = TensorId{t};
  }

  Graph operator()() {
    for (size_t s = 0; s < graph_.stages.size(); ++s) {
      Stage& stage = graph_.stages[s];
      rename_reads(stage);
      if (stage.kind != StageKind::Compute && stage.kind != StageKind::Scatter) continue;
      const auto [found, fresh] = stages_.try_emplace(Key(stage).words(), s);
      if (!fresh) merge(graph_.stages[found->second], stage);
    }
    for (TensorId& output : graph_.outputs) output = now_[output.value];
    return std::move(graph_);
  }

 private:
  void rename_reads(Stage& stage) {
    for (TensorId& operand : stage.operands) operand = now_[operand.value];
    if (stage.initial.valid()) stage.initial = now_[stage.initial.value];
    if (!any_) return;
    ExprPool& pool = graph_.pool;
    Rebuilder rebuild(pool, pool, [&](ExprId leaf, std::span<const ExprId> operands) {
      if (!pool.is(leaf, Op::Read)) return ExprId{};
      const bool guarded = pool.read_predicate(leaf).valid();
      return pool.read(now_[pool.read_tensor(leaf).value], pool.dtype(leaf),
                       operands.first(operands.size() - (guarded ? 1 : 0)),
                       guarded ? operands.back() : ExprId{});
    });
    for (auto* list : {&stage.bodies, &stage.target})
      for (ExprId& id : *list) id = rebuild(id);
  }

  void merge(Stage& first, const Stage& again) {
    any_ = true;
    for (size_t k = 0; k < first.results.size(); ++k)
      now_[again.results[k].value] = first.results[k];
    constexpr size_t kMostLines = 64;
    for (const SourceLine& line : again.lines)
      if (first.lines.size() < kMostLines &&
          std::ranges::find(first.lines, line) == first.lines.end())
        first.lines.push_back(line);
  }

  Graph graph_;
  std::vector<TensorId> now_;
  std::map<std::vector<int64_t>, size_t> stages_;
  bool any_ = false;
};

}  // namespace

Graph merge_equal_stages(Graph graph) { return Merger(std::move(graph))(); }

}  // namespace adjit::diff
