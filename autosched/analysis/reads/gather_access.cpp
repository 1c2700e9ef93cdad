// autosched/analysis/reads/gather_access.cpp -- questions about the coordinates of reads.
#include "autosched/analysis/reads/gather_access.hpp"
#include "autosched/machine/thresholds.hpp"
#include "autosched/program/graph_edit.hpp"
#include "runtime/graph/index_map.hpp"

#include <algorithm>

namespace adjit::sched {
int64_t row_piece(const Graph& graph, TensorId operand) {
  const auto size = static_cast<int64_t>(size_of(graph.info(operand).dtype));
  return size < 2 ? 0 : thresholds().piece_bytes / size;
}

std::optional<size_t> dimension_walked(const ExprPool& pool, const Stage& stage,
                                       std::span<const ExprId> index, size_t axis) {
  const IndexMap map = index_map(pool, index, stage.domain);
  std::optional<size_t> walked;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!uses(pool, index[d], axis)) continue;
    if (walked || !map.forms[d] || map.forms[d]->coefficient(axis) != 1) return std::nullopt;
    walked = d;
  }
  return walked;
}

std::vector<size_t> order_of_rows(const ExprPool& pool, std::span<const ExprId> index,
                                  size_t rows) {
  std::vector<size_t> order;
  for (const bool data : {false, true})
    for (size_t d = 0; d < index.size(); ++d)
      if (d != rows && contains_read(pool, index.subspan(d, 1)) == data) order.push_back(d);
  order.push_back(rows);
  return order;
}

}  // namespace adjit::sched
