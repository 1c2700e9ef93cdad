// tests/jit/emit/ir/outlined_test.cpp -- functions of the module with a branch, and their calls.
#include "jit/emit/ir/outlined.hpp"

#include <gtest/gtest.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cmath>

#include "tests/jit/emit/lane_formula.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using emit::elementary::Arguments, emit::elementary::Outlined, emit::elementary::Quick,
    emit::elementary::Results;

// Says which of the two functions computed: the exact one gives negative numbers.
Quick quick_square(Arguments x) { return {{x[0] * x[0], x[0] + 1}, x[0] > 100}; }
Results exact_square(Arguments x) { return {-(x[0] * x[0]), -x[0]}; }
constexpr Outlined kSquare{"square", 2, quick_square, exact_square};

Quick quick_difference(Arguments x) { return {{x[0] - x[1]}, x[0] < x[1]}; }
Results exact_difference(Arguments x) { return {x[1] - x[0]}; }
constexpr Outlined kDifference{"difference", 1, quick_difference, exact_difference};

Formula result(const Outlined& outlined, unsigned k) {
  return [&outlined, k](Floats x, Floats y) {
    const std::array both{x, y};
    const size_t operands = &outlined == &kDifference ? 2 : 1;
    return emit::elementary::outlined_result(outlined, Arguments(both).first(operands), k);
  };
}

TEST(Outlined, AVectorIsComputedExactlyWhereALaneOfItIsDoubtful) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6, 7, 101};
  EXPECT_EQ(evaluate<float>(result(kSquare, 0), x, x, {.lanes = 4}),
            (std::vector<float>{1, 4, 9, 16, -25, -36, -49, -101 * 101}));
  EXPECT_EQ(evaluate<float>(result(kSquare, 1), x, x, {.lanes = 4}),
            (std::vector<float>{2, 3, 4, 5, -5, -6, -7, -101}));
}

TEST(Outlined, AScalarIsComputedExactlyWhereItIsDoubtful) {
  const std::vector<double> x{1, 101};
  EXPECT_EQ(evaluate<double>(result(kSquare, 0), x, x, {.lanes = 0}),
            (std::vector<double>{1, -101 * 101}));
}

TEST(Outlined, OperandsArriveInTheirOrderAndASingleResultIsTheValueReturned) {
  const std::vector<double> x{7, 2}, y{3, 5};
  EXPECT_EQ(evaluate<double>(result(kDifference, 0), x, y, {.lanes = 0}),
            (std::vector<double>{4, 3}));
}

/// Emits in a loop's body and looks at what is there; runs nothing.
template <class Look>
void emitted(const Look& look) {
  const CompiledFunction f(Element::F32, Element::F32, 2,
                           [&](llvm::IRBuilder<>& b, VectorMath& math, std::span<llvm::Value*> v) {
                             const LaneContext context{b, math.features()};
                             look(Floats(context, v[0]), Floats(context, v[1]));
                             return v[0];
                           });
}

size_t calls_in(const llvm::BasicBlock& block) {
  return static_cast<size_t>(std::ranges::count_if(
      block, [](const llvm::Instruction& i) { return llvm::isa<llvm::CallInst>(i); }));
}

TEST(Outlined, ResultsOfOneArgumentInABlockAreOneCall) {
  emitted([](Floats x, Floats y) {
    const llvm::IRBuilder<>& b = x.context().builder;
    result(kSquare, 0)(x, y);
    result(kSquare, 1)(x, y);
    result(kSquare, 0)(x, y);
    EXPECT_EQ(calls_in(*b.GetInsertBlock()), 1u);
    result(kSquare, 0)(y, x);
    EXPECT_EQ(calls_in(*b.GetInsertBlock()), 2u) << "another argument";
    result(kDifference, 0)(x, y);
    result(kDifference, 0)(x, x);
    EXPECT_EQ(calls_in(*b.GetInsertBlock()), 4u) << "the second argument counts, too";
  });
}

TEST(Outlined, ACallBehindTheBuilderOrInAnotherBlockDoesNotServe) {
  emitted([](Floats x, Floats y) {
    llvm::IRBuilder<>& b = x.context().builder;
    llvm::BasicBlock* block = b.GetInsertBlock();
    const llvm::Value* before = result(kSquare, 0)(x, y).value();
    b.SetInsertPoint(&*std::next(llvm::cast<llvm::Instruction>(x.value())->getIterator()));
    const llvm::Value* earlier = result(kSquare, 0)(x, y).value();
    EXPECT_NE(before, earlier);
    EXPECT_EQ(calls_in(*block), 2u);
    llvm::BasicBlock* next = llvm::BasicBlock::Create(b.getContext(), "next", block->getParent());
    b.SetInsertPoint(block);
    b.CreateBr(next);
    b.SetInsertPoint(next);
    result(kSquare, 0)(x, y);
    EXPECT_EQ(calls_in(*next), 1u);
  });
}

TEST(Outlined, TheModuleHasOneFunctionOfEachTypeThatIsNeverInlined) {
  emitted([](Floats x, Floats y) {
    llvm::IRBuilder<>& b = x.context().builder;
    llvm::Function& calling = *b.GetInsertBlock()->getParent();
    calling.addFnAttr("said-of-the-caller");
    result(kSquare, 0)(x, y);
    result(kSquare, 0)(y, x);
    const Floats scalar(x.context(), b.CreateExtractElement(x.value(), uint64_t{0}));
    result(kSquare, 0)(scalar, scalar);
    const llvm::Module& module = *calling.getParent();
    for (const char* name : {"adjit.square.v16f32", "adjit.square.v16f32.exact", "adjit.square.f32",
                             "adjit.square.f32.exact"}) {
      const llvm::Function* function = module.getFunction(name);
      ASSERT_NE(function, nullptr) << name;
      EXPECT_TRUE(function->hasInternalLinkage()) << name;
      EXPECT_TRUE(function->hasFnAttribute(llvm::Attribute::NoInline)) << name;
      EXPECT_TRUE(function->hasFnAttribute("said-of-the-caller")) << name;
    }
    EXPECT_EQ(std::ranges::count_if(
                  module,
                  [](const llvm::Function& f) { return f.getName().starts_with("adjit.square"); }),
              4);
  });
}

const Formula kAnyAbove = [](Floats x, Floats) {
  llvm::IRBuilder<>& b = x.context().builder;
  llvm::Value* any = emit::elementary::any_lane(x > 10);
  llvm::Value* number = b.CreateUIToFP(any, x.value()->getType()->getScalarType());
  if (x.lanes()) number = b.CreateVectorSplat(x.lanes(), number);
  return Floats(x.context(), number);
};

TEST(AnyLane, IsSetByOneLaneOfAVectorAndByAScalar) {
  const std::vector<double> x{1, 11, 2, 3, 4, 5};
  EXPECT_EQ(evaluate<double>(kAnyAbove, x, x, {.lanes = 3}),
            (std::vector<double>{1, 1, 1, 0, 0, 0}));
  EXPECT_EQ(evaluate<double>(kAnyAbove, x, x, {.lanes = 0}),
            (std::vector<double>{0, 1, 0, 0, 0, 0}));
}

TEST(UnlessAny, OneLaneOfTheMaskTakesTheWholeVectorTheOtherWay) {
  const Formula formula = [](Floats x, Floats) {
    const llvm::BasicBlock* before = x.context().builder.GetInsertBlock();
    const Results values =
        emit::elementary::unless_any(x > 10, {x + 1, x + 2}, [&] { return Results{x - 1, x - 2}; });
    EXPECT_NE(x.context().builder.GetInsertBlock(), before);
    return values[0] * 1000 + values[1];
  };
  const std::vector<double> x{5, 6, 7, 20};
  EXPECT_EQ(evaluate<double>(formula, x, x, {.lanes = 2}),
            (std::vector<double>{6007, 7008, 6005, 19018}));
}

TEST(Mixed, TakesEachResultLaneByLane) {
  const Formula formula = [](Floats x, Floats y) {
    const Results results = emit::elementary::mixed(x > y, {x, x + 1}, {y, y + 2});
    return results[0] * 1000 + results[1];
  };
  EXPECT_EQ(evaluate<double>(formula, {5, 1}, {3, 4}, {.lanes = 2}),
            (std::vector<double>{5006, 4006}));
}

}  // namespace
}  // namespace adjit::testing
