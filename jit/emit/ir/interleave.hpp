// jit/emit/ir/interleave.hpp -- instances of a body in turn.
//
// A body with functions is one long chain: by the latencies of its instructions, the gradient of a
// few functions takes some 200 cycles from its loads to its store. Processors look a hundred or two
// instructions ahead, which is one instance of such a body; when the instructions of two instances
// come in turn, both are in reach. Values are the same to the last bit.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::emit {

/// Instances of a body that are emitted one after the other.
class InstanceSequence {
 public:
  /// The builder must outlive it.
  explicit InstanceSequence(llvm::IRBuilder<>& builder) : builder_(builder) {}

  /// To be called before each instance is emitted, and behind the last one.
  void mark();

  /// Puts the instructions of each pair of long instances in turn, each instance's in their order,
  /// where all instances were emitted at the end of one block. No instance may load what another
  /// one stores.
  void interleave();

 private:
  struct Mark {
    llvm::BasicBlock* block;
    llvm::Instruction* before;  // the last instruction until there; null: none in the block
  };
  llvm::IRBuilder<>& builder_;
  std::vector<Mark> marks_;
};

}  // namespace adjit::emit
