// autosched/analysis/access.hpp -- how a stage's reads and results move through memory as its axes
// advance.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {

/// One read (or a result) of a stage, for row-major tensors.
struct MemoryAccess {
  TensorId tensor;
  ExprId read;                   // invalid for a result
  std::vector<int64_t> strides;  // per axis of the stage: elements per step
  int64_t offset = 0;            // elements, where all axes are 0; what data adds is left out
  std::vector<bool> irregular;   // per axis: the address also moves through a division, or data
  std::vector<bool> by_data;     // per axis: the address moves through data
  bool guarded = false;          // the read has a predicate
  double elements = 1;           // of the tensor
  double repeats = 1;            // times that the stage runs before its contents change
  bool depends_on(size_t axis) const { return strides[axis] != 0 || irregular[axis]; }
  bool contiguous(size_t axis) const {
    return !irregular[axis] && (strides[axis] == 1 || strides[axis] == -1);
  }
};

/// The reads of a stage, and its (first) result.
struct Accesses {
  std::vector<MemoryAccess> reads;
  MemoryAccess result;
};
Accesses accesses_of(const LoweredGraph& graph, const Stage& stage);
/// Whether it reads an operand at places that data chooses.
bool reads_by_data(const LoweredGraph& graph, const Stage& stage);

/// The element that an index map names, of a tensor with these strides; what an index without a
/// form adds is left out.
Affine address_of(const IndexMap& map, std::span<const int64_t> strides);
/// As address_of, of a row-major tensor.
Affine row_major_address(const IndexMap& map, const std::vector<int64_t>& shape);

/// Distinct elements of its tensor that an access can touch over the box of the axes (an upper
/// bound).
double elements_touched(const MemoryAccess& access, const Domain& domain);

/// Vectors (or elements) that so many instances of each axis read: x(k + r) of 8 x 9 instances
/// along a result's axis and a reduction's are 16. Copies along the lanes are apart.
double distinct_reads(const MemoryAccess& access, const std::vector<int64_t>& instances,
                      size_t output_rank, std::optional<size_t> lanes_axis);

}  // namespace adjit::sched
