// tests/jit/emit/ir/interleave_test.cpp -- instructions of instances in turn.
#include "jit/emit/ir/interleave.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>

#include <string>

namespace adjit::emit {
namespace {

// A function of a float, and chains of additions in it.
class Interleave : public ::testing::Test {
 protected:
  Interleave() {
    llvm::Type* type = llvm::Type::getFloatTy(context_);
    function_ = llvm::Function::Create(llvm::FunctionType::get(type, {type}, false),
                                       llvm::Function::ExternalLinkage, "f", module_);
    builder_.SetInsertPoint(llvm::BasicBlock::Create(context_, "", function_));
    total_ = builder_.CreateFNeg(function_->getArg(0), "start");
  }

  // So many additions, named by the instance: "a0", "a1", ...
  llvm::Value* instance(const std::string& name, size_t additions, llvm::Value* from) {
    for (size_t k = 0; k < additions; ++k)
      from = builder_.CreateFAdd(from, function_->getArg(0), name + std::to_string(k));
    return from;
  }

  // The first letters of a finished, valid function's instructions.
  std::string order() {
    builder_.CreateRet(total_);
    EXPECT_FALSE(llvm::verifyFunction(*function_, &llvm::errs()));
    std::string letters;
    for (const llvm::BasicBlock& block : *function_)
      for (const llvm::Instruction& one : block) letters += one.getName().substr(0, 1).str();
    return letters;
  }

  static std::string times(size_t count, const std::string& text) {
    std::string all;
    for (size_t k = 0; k < count; ++k) all += text;
    return all;
  }

  llvm::LLVMContext context_;
  llvm::Module module_{"m", context_};
  llvm::IRBuilder<> builder_{context_};
  llvm::Function* function_ = nullptr;
  llvm::Value* total_ = nullptr;
  InstanceSequence sequence_{builder_};
};

TEST_F(Interleave, TwoLongInstancesAtATime) {
  llvm::Value* start = total_;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    sequence_.mark();
    instance(name, 50, start);
  }
  sequence_.mark();
  sequence_.interleave();
  EXPECT_EQ(order(), "s" + times(50, "ab") + times(50, "cd") + times(50, "e"));
}

TEST_F(Interleave, ShortInstancesStay) {
  for (const char* name : {"a", "b"}) {
    sequence_.mark();
    instance(name, 8, total_);
  }
  sequence_.mark();
  sequence_.interleave();
  EXPECT_EQ(order(), "s" + times(8, "a") + times(8, "b"));
}

// The second instance uses what the first one has computed at the end.
TEST_F(Interleave, OperandsComeFirst) {
  sequence_.mark();
  total_ = instance("a", 50, total_);
  sequence_.mark();
  instance("b", 10, function_->getArg(0));
  total_ = instance("c", 40, total_);
  sequence_.mark();
  sequence_.interleave();
  EXPECT_EQ(order(), "s" + times(10, "ab") + times(40, "a") + times(40, "c"));
}

// Each instance loads, computes and stores in its order; of three instances, the short one stays.
TEST_F(Interleave, InstancesKeepTheirOwnOrder) {
  llvm::Type* type = builder_.getFloatTy();
  llvm::Value* place = builder_.CreateAlloca(type, builder_.getInt32(4), "start");
  for (const std::string name : {"a", "b", "c"}) {
    sequence_.mark();
    llvm::Value* at = builder_.CreateGEP(type, place, builder_.getInt64(name[0] - 'a'), name);
    llvm::Value* value = builder_.CreateLoad(type, at, name);
    builder_.CreateStore(instance(name, name == "c" ? 3 : 40, value), at);
  }
  sequence_.mark();
  sequence_.interleave();
  // Stores have no name.
  EXPECT_EQ(order(), "ss" + times(42, "ab") + times(5, "c"));
  std::string stores;
  for (const llvm::Instruction& one : function_->getEntryBlock())
    if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(&one))
      stores += store->getValueOperand()->getName().str() + " ";
  EXPECT_EQ(stores, "a39 b39 c2 ");
}

TEST_F(Interleave, BranchesKeepInstancesApart) {
  sequence_.mark();
  instance("a", 50, total_);
  llvm::BasicBlock* next = llvm::BasicBlock::Create(context_, "", function_);
  builder_.CreateBr(next);
  builder_.SetInsertPoint(next);
  sequence_.mark();
  instance("b", 50, total_);
  sequence_.mark();
  sequence_.interleave();
  EXPECT_EQ(order(), "s" + times(50, "a") + times(50, "b"));
}

}  // namespace
}  // namespace adjit::emit
