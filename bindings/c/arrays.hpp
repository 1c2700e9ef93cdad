// bindings/c/arrays.hpp -- DLPack tensors against what an executable wants.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bindings/c/adjit.h"
#include "jit/engine/plan/plan.hpp"

namespace adjit::c {

/// ErrorCode::DType for element types that adjit lacks; ErrorCode::DType for a number out of range.
DType dtype_of(const DLDataType& type);
DType dtype_of(adjit_dtype dtype);

/// The shape, once rank, extents and their product make sense; ErrorCode::Shape or Invalid
/// otherwise. Everything below takes tensors that passed.
std::span<const int64_t> shape_of(const DLTensor& tensor);

/// Strides in elements; row-major when the tensor gives none.
TensorLayout layout_of(const DLTensor& tensor);

/// Address of element 0. ErrorCode::Device when the tensor does not lie in CPU memory,
/// ErrorCode::Invalid when it has elements but no data.
void* address_of(const DLTensor& tensor);

/// Whether a tensor lies in the memory of this GPU (-1: of none), not in the host's.
/// ErrorCode::Device when it lies elsewhere.
bool lies_on(const DLTensor& tensor, int device);
/// As address_of(), of a tensor that lies on the device or in the host's memory.
void* address_on(const DLTensor& tensor, int device);

/// The bytes between the lowest and the highest element of an array; none when it is empty.
struct Extent {
  uintptr_t begin = 0, end = 0;
};
Extent extent_of(const void* first, const ArraySpec& spec);

/// Addresses of a call's arrays: on the stack for the usual number of them.
class Addresses {
 public:
  explicit Addresses(size_t count) : more_(count > few_.size() ? count : 0) {}
  void** data() { return more_.empty() ? few_.data() : more_.data(); }
  void* const* data() const { return more_.empty() ? few_.data() : more_.data(); }

 private:
  std::array<void*, 32> few_;
  std::vector<void*> more_;
};

/// Of each array of a call, whether it lies on a device: likewise.
class Places {
 public:
  explicit Places(size_t count)
      : more_(count > few_.size() ? std::make_unique<bool[]>(count) : nullptr), count_(count) {}
  bool* data() { return more_ ? more_.get() : few_.data(); }
  /// Empty where none does.
  std::span<const bool> on_device() const;

 private:
  std::array<bool, 64> few_{};
  std::unique_ptr<bool[]> more_;  // NOLINT(modernize-avoid-c-arrays): vector<bool> has no bools
  size_t count_;
};

/// ErrorCode::Invalid unless a call has as many inputs and outputs as the plan.
void require_counts(const ExecutionPlan& plan, int64_t inputs, int64_t outputs);

/// ErrorCode::Invalid where an output overlaps an input or another output: an element could be
/// written before it is read. Allocates nothing for up to 64 arrays.
void require_apart(const ExecutionPlan& plan, void* const* inputs, void* const* outputs);

/// Checks device, dtype, shape and strides (of dimensions with more than one element) against the
/// specification; ErrorCode::DType, Shape or Device naming `role` ("input", "output") and
/// `position`.
void check_array(const DLTensor& tensor, const ArraySpec& spec, const char* role, size_t position);

}  // namespace adjit::c
