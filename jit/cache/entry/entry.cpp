// jit/cache/entry/entry.cpp -- the entry format, written and read.
#include "jit/cache/entry/entry.hpp"

#include <xxhash.h>

#include <concepts>
#include <utility>

#include "runtime/expr/error.hpp"

namespace adjit::cache {

namespace {

constexpr std::string_view kMagic{"adjit\r\n\0", 8};
constexpr size_t kChecksumSize = 16;
constexpr size_t kSmallestString = 8;  // its size alone

[[noreturn]] void refuse(const std::string& reason) { throw Error(ErrorCode::Cache, reason); }

template <std::unsigned_integral Number>
void put(std::string& out, Number value) {
  for (size_t k = 0; k < sizeof(Number); ++k) out.push_back(static_cast<char>(value >> (8 * k)));
}

void put(std::string& out, std::string_view text) {
  put(out, uint64_t{text.size()});
  out.append(text);
}

void put_checksum(std::string& out) {
  const XXH128_hash_t hash = XXH3_128bits(out.data(), out.size());
  put(out, uint64_t{hash.low64});
  put(out, uint64_t{hash.high64});
}

/// Takes numbers and strings off the front of `rest`, refusing to read past its end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <std::unsigned_integral Number>
  Number number() {
    need(sizeof(Number));
    Number value = 0;
    for (size_t k = 0; k < sizeof(Number); ++k)
      value |= static_cast<Number>(Number{static_cast<unsigned char>(rest_[k])} << (8 * k));
    rest_.remove_prefix(sizeof(Number));
    return value;
  }
  std::string_view bytes(uint64_t size) {
    need(size);
    const std::string_view taken = rest_.substr(0, static_cast<size_t>(size));
    rest_.remove_prefix(static_cast<size_t>(size));
    return taken;
  }
  std::string string() { return std::string(bytes(number<uint64_t>())); }
  size_t remaining() const { return rest_.size(); }

 private:
  void need(uint64_t size) const {
    if (size > rest_.size()) refuse("a size reaches past the end of the entry");
  }
  std::string_view rest_;
};

struct Header {
  uint32_t components = 0;
  uint32_t sections = 0;
};

/// Length, magic, version, total, checksum: in this order, so that the reason is the most telling
/// one.
Header take_header(Reader& reader, uint64_t size) {
  if (size < kSmallestEntry) refuse("shorter than any entry");
  if (size > kLargestEntry) refuse("larger than any entry");
  if (reader.bytes(kMagic.size()) != kMagic) refuse("not an entry: wrong magic");
  const auto version = reader.number<uint32_t>();
  if (version != kEntryVersion)
    refuse("format version " + std::to_string(version) + ", this library reads " +
           std::to_string(kEntryVersion));
  Header header;
  header.components = reader.number<uint32_t>();
  header.sections = reader.number<uint32_t>();
  const auto total = reader.number<uint64_t>();
  if (total != size)
    refuse("says " + std::to_string(total) + " bytes and has " + std::to_string(size));
  return header;
}

void check_checksum(std::string_view bytes) {
  Reader tail(bytes.substr(bytes.size() - kChecksumSize));
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size() - kChecksumSize);
  const auto low = tail.number<uint64_t>();
  const auto high = tail.number<uint64_t>();
  if (low != hash.low64 || high != hash.high64) refuse("checksum does not match");
}

void check_counts(const Header& header, const Reader& body) {
  if (header.sections > kMostSections) refuse("too many sections");
  const uint64_t pairs = uint64_t{header.components} + header.sections;
  if (pairs > body.remaining() / (2 * kSmallestString)) refuse("a count exceeds the entry");
}

Entry take_head(Reader& body, const Header& header) {
  check_counts(header, body);
  Entry entry;
  entry.key.components.reserve(header.components);
  for (uint32_t k = 0; k < header.components; ++k) {
    std::string name = body.string();
    entry.key.add(std::move(name), body.string());
  }
  entry.provenance = provenance_from_json(body.bytes(body.number<uint64_t>()));
  return entry;
}

}  // namespace

Entry& Entry::add(std::string name, std::string bytes) {
  sections.push_back({std::move(name), std::move(bytes)});
  return *this;
}

const std::string* Entry::section(std::string_view name) const {
  for (const Section& section : sections)
    if (section.name == name) return &section.bytes;
  return nullptr;
}

std::string encode(const Entry& entry) {
  if (entry.sections.size() > kMostSections) refuse("too many sections");
  const std::string provenance = to_json(entry.provenance);
  uint64_t total = kSmallestEntry + provenance.size();
  for (const Component& component : entry.key.components)
    total += 2 * kSmallestString + component.name.size() + component.value.size();
  for (const Section& section : entry.sections) {
    total += 2 * kSmallestString + section.name.size() + section.bytes.size();
    if (entry.section(section.name) != &section.bytes)
      refuse("two sections are called '" + section.name + "'");
  }
  if (total > kLargestEntry)
    refuse("an entry of " + std::to_string(total) + " bytes exceeds the largest of " +
           std::to_string(kLargestEntry));

  std::string out;
  out.reserve(total);
  out.append(kMagic);
  put(out, kEntryVersion);
  put(out, static_cast<uint32_t>(entry.key.components.size()));
  put(out, static_cast<uint32_t>(entry.sections.size()));
  put(out, total);
  for (const Component& component : entry.key.components) {
    put(out, std::string_view(component.name));
    put(out, std::string_view(component.value));
  }
  put(out, std::string_view(provenance));
  for (const Section& section : entry.sections) {
    put(out, std::string_view(section.name));
    put(out, std::string_view(section.bytes));
  }
  put_checksum(out);
  invariant(out.size() == total, "an encoded entry has the size it says");
  return out;
}

Entry decode(std::string_view bytes) {
  Reader whole(bytes);
  const Header header = take_header(whole, bytes.size());
  check_checksum(bytes);
  Reader body(whole.bytes(whole.remaining() - kChecksumSize));
  Entry entry = take_head(body, header);
  entry.sections.reserve(header.sections);
  for (uint32_t k = 0; k < header.sections; ++k) {
    std::string name = body.string();
    if (entry.section(name) != nullptr) refuse("two sections are called '" + name + "'");
    entry.add(std::move(name), body.string());
  }
  if (body.remaining() != 0) refuse("bytes follow the last section");
  return entry;
}

Entry decode_head(std::string_view first_bytes, uint64_t size) {
  Reader reader(first_bytes);
  const Header header = take_header(reader, size);
  return take_head(reader, header);
}

}  // namespace adjit::cache
