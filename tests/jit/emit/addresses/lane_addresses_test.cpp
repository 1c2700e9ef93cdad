// tests/jit/emit/addresses/lane_addresses_test.cpp -- addresses of lanes, and gathers.
#include "jit/emit/addresses/lane_addresses.hpp"

#include <gtest/gtest.h>

#include "jit/cpu/object.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "tests/autosched/programs.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/jit/emit/shaped_body.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// y(i, j) = x(j, i): lanes of 8 are rows of x apart.
struct Columns : BodyBench {
  Columns()
      : BodyBench(vectorize(plain(parse_graph("def f(float(24, 5) x) -> (y) { y(i, j) = x(j, i) "
                                              "where i in 0:5, j in 0:24 }"),
                                  1),
                            0, 1, 8)),
        tensor(body.pool().read_tensor(body.body())),
        form(*emit::plain_address(context, body.body())) {}
  emit::Emitted data(unsigned bits) { return {unknown_lanes(builder.getIntNTy(bits)), 0}; }

  TensorId tensor;
  Affine form;
};

TEST(LaneAddresses, WhatLanesShareGoesIntoThePointer) {
  Columns c;
  const Affine shared = emit::shared_offset(c.context, c.tensor, c.form);
  EXPECT_FALSE(c.variables.in_lanes(shared));
  EXPECT_EQ(c.variables.lane_stride(c.form - shared), 5);
  const Affine beyond = c.form + Affine(24 * 5);
  EXPECT_EQ(emit::shared_offset(c.context, c.tensor, beyond), Affine()) << "outside the tensor";
  c.body.places.at(c.tensor).origin = {Affine(), Affine()};
  EXPECT_EQ(emit::shared_offset(c.context, c.tensor, c.form), Affine()) << "a buffer of our own";
}

// Offsets by data are as wide as the tensor needs.
TEST(LaneAddresses, OffsetsOfFewElementsHave32Bits) {
  Columns c;
  const auto width = [&] {
    const emit::Address address{c.form, {{c.data(64), 5}, {c.data(32), 1}}};
    return emit::lane_offsets(c.context, c.tensor, address).value->getType()->getScalarSizeInBits();
  };
  EXPECT_EQ(width(), 32u);
  c.body.places.at(c.tensor).strides = {int64_t{1} << 29, 1};
  EXPECT_EQ(width(), 64u);
  c.body.places.at(c.tensor).strides = {INT64_MAX, 1};
  EXPECT_EQ(width(), 64u) << "nobody knows how far";
}

TEST(LaneAddresses, OffsetsAreAddedUpWhereTheyAreKnown) {
  Columns c;
  const emit::Emitted outer = c.data(64);
  c.scopes.push_here();
  const emit::Emitted inner{c.unknown_lanes(c.builder.getInt64Ty()), 1};
  const emit::Address address{Affine(), {{inner, 1}, {outer, 5}}};
  EXPECT_EQ(emit::lane_offsets(c.context, c.tensor, address).depth, 1u);
  EXPECT_EQ(emit::lane_offsets(c.context, c.tensor, {Affine(), {{outer, 5}}}).depth, 0u);
  c.scopes.pop();
}

TEST(LaneAddresses, RowsAConstantApartTakeNoVector) {
  Columns c;
  const emit::LaneRows rows = emit::rows_of_lanes(c.context, c.tensor, {c.form, {}}, 6);
  EXPECT_EQ(rows.pointers.size(), 6u);
  EXPECT_EQ(occurrences(ir_text(c.module), "<8 x"), 0u) << ir_text(c.module);
  EXPECT_EQ(
      emit::rows_of_lanes(c.context, c.tensor, {c.form, {{c.data(64), 5}}}, 8).pointers.size(), 8u);
  EXPECT_GT(occurrences(ir_text(c.module), "extractelement <8 x"), 0u);
}

TEST(LaneAddresses, ElementsLieForwardsWhereNoStrideIsNegative) {
  Columns c;
  EXPECT_TRUE(emit::lies_forwards(c.body.places[c.tensor]));
  c.body.places.at(c.tensor).strides = {-5, 1};
  EXPECT_FALSE(emit::lies_forwards(c.body.places[c.tensor]));
}

TEST(LaneAddresses, GathersAreOneLoadALaneBeforeAvx512) {
  for (const bool avx512 : {true, false}) {
    Columns c;
    TargetFeatures features;
    features.avx512f = avx512;
    llvm::Type* element = c.builder.getFloatTy();
    llvm::Value* offsets = c.unknown_lanes(c.builder.getInt32Ty());
    llvm::SmallVector<llvm::Constant*, 8> three;
    for (unsigned lane = 0; lane < 8; ++lane) three.push_back(c.builder.getInt1(lane < 3));
    emit::gather(c.builder, features, element, c.function->getArg(0), offsets, nullptr, true);
    emit::gather(c.builder, features, element, c.function->getArg(0), offsets,
                 llvm::ConstantVector::get(three), true);
    const std::string ir = ir_text(c.module);
    EXPECT_EQ(occurrences(ir, "call <8 x float> @llvm.masked.gather"), avx512 ? 2u : 0u) << ir;
    EXPECT_EQ(occurrences(ir, "load float"), avx512 ? 0u : 8u + 3u) << ir;
  }
}

// Under masks nothing outside is touched, also where there is nothing.
TEST(LaneAddresses, LanesThatAreOffReadNothing) {
  for (const char* rows : {"5", "0"}) {
    const Graph graph = parse_graph("def main(float(" + std::string(rows) +
                                    ", 3) x, int64(21) I) -> (y) { y(i) = x(I(i), 1) }");
    const Program program = vectorize(plain(graph, 1), 0, 0, 8);
    EXPECT_EQ(check_emitted(program, small_inputs(graph, 2)), "") << rows;
  }
}

}  // namespace
}  // namespace adjit::testing
