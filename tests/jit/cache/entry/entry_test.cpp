#include "jit/cache/entry/entry.hpp"

#include <gtest/gtest.h>
#include <xxhash.h>

#include "runtime/expr/error.hpp"
#include "tests/jit/cache/scratch.hpp"

namespace adjit::cache {
namespace {

using test::sample_entry;

std::string reason_of(const std::string& bytes) {
  try {
    decode(bytes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::Cache);
    return error.what();
  }
  return "";
}

void put_number(std::string& bytes, size_t at, uint64_t value, size_t size) {
  for (size_t k = 0; k < size; ++k) bytes[at + k] = static_cast<char>(value >> (8 * k));
}

/// Makes the header's total and the checksum right again, as an attacker would.
std::string sealed(std::string bytes) {
  put_number(bytes, 20, bytes.size(), 8);
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size() - 16);
  put_number(bytes, bytes.size() - 16, hash.low64, 8);
  put_number(bytes, bytes.size() - 8, hash.high64, 8);
  return bytes;
}

TEST(Entry, RoundTrips) {
  const Entry entry = sample_entry();
  EXPECT_EQ(decode(encode(entry)), entry);
  ASSERT_NE(entry.section("object"), nullptr);
  EXPECT_EQ(entry.section("object")->size(), 40U);
  EXPECT_EQ(entry.section("ptx"), nullptr);
}

TEST(Entry, AnEmptyEntryRoundTrips) {
  EXPECT_EQ(decode(encode(Entry{})), Entry{});
  EXPECT_GE(encode(Entry{}).size(), kSmallestEntry);
}

TEST(Entry, RefusesEveryTruncation) {
  const std::string bytes = encode(sample_entry());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_NE(reason_of(bytes.substr(0, size)), "") << size;
  EXPECT_NE(reason_of(bytes + '\0'), "");
}

TEST(Entry, RefusesEveryFlippedBit) {
  const std::string bytes = encode(sample_entry());
  for (size_t k = 0; k < 8 * bytes.size(); ++k) {
    std::string flipped = bytes;
    flipped[k / 8] = static_cast<char>(flipped[k / 8] ^ (1 << (k % 8)));
    EXPECT_NE(reason_of(flipped), "") << "bit " << k;
  }
}

TEST(Entry, SaysWhatIsWrong) {
  const std::string bytes = encode(sample_entry());
  EXPECT_EQ(reason_of("short"), "shorter than any entry");
  EXPECT_EQ(reason_of(std::string(200, 'x')), "not an entry: wrong magic");
  EXPECT_EQ(reason_of(bytes + "x"), "says " + std::to_string(bytes.size()) + " bytes and has " +
                                        std::to_string(bytes.size() + 1));
  std::string other = bytes;
  other[8] = 7;
  EXPECT_EQ(reason_of(other), "format version 7, this library reads 1");
  other = bytes;
  other[40] = static_cast<char>(other[40] ^ 1);
  EXPECT_EQ(reason_of(other), "checksum does not match");
}

// With the checksum made right again: every size and count may lie, and nothing is allocated for
// it. What is not refused is another entry that means what it says.
TEST(Entry, SizesThatLieAreRefused) {
  const std::string bytes = encode(sample_entry());
  ASSERT_EQ(sealed(bytes), bytes);
  for (uint64_t lie : {uint64_t{1} << 31, uint64_t{0xffffffff}}) {
    std::string other = bytes;
    put_number(other, 12, lie, 4);
    EXPECT_EQ(reason_of(sealed(other)), "a count exceeds the entry");
    other = bytes;
    put_number(other, 16, lie, 4);
    EXPECT_EQ(reason_of(sealed(other)), "too many sections");
  }
  for (uint64_t lie : {uint64_t{1000}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{7}}) {
    std::string other = bytes;
    put_number(other, 28, lie, 8);  // the first component's name
    EXPECT_EQ(reason_of(sealed(other)), "a size reaches past the end of the entry") << lie;
  }
}

TEST(Entry, EveryByteWithAValidChecksumIsReadSafely) {
  const std::string bytes = encode(sample_entry());
  for (size_t k = 8; k < bytes.size() - 16; ++k) {
    for (int value : {0, 1, 0x7f, 0x80, 0xff}) {
      std::string other = bytes;
      other[k] = static_cast<char>(value);
      other = sealed(other);
      try {
        const Entry read = decode(other);
        EXPECT_EQ(decode(encode(read)), read);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::Cache);
      }
    }
  }
}

TEST(Entry, RefusesLeftoversAndTwins) {
  const std::string bytes = encode(sample_entry());
  std::string longer = bytes;
  longer.insert(longer.size() - 16, "x");
  EXPECT_EQ(reason_of(sealed(longer)), "bytes follow the last section");

  Entry twins = sample_entry();
  twins.add("object", "again");
  EXPECT_THROW(encode(twins), Error);
  twins.sections.back().name = "tcejbo";
  std::string written = encode(twins);
  written.replace(written.find("tcejbo"), 6, "object");
  EXPECT_EQ(reason_of(sealed(written)), "two sections are called 'object'");

  Entry many;
  for (uint32_t k = 0; k <= kMostSections; ++k) many.add(std::to_string(k), "");
  EXPECT_THROW(encode(many), Error);
}

TEST(Entry, RefusesWhatIsTooLarge) {
  Entry large;
  large.add("object", std::string(kLargestEntry, 'x'));
  EXPECT_THROW(encode(large), Error);
}

}  // namespace
}  // namespace adjit::cache
