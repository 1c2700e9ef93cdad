// jit/cpu/long_blocks.cpp -- straight-line code in blocks that LLVM compiles in linear time.
#include "jit/cpu/long_blocks.hpp"

#include <llvm/IR/BasicBlock.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

#include <vector>

namespace adjit::cpu {

namespace {

// Every so many instructions of a block a place to cut it, in their order; the last part has up to
// twice as many.
std::vector<llvm::BasicBlock::iterator> places_to_cut(llvm::BasicBlock& block,
                                                      unsigned instructions) {
  std::vector<llvm::BasicBlock::iterator> places;
  unsigned part = 0;
  for (auto at = block.getFirstNonPHIIt(); at != block.end(); ++at) {
    if (part++ < instructions) continue;
    places.push_back(at);
    part = 1;
  }
  if (!places.empty()) places.pop_back();
  return places;
}

}  // namespace

void cut_long_blocks(llvm::Module& module, unsigned instructions) {
  std::vector<llvm::BasicBlock*> blocks;
  for (llvm::Function& function : module)
    for (llvm::BasicBlock& block : function) blocks.push_back(&block);
  for (llvm::BasicBlock* block : blocks) {
    // From the end on: what lies behind a cut moves, and that is one part each time.
    std::vector<llvm::BasicBlock::iterator> places = places_to_cut(*block, instructions);
    for (; !places.empty(); places.pop_back()) block->splitBasicBlock(places.back(), "part");
  }
}

}  // namespace adjit::cpu
