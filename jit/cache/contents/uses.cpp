// jit/cache/contents/uses.cpp -- the journal of uses.
#include "jit/cache/contents/uses.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>

#include "jit/cache/files/directory.hpp"
#include "jit/cache/files/replace_file.hpp"

namespace adjit::cache {

namespace {

constexpr size_t kLargestJournal = size_t{64} << 20;  // bytes; what lies beyond is not read

std::string line_of(const Signature& id, const Use& use) {
  return "\n" + to_hex(id) + " " + std::to_string(use.last_unix_ms) + " " +
         std::to_string(use.count) + "\n";
}

template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

bool take_space(std::string_view& text) {
  if (!text.starts_with(' ')) return false;
  text.remove_prefix(1);
  return true;
}

void add_line(std::string_view line, Uses& uses) {
  const std::optional<Signature> id = signature_from_hex(line.substr(0, 32));
  if (!id) return;
  line.remove_prefix(32);
  Use use;
  if (!take_space(line) || !take_number(line, use.last_unix_ms)) return;
  if (!take_space(line) || !take_number(line, use.count) || !line.empty()) return;
  Use& sum = uses[*id];
  sum.last_unix_ms = std::max(sum.last_unix_ms, use.last_unix_ms);
  sum.count += use.count;  // of unsigned numbers: a garbled count wraps and harms nobody
}

}  // namespace

Uses parse_uses(std::string_view text) {
  Uses uses;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    add_line(text.substr(0, end), uses);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return uses;
}

int append_use(FileSystem& files, int directory, const Signature& id, int64_t now_unix_ms,
               uint64_t& journal_size) {
  struct stat status{};
  int error = 0;
  Descriptor file =
      open_journal(files, directory, kUsesName, O_WRONLY | O_APPEND | O_CREAT, status, error);
  if (!file) return error;
  const std::string line = line_of(id, {now_unix_ms, 1});
  error = write_all(files, file.number(), line);
  journal_size = static_cast<uint64_t>(status.st_size) + line.size();
  if (file.reset() != 0 && error == 0) error = errno;
  return error;
}

int read_uses(FileSystem& files, int directory, Uses& uses) {
  struct stat status{};
  int error = 0;
  const Descriptor file = open_journal(files, directory, kUsesName, O_RDONLY, status, error);
  uses.clear();
  if (!file) return error == ENOENT ? 0 : error;
  const size_t size = std::min(static_cast<size_t>(status.st_size), kLargestJournal);
  std::string text;
  error = read_all(files, file.number(), size, text);
  if (error == 0) uses = parse_uses(text);
  return error;
}

int compact_uses(FileSystem& files, int directory, uint64_t& journal_size) {
  Uses uses;
  const int error = read_uses(files, directory, uses);
  if (error != 0) return error;
  std::string text;
  for (const auto& [id, use] : uses) {
    struct stat status{};
    if (files.status_at(directory, entry_name(id).c_str(), status) == 0) text += line_of(id, use);
  }
  journal_size = text.size();
  return replace_file(files, directory, kUsesName, text);
}

}  // namespace adjit::cache
