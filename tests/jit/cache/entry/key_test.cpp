#include "jit/cache/entry/key.hpp"

#include <gtest/gtest.h>

#include <set>

namespace adjit::cache {
namespace {

TEST(Key, FindsAComponentByName) {
  Key key;
  key.add("graph", "x").add("cpu", "znver5");
  ASSERT_NE(key.find("cpu"), nullptr);
  EXPECT_EQ(*key.find("cpu"), "znver5");
  EXPECT_EQ(key.find("gpu"), nullptr);
}

TEST(Key, SignatureSeesEveryBoundaryAndTheOrder) {
  const std::vector<Key> keys = {
      Key{},
      Key().add("", ""),
      Key().add("ab", "c"),
      Key().add("a", "bc"),
      Key().add("a", "b").add("c", ""),
      Key().add("a", "b").add("", "c"),
      Key().add("c", "").add("a", "b"),
      Key().add("a", std::string("b\0", 2)),
  };
  std::set<Signature> signatures;
  for (const Key& key : keys) signatures.insert(signature_of(key));
  EXPECT_EQ(signatures.size(), keys.size());
}

// Entries outlive the process that wrote them: the signature of a key must never change by
// accident.
TEST(Key, SignatureIsStable) {
  EXPECT_EQ(to_hex(signature_of(Key().add("graph", "x").add("cpu", "znver5"))),
            "6f6dceb6e92a5ae52a33f5f92934738d");
}

TEST(Key, HexRoundTrips) {
  const Signature signature{0x0123456789abcdef, 0xfedcba9876543210};
  EXPECT_EQ(to_hex(signature), "0123456789abcdeffedcba9876543210");
  EXPECT_EQ(signature_from_hex(to_hex(signature)), signature);
}

TEST(Key, HexRefusesOtherText) {
  EXPECT_FALSE(signature_from_hex(""));
  EXPECT_FALSE(signature_from_hex("0123456789abcdeffedcba987654321"));
  EXPECT_FALSE(signature_from_hex("0123456789abcdeffedcba98765432100"));
  EXPECT_FALSE(signature_from_hex("0123456789ABCDEFfedcba9876543210"));
  EXPECT_FALSE(signature_from_hex("0123456789abcdeffedcba987654321g"));
}

TEST(Key, FirstDifferenceNamesTheComponent) {
  const Key key = Key().add("graph", "x").add("cpu", "znver5").add("llvm", "19");
  EXPECT_EQ(first_difference(key, key), std::nullopt);
  EXPECT_EQ(first_difference(key, Key().add("graph", "x").add("cpu", "znver4").add("llvm", "18")),
            "cpu");
  EXPECT_EQ(first_difference(key, Key().add("graph", "x").add("gpu", "znver5").add("llvm", "19")),
            "cpu");
  const Key shorter = Key().add("graph", "x").add("cpu", "znver5");
  EXPECT_EQ(first_difference(key, shorter), "llvm");
  EXPECT_EQ(first_difference(shorter, key), "llvm");
}

}  // namespace
}  // namespace adjit::cache
