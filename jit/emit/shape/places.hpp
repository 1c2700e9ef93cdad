// jit/emit/shape/places.hpp -- where a kernel finds the tensors that it reads or writes.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "runtime/expr/affine.hpp"
#include "runtime/graph/graph.hpp"

namespace llvm {
class Value;
}

namespace adjit::emit {

/// Where a kernel finds a tensor.
struct TensorPlace {
  llvm::Value* pointer = nullptr;
  size_t pointer_depth = 0;      // scope in which the pointer is known
  size_t depth = 0;              // scope from which on its elements may be read
  std::vector<int64_t> strides;  // in elements
  std::vector<Affine>
      origin;  // per dimension, over kernel variables: what index 0 of the buffer stands for
  /// Buffers of the kernel: vectors may be read past the end of a row (of the last one, too), and
  /// vectors of `row_lanes` from the beginning of a row may be stored past it (0: they may not).
  bool readable_beyond = false;
  int64_t row_lanes = 0;
  /// Elements of memory that a block shares, all of which may be read whatever was written there; 0
  /// of other places.
  int64_t shared_elements = 0;
  int64_t alignment =
      0;  // bytes that divide the address of the buffer's element 0; 0: an element's
  std::optional<size_t> slot = {};  // of a tensor in memory: see TensorPlaces::table
  /// Of one that has several buffers, which `pointer` goes through in turn: the first one, and how
  /// many bytes each has.
  struct Buffers {
    llvm::Value* first = nullptr;
    int64_t bytes = 0;
  };
  Buffers buffers = {};
};

/// Where a kernel finds the tensors that it reads or writes.
class TensorPlaces {
 public:
  /// The place to fill in of a tensor that has none yet, or to change.
  TensorPlace& at(TensorId tensor) { return places_[tensor.value]; }
  /// The place of a tensor that the kernel was given: another is an internal error.
  const TensorPlace& operator[](TensorId tensor) const {
    const auto found = places_.find(tensor.value);
    invariant(found != places_.end(), "a kernel reads a tensor that it was not given");
    return found->second;
  }
  /// The array of the pointers that the kernel was given: a tensor's is at its slot. A kernel that
  /// was given the pointers themselves has none.
  llvm::Value* table() const {
    invariant(table_ != nullptr, "a kernel looks up a tensor in a table that it was not given");
    return table_;
  }
  void set_table(llvm::Value* table) { table_ = table; }

 private:
  std::unordered_map<uint32_t, TensorPlace> places_;  // a graph has many more
  llvm::Value* table_ = nullptr;
};

}  // namespace adjit::emit
