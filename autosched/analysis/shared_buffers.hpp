// autosched/analysis/shared_buffers.hpp -- which tensors lie in one buffer, and which may.
//
// A buffer is shared in two ways:
//  - a scatter goes on in the buffer of what it starts from:
//      H = scatter from S of H(I(r)) += X(r)
//    From its first point on, S is gone. So nobody but the scatter may want S, and the scatter only
//    as what it adds to: not in what it adds (H(I(r)) += S(r)), nor in its places (H(S(r)) += 1).
//  - a result has the same elements in the same order as what it is computed from, in another
//    shape: y(b, r) = c(3 b + r). Neither is written after it has been made, and anyone may read
//    either.
// Every place that puts two tensors into one buffer asks here; where the answer is no, it copies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

class BufferSharing {
 public:
  /// Linear in the graph, which must outlive this. `in_place`: stages whose results lie where what
  /// they read does already.
  explicit BufferSharing(const LoweredGraph& graph, std::span<const size_t> in_place = {});

  /// Why the result of a stage may not lie in the buffer of `from`, which the stage reads; null: it
  /// may. Holds for any order of the stages in which each comes behind what it reads.
  const char* refusal(size_t stage, TensorId from) const;

  /// The stage that makes a tensor; SIZE_MAX: the caller.
  size_t producer_of(TensorId id) const { return producers_[id.value]; }

 private:
  const char* refusal_of_values(size_t stage, TensorId from) const;
  const char* refusal_of_start(size_t stage, TensorId from) const;

  const LoweredGraph& graph_;
  std::vector<size_t> producers_;            // per tensor
  std::vector<std::vector<size_t>> wanted_;  // per tensor: stages that read it
  std::vector<bool> returned_;               // per tensor: an output
  std::vector<bool> started_;                // per tensor: a scatter goes on in its buffer
  std::vector<size_t> moved_to_;             // per tensor: the stage in place of which it lies
  std::vector<bool> in_place_;               // per stage
};

/// Whether a stage only gives a tensor another shape: its result has the elements of the tensor
/// that its body reads, in their order.
bool only_reshapes(const LoweredGraph& graph, const Stage& stage);

/// Per tensor of a program, the one whose buffer it lies in: itself, if it lies in its own.
std::vector<uint32_t> shared_buffers(const Program& program);

}  // namespace adjit::sched
