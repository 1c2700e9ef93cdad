#include "jit/emit/ir/target.hpp"

#include <gtest/gtest.h>

namespace adjit::emit {
namespace {

TEST(FromFeatureString, WidestVectorFollowsFromTheExtensions) {
  EXPECT_EQ(from_feature_string("").vector_bits, 128);
  EXPECT_EQ(from_feature_string("+sse4.1,+avx2").vector_bits, 256);
  const TargetFeatures f =
      from_feature_string("+sse4.1,+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512dq");
  EXPECT_EQ(f.vector_bits, 512);
  EXPECT_TRUE(f.avx512vl && f.avx512dq && f.fma && f.f16c);
  EXPECT_EQ(f.lanes(4), 16);
  EXPECT_EQ(f.lanes(8), 8);
}

TEST(FromFeatureString, TheLastMentionWinsAndOthersAreIgnored) {
  EXPECT_FALSE(from_feature_string("+sse4.1,+fma,-fma").fma);
  EXPECT_TRUE(from_feature_string("+sse4.1,-fma,+fma,+mystery,,rubbish").fma);
}

TEST(FromFeatureString, AnExtensionNeedsWhatItBuildsOn) {
  EXPECT_FALSE(from_feature_string("+avx512f").avx512f);
  EXPECT_EQ(from_feature_string("+avx512f,+avx512vl").vector_bits, 128);
  EXPECT_FALSE(from_feature_string("+sse4.1,+avx2,+fma,+f16c,+avx512vl").avx512vl);
}

}  // namespace
}  // namespace adjit::emit
