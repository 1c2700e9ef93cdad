// jit/cpu/long_blocks.cpp -- straight-line code in blocks that LLVM compiles in linear time.
#include "jit/cpu/long_blocks.hpp"

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <iterator>
#include <vector>

namespace adjit {

void cut_long_blocks(llvm::Module& module, unsigned instructions) {
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function)
      if (block.size() > 2 * instructions) blocks.push_back(&block);
  for (llvm::BasicBlock* block : blocks)
    while (block->size() > 2 * instructions)
      block = block->splitBasicBlock(
          std::next(block->getFirstNonPHIIt(), static_cast<std::ptrdiff_t>(instructions)), "part");
}

}  // namespace adjit
