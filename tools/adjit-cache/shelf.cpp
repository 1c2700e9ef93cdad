// tools/adjit-cache/shelf.cpp -- opening, abbreviating, reading.
#include "tools/adjit-cache/shelf.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "tools/adjit-cache/exit_code.hpp"

namespace adjit::cache_tool {

namespace {

constexpr size_t kShortestAbbreviation = 4;
constexpr size_t kUsualAbbreviation = 8;

}  // namespace

Shelf open_shelf(const std::filesystem::path& path) {
  Shelf shelf;
  shelf.path = path;
  shelf.directory = cache::open_directory(shelf.files(), path, cache::Sharing::Private);
  if (shelf.directory.absent) return shelf;
  if (!shelf.directory) throw Failure(ExitCode::Io, shelf.directory.refusal);
  const int error = cache::take_inventory(shelf.files(), shelf.handle(), shelf.inventory);
  if (error != 0)
    throw Failure(ExitCode::Io,
                  "'" + path.string() + "' cannot be listed: " + cache::describe_errno(error));
  return shelf;
}

const cache::EntryFile& resolve(const Shelf& shelf, std::string_view abbreviation) {
  if (abbreviation.size() < kShortestAbbreviation)
    throw Failure(ExitCode::Usage, "'" + std::string(abbreviation) +
                                       "' is too short for an id: give four digits or more");
  const cache::EntryFile* found = nullptr;
  for (const cache::EntryFile& file : shelf.inventory.entries) {
    if (!cache::to_hex(file.id).starts_with(abbreviation)) continue;
    if (found != nullptr)
      throw Failure(ExitCode::Usage, "'" + std::string(abbreviation) +
                                         "' is ambiguous: " + abbreviate(shelf, found->id) + ", " +
                                         abbreviate(shelf, file.id));
    found = &file;
  }
  if (found == nullptr)
    throw Failure(ExitCode::Usage, "no entry's id begins with '" + std::string(abbreviation) + "'");
  return *found;
}

std::string abbreviate(const Shelf& shelf, const cache::Signature& id) {
  const std::string own = cache::to_hex(id);
  const std::vector<cache::EntryFile>& entries = shelf.inventory.entries;
  // They are by id: what shares most of it stands beside it.
  const auto here = std::ranges::lower_bound(entries, id, {}, &cache::EntryFile::id);
  const auto behind = here != entries.end() && here->id == id ? here + 1 : here;
  size_t length = kUsualAbbreviation;
  const auto differ_from = [&](const cache::EntryFile& file) {
    const std::string other = cache::to_hex(file.id);
    const auto difference = std::ranges::mismatch(own, other).in1 - own.begin();
    length = std::max(length, static_cast<size_t>(difference) + 1);
  };
  if (here != entries.begin()) differ_from(*(here - 1));
  if (behind != entries.end()) differ_from(*behind);
  return own.substr(0, length);
}

namespace {

cache::EntryRead of_this_id(cache::EntryRead read, const cache::Signature& id) {
  if (read.entry && cache::signature_of(read.entry->key) != id) {
    read.entry.reset();
    read.fault = cache::Fault::Content;
    read.reason = "its components belong to another id";
  }
  return read;
}

}  // namespace

cache::EntryRead look_at(const Shelf& shelf, const cache::Signature& id) {
  return of_this_id(cache::read_entry(shelf.files(), shelf.handle(), id, cache::Sharing::Private),
                    id);
}

cache::EntryRead glance_at(const Shelf& shelf, const cache::Signature& id) {
  return of_this_id(cache::read_head(shelf.files(), shelf.handle(), id, cache::Sharing::Private),
                    id);
}

cache::Entry take(const Shelf& shelf, const cache::Signature& id) {
  cache::EntryRead read = look_at(shelf, id);
  if (read.entry) return std::move(*read.entry);
  const bool damaged = read.fault == cache::Fault::Content;
  throw Failure(damaged ? ExitCode::Findings : ExitCode::Io,
                "entry " + cache::to_hex(id) + ": " + read.reason);
}

}  // namespace adjit::cache_tool
