// runtime/diff/simplify/loops/scan_dce.cpp -- what nothing reads leaves a scan.
//
// Worked example: a forward scan whose stacked results only the user's loss read stays in the
// derivative for the carries it saves; its stacked results, the operands that only they needed and
// carries that lead to nothing else go.
#include <algorithm>
#include <utility>

#include "runtime/diff/simplify/simplify.hpp"

namespace adjit::diff {
namespace {

using Flags = std::vector<char>;

class Pruner {
 public:
  explicit Pruner(Graph graph) : graph_(std::move(graph)), read_(graph_.tensors.size(), 0) {}

  Graph operator()() {
    for (TensorId output : graph_.outputs) read_[output.value] = 1;
    for (size_t s = graph_.stages.size(); s-- > 0;) {
      Stage& stage = graph_.stages[s];
      if (std::ranges::none_of(stage.results, [&](TensorId t) { return read_[t.value] != 0; }))
        continue;  // dead: compact drops it
      if (stage.kind == StageKind::Scan && !stage.scan->conditional) prune(stage);
      for (TensorId t : tensors_read(graph_, stage)) read_[t.value] = 1;
    }
    return std::move(graph_);
  }

 private:
  // Results to keep: those that are read, and carries that a kept output depends on.
  void prune(Stage& stage) {
    const Scan& scan = *stage.scan;
    const Graph& body = *scan.body;
    Flags kept(stage.results.size(), 0);
    for (size_t k = 0; k < kept.size(); ++k) kept[k] = read_[stage.results[k].value];
    Flags needed;
    for (bool changed = true; std::exchange(changed, false);) {
      needed = needed_by(body, kept);
      for (size_t k = 0; k < scan.carries; ++k) {
        if (kept[k] || !needed[body.inputs[k].value]) continue;
        kept[k] = 1;
        changed = true;
      }
    }
    Flags operands(stage.operands.size(), 0);
    for (size_t k = 0; k < operands.size(); ++k)
      operands[k] = k < scan.carries ? kept[k] : needed[body.inputs[k].value];
    const auto all = [](const Flags& flags) {
      return std::ranges::all_of(flags, [](char f) { return f != 0; });
    };
    if (!all(kept) || !all(operands)) rebuild(stage, kept, operands);
  }

  static Flags needed_by(const Graph& body, const Flags& kept) {
    Flags needed(body.tensors.size(), 0);
    for (size_t k = 0; k < kept.size(); ++k)
      if (kept[k]) needed[body.outputs[k].value] = 1;
    for (size_t s = body.stages.size(); s-- > 0;) {
      const Stage& stage = body.stages[s];
      if (std::ranges::any_of(stage.results, [&](TensorId t) { return needed[t.value] != 0; }))
        for (TensorId t : tensors_read(body, stage)) needed[t.value] = 1;
    }
    return needed;
  }

  static std::vector<TensorId> chosen(const std::vector<TensorId>& list, const Flags& flags) {
    std::vector<TensorId> result;
    for (size_t k = 0; k < list.size(); ++k)
      if (flags[k]) result.push_back(list[k]);
    return result;
  }

  static void rebuild(Stage& stage, const Flags& kept, const Flags& operands) {
    Scan scan = *stage.scan;
    const auto count = [](const Flags& flags, size_t first, size_t number) {
      const auto from = flags.begin() + static_cast<std::ptrdiff_t>(first);
      return static_cast<size_t>(
          std::count(from, from + static_cast<std::ptrdiff_t>(number), char{1}));
    };
    const size_t carries = count(kept, 0, scan.carries);
    const size_t scanned = count(operands, scan.carries, scan.scanned);
    scan.fixed = count(operands, scan.carries + scan.scanned, scan.fixed);
    scan.stacked = count(kept, scan.carries, scan.stacked);
    scan.carries = carries;
    scan.scanned = scanned;
    Graph body = *scan.body;
    body.inputs = chosen(body.inputs, operands);
    body.outputs = chosen(body.outputs, kept);
    scan.body = std::make_shared<const Graph>(compact(body));
    stage.scan = std::make_shared<const Scan>(std::move(scan));
    stage.operands = chosen(stage.operands, operands);
    stage.results = chosen(stage.results, kept);
  }

  Graph graph_;
  Flags read_;  // per tensor
};

}  // namespace

Graph prune_scans(Graph graph) { return Pruner(std::move(graph))(); }

}  // namespace adjit::diff
