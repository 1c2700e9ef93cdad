// jit/cache/contents/entry_file.cpp -- reading and publishing one file.
#include "jit/cache/contents/entry_file.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "jit/cache/files/replace_file.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::cache {

namespace {

EntryRead faulty(Fault fault, std::string reason) {
  EntryRead result;
  result.fault = fault;
  result.reason = std::move(reason);
  return result;
}

EntryRead cannot_open(int error) {
  if (error == ENOENT) return faulty(Fault::Absent, "no entry");
  if (error == ELOOP) return faulty(Fault::Content, "a symbolic link");
  if (error == ENXIO || error == ENODEV) return faulty(Fault::Content, "not a regular file");
  return faulty(Fault::Io, "cannot be opened: " + describe_errno(error));
}

EntryRead read_with(FileSystem& files, int directory, const Signature& id, Sharing sharing,
                    size_t most, Entry (*decoded)(std::string_view bytes, uint64_t size)) {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const std::string name = entry_name(id);
  const Descriptor file(files, files.open_at(directory, name.c_str(), flags, 0));
  if (!file) return cannot_open(errno);

  struct stat status{};
  if (files.status(file.number(), status) != 0)
    return faulty(Fault::Io, "cannot be examined: " + describe_errno(errno));
  std::string refusal = refuse_file(files, status, sharing);
  if (!refusal.empty()) return faulty(Fault::Content, std::move(refusal));
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size < kSmallestEntry || size > kLargestEntry)
    return faulty(Fault::Content, "no entry has " + std::to_string(size) + " bytes");

  std::string bytes;
  const int error =
      read_all(files, file.number(), std::min(most, static_cast<size_t>(size)), bytes);
  if (error != 0) return faulty(Fault::Io, "cannot be read: " + describe_errno(error));
  EntryRead result;
  result.size = size;
  try {
    result.entry = decoded(bytes, size);
  } catch (const Error& malformed) {
    return faulty(Fault::Content, malformed.what());
  }
  return result;
}

}  // namespace

EntryRead read_entry(FileSystem& files, int directory, const Signature& id, Sharing sharing) {
  return read_with(files, directory, id, sharing, kLargestEntry,
                   [](std::string_view bytes, uint64_t) { return decode(bytes); });
}

EntryRead read_head(FileSystem& files, int directory, const Signature& id, Sharing sharing) {
  constexpr size_t kUsualHead = 16384;  // bytes; a schedule that was given may be longer
  EntryRead head = read_with(files, directory, id, sharing, kUsualHead, decode_head);
  if (head.fault != Fault::Content) return head;
  return read_entry(files, directory, id, sharing);
}

int publish_entry(FileSystem& files, int directory, const Signature& id, std::string_view bytes) {
  return replace_file(files, directory, entry_name(id), bytes);
}

}  // namespace adjit::cache
