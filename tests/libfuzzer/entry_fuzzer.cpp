// tests/libfuzzer/entry_fuzzer.cpp -- files of the cache: an entry or an error, never more memory
// than the file's size explains. Checksums are put right, so that what lies behind them is reached.
#include <xxhash.h>

#include <string>
#include <string_view>

#include "jit/cache/contents/uses.hpp"
#include "jit/cache/entry/entry.hpp"
#include "tests/libfuzzer/fuzzing.hpp"

namespace {

using namespace adjit;        // NOLINT: a program of its own
using namespace adjit::fuzz;  // NOLINT

void put(std::string& bytes, size_t at, uint64_t value) {
  for (size_t k = 0; k < 8; ++k) bytes[at + k] = static_cast<char>(value >> (8 * k));
}

// With magic, version, total and checksum as they must be.
std::string repaired(std::string bytes) {
  constexpr std::string_view kMagic{"adjit\r\n\0", 8};
  constexpr size_t kTotalAt = 20;
  if (bytes.size() < cache::kSmallestEntry) return bytes;
  bytes.replace(0, kMagic.size(), kMagic);
  put(bytes, 8, cache::kEntryVersion | uint64_t{static_cast<unsigned char>(bytes[12])} << 32);
  put(bytes, kTotalAt, bytes.size());
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size() - 16);
  put(bytes, bytes.size() - 16, hash.low64);
  put(bytes, bytes.size() - 8, hash.high64);
  return bytes;
}

void check(const std::string& bytes) {
  const cache::Entry entry = cache::decode(bytes);
  const cache::Entry head = cache::decode_head(bytes, bytes.size());
  fuzz::require(head.key == entry.key && head.provenance == entry.provenance,
                "the head is another entry's", "");
  // What is unknown in the provenance goes when it is written again; all else stays.
  const cache::Entry again = cache::decode(cache::encode(entry));
  fuzz::require(again.key == entry.key && again.sections == entry.sections,
                "an entry does not come back as it was written", "");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  fuzz::allow_errors([&] { check(bytes); });
  fuzz::allow_errors([&] { check(repaired(bytes)); });
  fuzz::allow_errors([&] { cache::decode_head(bytes, size + 1000); });
  cache::parse_uses(bytes);
  return 0;
}
