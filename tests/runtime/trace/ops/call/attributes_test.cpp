// tests/runtime/trace/ops/call/attributes_test.cpp -- attributes of a call, read by name.
#include "runtime/trace/ops/call/attributes.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/rooms.hpp"
#include "tests/runtime/trace/messages.hpp"

namespace adjit::testing {
namespace {

TEST(Attributes, WhatIsMissingOrNullIsTheDefault) {
  const Json values = Json::parse(R"({"axis": null, "keepdims": true, "eps": 2})");
  const Attributes attributes(values);
  EXPECT_FALSE(attributes.has("axis"));
  EXPECT_EQ(attributes.integer("axis", -1), -1);
  EXPECT_TRUE(attributes.flag("keepdims", false));
  EXPECT_EQ(attributes.real("eps", 0.5), 2);
  EXPECT_EQ(attributes.real("alpha", 0.5), 0.5);
  EXPECT_EQ(attributes.text("mode", "constant"), "constant");
  EXPECT_FALSE(attributes.dtype("dtype"));
  const Json none;
  EXPECT_FALSE(Attributes(none).has("axis"));
}

TEST(Attributes, OneIntStandsForSeveral) {
  const Json values = Json::parse(R"({"stride": 2, "padding": [1, 3]})");
  const Attributes attributes(values);
  EXPECT_EQ(attributes.repeated("stride", 3, 1), (Shape{2, 2, 2}));
  EXPECT_EQ(attributes.repeated("dilation", 2, 1), (Shape{1, 1}));
  EXPECT_EQ(attributes.integers("padding"), (Shape{1, 3}));
  message_of(ErrorCode::Invalid, [&] { attributes.repeated("padding", 3, 0); });
}

TEST(Attributes, AWrongTypeIsNamedWithItsValue) {
  const Json values = Json::parse(R"({"axis": "x", "dtype": "float7"})");
  const Attributes attributes(values);
  expect_words(message_of(ErrorCode::Invalid, [&] { attributes.integer("axis"); }),
               {"axis", "int of 64 bits", "\"x\""});
  expect_words(message_of(ErrorCode::Invalid, [&] { attributes.integer("count"); }), {"missing"});
  expect_words(message_of(ErrorCode::DType, [&] { attributes.dtype("dtype"); }), {"float7"});
  const Json list = Json::array();
  message_of(ErrorCode::Invalid, [&] { Attributes all(list); });
}

TEST(Attributes, ScalarsThatJsonHasNoNumberFor) {
  EXPECT_TRUE(std::isnan(scalar_of(Json("nan"))->value()));
  EXPECT_EQ(scalar_of(Json("-inf"))->value(), -INFINITY);
  EXPECT_EQ(scalar_of(Json(UINT64_MAX))->kind, WeakScalar::Kind::Float);
  EXPECT_FALSE(scalar_of(Json("7")));
  EXPECT_FALSE(integer_of(Json(1.0)));
}

}  // namespace
}  // namespace adjit::testing
