// tests/jit/emit/addresses/address_test.cpp -- addresses over the kernel's variables.
#include "jit/emit/addresses/address.hpp"

#include <gtest/gtest.h>

#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// y(i, j) = x(index) of an x(40, 24), i four times unrolled, j in lanes of 8.
Program element_of_x(const std::string& index) {
  const Graph graph = parse_graph("def f(float(40, 24) x, int64(40) n) -> (y) { y(i, j) = x(" +
                                  index + ") where i in 0:40, j in 0:24 }");
  return vectorize(unroll(plain(graph, 1), 0, 0, 4), 0, 1, 8);
}

size_t variable(const BodyBench& b, LoopKind kind, size_t axis) {
  for (const Loop& loop : b.body.nest.nest->loops)
    if (loop.kind == kind && loop.axis == axis) return loop.variable;
  ADD_FAILURE() << "no such loop";
  return 0;
}

TEST(Address, PlainOnesAreFormsOfTheKernelsVariables) {
  BodyBench b(element_of_x("i, 23 - j"));
  const size_t i = variable(b, LoopKind::Serial, 0), j = variable(b, LoopKind::Serial, 1);
  const size_t lane = variable(b, LoopKind::Vector, 1);
  const std::optional<Affine> form = emit::plain_address(b.context, b.body.body());
  ASSERT_TRUE(form);
  EXPECT_EQ(*form, Affine::variable(i, 4 * 24) - Affine::variable(j, 8) - Affine::variable(lane) +
                       Affine(23));
  b.variables.bind_fixed(variable(b, LoopKind::Unrolled, 0), 3);
  EXPECT_EQ(*emit::plain_address(b.context, b.body.body()) - *form, Affine(3 * 24))
      << "at another instance";
}

TEST(Address, DivisionsAreOfTheKernelsVariables) {
  BodyBench b(element_of_x("i // 4, j"));
  const Affine row = emit::placed(b.context, b.body.pool().read_index(b.body.body())[0]);
  EXPECT_EQ(row, Affine::variable(variable(b, LoopKind::Serial, 0))) << "the loop's trip";
}

TEST(Address, WhatDataOrAPredicateDecidesIsNotPlain) {
  for (const char* index : {"max(min(n(i), 39), 0), j", "i, j where i < j"}) {
    const BodyBench b(element_of_x(index));
    EXPECT_FALSE(emit::plain_address(b.context, b.body.body())) << index;
  }
}

TEST(Address, WhatDividesItFollowsFromTheBufferAndTheForm) {
  BodyBench b(element_of_x("i, j"));
  const size_t i = variable(b, LoopKind::Serial, 0), lane = variable(b, LoopKind::Vector, 1);
  const auto divides = [&](int64_t buffer, const Affine& form,
                           const std::vector<emit::DataCoordinate>& data = {}) {
    const emit::TensorPlace place{.strides = {}, .origin = {}, .alignment = buffer};
    return emit::alignment_at(place, 4, form, data).value();
  };
  const Affine rows = Affine::variable(i, 96);
  EXPECT_EQ(divides(0, rows), 4u) << "nothing is known";
  EXPECT_EQ(divides(256, rows), 16u);
  EXPECT_EQ(divides(8, rows), 8u);
  EXPECT_EQ(divides(256, rows + Affine(2)), 8u);
  EXPECT_EQ(divides(256, rows + Affine(-1)), 4u);
  EXPECT_EQ(divides(256, Affine::variable(i, 6)), 8u);
  EXPECT_EQ(divides(256, rows + Affine::variable(lane)), 4u) << "of lanes side by side";
  EXPECT_EQ(divides(256, rows + Affine::variable(lane, 2)), 8u) << "of each lane";
  EXPECT_EQ(divides(256, b.variables.without_lanes(rows + Affine::variable(lane))), 16u);
  EXPECT_EQ(divides(256, rows, {{{}, 24}}), 16u);
  EXPECT_EQ(divides(256, rows, {{{}, 1}}), 4u);
}

TEST(Address, IndicesAreVectorsWhereLanesDiffer) {
  BodyBench b(element_of_x("i, j"));
  const std::span<const ExprId> index = b.body.pool().read_index(b.body.body());
  EXPECT_TRUE(emit::index_value(b.context, emit::placed(b.context, index[0]))
                  .value->getType()
                  ->isIntegerTy(64));
  EXPECT_EQ(emit::index_value(b.context, emit::placed(b.context, index[1])).value->getType(),
            llvm::FixedVectorType::get(b.builder.getInt64Ty(), 8));
}

TEST(Address, NumbersMoveAPointerAndLanesDoNot) {
  BodyBench b(element_of_x("i, j"));
  llvm::Type* number = b.builder.getInt64Ty();
  const emit::Emitted uniform{b.unknown(number), 0}, lanes{b.unknown_lanes(number), 0};
  llvm::Value* start = b.function->getArg(0);
  llvm::Type* element = b.builder.getFloatTy();
  const emit::Address apart{Affine(), {{lanes, 24}}}, both{Affine(), {{lanes, 24}, {uniform, 3}}};
  EXPECT_TRUE(emit::differs_by_data(apart));
  EXPECT_FALSE(emit::differs_by_data({Affine(), {{uniform, 3}}}));
  EXPECT_EQ(emit::moved_by_data(b.builder, start, element, apart), start);
  EXPECT_NE(emit::moved_by_data(b.builder, start, element, both), start);
}

}  // namespace
}  // namespace adjit::testing
