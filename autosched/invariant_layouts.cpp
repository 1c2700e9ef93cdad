// autosched/invariant_layouts.cpp -- fixed operands of scans turned round before the loop.
#include "autosched/invariant_layouts.hpp"

#include <algorithm>
#include <utility>

#include "autosched/region.hpp"
#include "runtime/diff/rewrite.hpp"

namespace adjit {
namespace {

constexpr int64_t kStepsThatPay = 4;
constexpr int64_t kSmallest = 1024;  // elements: less stays in the first cache however it lies

// The dimension that should be last, from one read; nullopt when it does not matter or cannot be.
std::optional<size_t> contiguous_dimension(const Graph& body, const Stage& stage, ExprId read) {
  const size_t outputs = stage.domain.output_rank;
  const std::span<const ExprId> index = body.pool.read_index(read);
  const auto axis = [&](ExprId id) {
    return body.pool.is(id, Op::Axis) ? body.pool.axis_number(id) : SIZE_MAX;
  };
  if (outputs == 0 || index.size() < 2 || body.pool.read_predicate(read).valid())
    return std::nullopt;
  const size_t last = axis(index.back());
  if (last == SIZE_MAX || last < outputs) return std::nullopt;
  for (size_t d = 0; d < index.size(); ++d)
    if (axis(index[d]) == outputs - 1) return d;
  return std::nullopt;
}

// The same for all reads of a tensor in a step, which only reductions may read.
std::optional<size_t> contiguous_dimension(const Graph& body, TensorId tensor) {
  std::optional<size_t> wanted;
  for (const Stage& stage : body.stages) {
    const std::vector<TensorId> read = tensors_read(body, stage);
    if (std::ranges::find(read, tensor) == read.end()) continue;
    if (stage.kind != StageKind::Compute || stage.domain.reduction_rank() == 0) return std::nullopt;
    for (ExprId id : reads_of(body, stage)) {
      if (body.pool.read_tensor(id) != tensor) continue;
      const std::optional<size_t> dimension = contiguous_dimension(body, stage, id);
      if (!dimension || (wanted && *wanted != *dimension)) return std::nullopt;
      wanted = dimension;
    }
  }
  return wanted;
}

// The list with one entry moved to the end.
template <typename T>
std::vector<T> turned(std::vector<T> list, size_t dimension) {
  std::rotate(list.begin() + static_cast<std::ptrdiff_t>(dimension),
              list.begin() + static_cast<std::ptrdiff_t>(dimension) + 1, list.end());
  return list;
}

TensorId turned_copy(Graph& graph, TensorId tensor, size_t dimension, const Stage& scan) {
  const TensorInfo info = graph.info(tensor);
  Stage copy;
  copy.domain.extents = turned(info.shape, dimension);
  copy.domain.output_rank = info.shape.size();
  copy.lines = scan.lines;
  copy.results = {add_tensor(graph, info.name + "_turned", info.dtype, copy.domain.extents)};
  std::vector<ExprId> index = axes(graph.pool, info.shape.size());
  std::rotate(index.begin() + static_cast<std::ptrdiff_t>(dimension), index.end() - 1, index.end());
  copy.bodies = {read(graph, tensor, index)};
  const TensorId result = copy.results[0];
  graph.stages.push_back(std::move(copy));
  return result;
}

// The body with its input read in the new layout.
void turn_input(Graph& body, size_t position, size_t dimension) {
  const TensorId before = body.inputs[position];
  const TensorInfo info = body.info(before);
  const TensorId now = add_tensor(body, info.name, info.dtype, turned(info.shape, dimension));
  body.inputs[position] = now;
  for (Stage& stage : body.stages) {
    std::unordered_map<uint32_t, ExprId> replacements;
    for (ExprId id : reads_of(body, stage)) {
      if (body.pool.read_tensor(id) != before) continue;
      const std::span<const ExprId> index = body.pool.read_index(id);
      replacements[id.value] =
          read(body, now, turned(std::vector<ExprId>(index.begin(), index.end()), dimension));
    }
    if (!replacements.empty()) stage.bodies = replace_nodes(body.pool, stage.bodies, replacements);
  }
}

}  // namespace

void arrange_invariants(Graph& graph, Stage& stage) {
  Scan scan = *stage.scan;
  if (scan.conditional || scan.trips < kStepsThatPay) return;
  Graph body = *scan.body;
  bool any = false;
  for (size_t k = scan.carries + scan.scanned; k < stage.operands.size(); ++k) {
    const TensorId inside = body.inputs[k];
    if (body.info(inside).element_count() < kSmallest) continue;
    const std::optional<size_t> dimension = contiguous_dimension(body, inside);
    if (!dimension) continue;
    stage.operands[k] = turned_copy(graph, stage.operands[k], *dimension, stage);
    turn_input(body, k, *dimension);
    any = true;
  }
  if (!any) return;
  scan.body = std::make_shared<const Graph>(std::move(body));
  stage.scan = std::make_shared<const Scan>(std::move(scan));
}

}  // namespace adjit
