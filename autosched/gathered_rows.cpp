// autosched/gathered_rows.cpp -- which operands have rows that data names, and what these cost.
#include "autosched/gathered_rows.hpp"

#include <algorithm>
#include <bit>

#include "autosched/tile_model.hpp"

namespace adjit {
namespace {

constexpr int64_t kPieceBytes = 16;

}  // namespace

int64_t row_piece(const Graph& graph, TensorId operand) {
  const auto size = static_cast<int64_t>(size_of(graph.info(operand).dtype));
  return size < 2 ? 0 : kPieceBytes / size;
}

bool reads_data(const ExprPool& pool, ExprId expr) {
  const ExprId roots[] = {expr};
  return std::ranges::any_of(reachable(pool, roots),
                             [&](ExprId id) { return pool.is(id, Op::Read); });
}

bool moves_with(const ExprPool& pool, ExprId coordinate, size_t axis) {
  const ExprId roots[] = {coordinate};
  return std::ranges::any_of(reachable(pool, roots), [&](ExprId id) {
    return pool.is(id, Op::Axis) && pool.axis_number(id) == axis;
  });
}

std::optional<size_t> dimension_walked(const ExprPool& pool, const Stage& stage,
                                       std::span<const ExprId> index, size_t axis) {
  std::optional<size_t> walked;
  for (size_t d = 0; d < index.size(); ++d) {
    if (!moves_with(pool, index[d], axis)) continue;
    Domain domain = stage.domain;
    const std::optional<Affine> form = as_affine(pool, index[d], domain);
    if (walked || !form || form->coefficient(axis) != 1) return std::nullopt;
    walked = d;
  }
  return walked;
}

double row_load_cost(int64_t lanes, int64_t piece) {
  const int64_t rounds = std::bit_width(static_cast<uint64_t>(piece)) - 1;
  return kPorts * static_cast<double>(lanes + (lanes - piece) + piece * rounds);
}

std::vector<size_t> order_of_rows(const ExprPool& pool, std::span<const ExprId> index,
                                  size_t rows) {
  std::vector<size_t> order;
  for (const bool data : {false, true})
    for (size_t d = 0; d < index.size(); ++d)
      if (d != rows && reads_data(pool, index[d]) == data) order.push_back(d);
  order.push_back(rows);
  return order;
}

std::optional<Packing> rows_innermost(const Graph& graph, const Stage& stage,
                                      const MemoryAccess& access) {
  const int64_t piece = row_piece(graph, access.tensor);
  const bool by_data = std::ranges::find(access.by_data, true) != access.by_data.end();
  if (access.guarded || piece == 0 || !by_data) return std::nullopt;
  const std::span<const ExprId> index = graph.pool.read_index(access.read);
  for (size_t axis = stage.domain.rank(); axis-- > 0;) {
    if (stage.domain.extents[axis] + 1 < piece || access.irregular[axis]) continue;
    const std::optional<size_t> rows = dimension_walked(graph.pool, stage, index, axis);
    if (!rows) continue;
    if (access.strides[axis] == 1) return std::nullopt;
    Packing packing;
    for (const size_t d : order_of_rows(graph.pool, index, *rows))
      packing.dimensions.push_back({d, 1, 0});
    return packing;
  }
  return std::nullopt;
}

}  // namespace adjit
