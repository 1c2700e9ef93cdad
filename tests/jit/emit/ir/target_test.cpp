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

TEST(GpuFeatures, AreNoProcessors) {
  const TargetFeatures f = gpu_features();
  EXPECT_TRUE(f.gpu && f.fma && f.f16c);
  EXPECT_FALSE(f.has_library || f.avx2 || f.avx512f || f.flushes_subnormals);
  EXPECT_EQ(f.lanes(4), 4);
  EXPECT_EQ(address_space(f), 1u);
  EXPECT_EQ(address_space(from_feature_string("+sse4.1,+avx2")), 0u);
  EXPECT_TRUE(gpu_features(true).flushes_subnormals);
}

}  // namespace
}  // namespace adjit::emit
