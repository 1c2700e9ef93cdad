// tests/runtime/trace/ops/call/signature_test.cpp -- signatures taken apart.
#include "runtime/trace/ops/call/signature.hpp"

#include <gtest/gtest.h>

namespace adjit::trace {
namespace {

TEST(Signature, TensorsThenAttributes) {
  const OperatorSignature s = parse_signature("(x, w, bias=None, *, stride=1, size=(2, 3))");
  ASSERT_EQ(s.tensors.size(), 3u);
  EXPECT_EQ(s.tensors[1].name, "w");
  EXPECT_FALSE(s.tensors[1].optional);
  EXPECT_TRUE(s.tensors[2].optional);
  EXPECT_FALSE(s.variadic);
  EXPECT_EQ(s.attributes, (std::vector<std::string_view>{"stride", "size"}));
}

TEST(Signature, TheLastTensorMayStandForAnyNumber) {
  const OperatorSignature s = parse_signature("(tensors..., *, axis=0)");
  ASSERT_EQ(s.tensors.size(), 1u);
  EXPECT_EQ(s.tensors[0].name, "tensors");
  EXPECT_TRUE(s.variadic);
}

TEST(Signature, MayHaveNoTensors) {
  const OperatorSignature s = parse_signature("(*, shape)");
  EXPECT_TRUE(s.tensors.empty());
  EXPECT_EQ(s.attributes, (std::vector<std::string_view>{"shape"}));
}

}  // namespace
}  // namespace adjit::trace
