// runtime/diff/simplify/demand.cpp -- domains shrink to the points that are read.
//
// Worked example: scores s(i, j) that are read by stages with i >= j only are computed there only.
// A row over the results' axes comes from the domain of a stage that reads them at its own axes,
// and is taken where all reads keep it and points are saved. What selects of the body ask, and the
// rows answer, is then left out of it.
#include <algorithm>
#include <optional>

#include "runtime/diff/conditions/point_savings.hpp"
#include "runtime/diff/conditions/prefix_reduction.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::diff {
namespace {

struct Reader {
  size_t stage = 0;
  ExprId read;
};

class NeedRestrictor {
 public:
  explicit NeedRestrictor(Graph graph) : graph_(std::move(graph)) {}

  Graph operator()() {
    if (std::ranges::all_of(graph_.stages,
                            [](const Stage& stage) { return stage.domain.inequalities.empty(); }))
      return std::move(graph_);
    find_readers();
    for (size_t s = graph_.stages.size(); s-- > 0;) restrict(graph_.stages[s]);
    return std::move(graph_);
  }

 private:
  void find_readers() {
    readers_.resize(graph_.tensors.size());
    whole_.assign(graph_.tensors.size(), false);
    for (TensorId id : graph_.outputs) whole_[id.value] = true;
    for (size_t s = 0; s < graph_.stages.size(); ++s) {
      const Stage& stage = graph_.stages[s];
      if (stage.kind != StageKind::Compute) {
        for (TensorId id : tensors_read(graph_, stage)) whole_[id.value] = true;
        continue;
      }
      for (const ExprId id : reachable(graph_.pool, stage.bodies))
        if (graph_.pool.is(id, Op::Read))
          readers_[graph_.pool.read_tensor(id).value].push_back({s, id});
    }
  }

  void restrict(Stage& stage) {
    if (stage.kind != StageKind::Compute || stage.results.size() != 1) return;
    if (prefix_reduction(graph_.pool, stage) || reads_at_data(graph_.pool, stage)) return;
    const uint32_t tensor = stage.results[0].value;
    if (whole_[tensor] || readers_[tensor].empty()) return;
    bool restricted = false;
    for (const Affine& row : candidates(stage)) {
      const bool kept = std::ranges::all_of(
          readers_[tensor], [&](const Reader& reader) { return keeps(reader, row); });
      if (!kept || implies(stage.domain, row)) continue;
      Domain domain = stage.domain;
      domain.inequalities.push_back(row);
      if (!saves_points(stage.domain, domain)) continue;
      stage.domain = std::move(domain);
      restricted = true;
    }
    if (restricted) drop_decided_selects(stage);
  }

  // Rows of the first reader's domain as rows over the axes that it reads at.
  std::vector<Affine> candidates(const Stage& stage) {
    const Reader& reader = readers_[stage.results[0].value].front();
    const Domain& domain = graph_.stages[reader.stage].domain;
    const std::span<const ExprId> index = graph_.pool.read_index(reader.read);
    std::vector<Affine> rows;
    for (const Affine& row : domain.inequalities) {
      Affine own(row.constant());
      bool all = true;
      for (size_t v = 0; v < row.size() && all; ++v) {
        if (row.coefficient(v) == 0) continue;
        const auto at = std::ranges::find_if(index, [&](ExprId id) {
          return graph_.pool.is(id, Op::Axis) && graph_.pool.axis_number(id) == v;
        });
        all = at != index.end();
        if (all) own.set_coefficient(static_cast<size_t>(at - index.begin()), row.coefficient(v));
      }
      if (all) rows.push_back(std::move(own));
    }
    return rows;
  }

  // Whether all points at which it reads are inside the row.
  bool keeps(const Reader& reader, const Affine& row) {
    const std::optional<IndexForm> there = at_index(
        graph_.pool, row, graph_.pool.read_index(reader.read), graph_.stages[reader.stage].domain);
    return there && implies(there->domain, there->form);
  }

  void drop_decided_selects(Stage& stage) {
    ExprPool& pool = graph_.pool;
    std::unordered_map<uint32_t, ExprId> now;
    for (const ExprId id : reachable(pool, stage.bodies)) {
      if (!pool.is(id, Op::Select)) continue;
      const Decided answer = decided(pool, pool.operand(id, 0), stage.domain);
      if (answer != Decided::Open)
        now.emplace(id.value, pool.operand(id, answer == Decided::True ? 1 : 2));
    }
    // A value of the table is not searched again: selects inside selects take one walk each.
    for (size_t walk = 0; walk < now.size(); ++walk)
      stage.bodies = replace_nodes(pool, stage.bodies, now);
  }

  Graph graph_;
  std::vector<std::vector<Reader>> readers_;  // by tensor
  std::vector<bool> whole_;                   // by tensor: read by more than bodies
};

}  // namespace

Graph restrict_to_reads(Graph graph) { return NeedRestrictor(std::move(graph))(); }

}  // namespace adjit::diff
