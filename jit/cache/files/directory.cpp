// jit/cache/files/directory.cpp -- the rules of directories and names.
#include "jit/cache/files/directory.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "jit/cache/files/free_name.hpp"

namespace adjit::cache {

namespace {

constexpr mode_t kOthersAnything = S_IRWXG | S_IRWXO;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr std::string_view kEntrySuffix = ".entry";

bool trusted_owner(FileSystem& files, uid_t owner, Sharing sharing) {
  return owner == files.user() || (sharing == Sharing::Shared && owner == 0);
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

// Whether there is nothing but what a cache makes: a directory like /tmp is no cache that was
// opened to others by mistake.
bool holds_only_ours(FileSystem& files, int directory) {
  std::vector<std::string> names;
  if (files.list(directory, names) != 0) return false;
  return std::ranges::all_of(names, [](const std::string& name) {
    return name == kUsesName || name == kPublishedName || name.starts_with(kTemporaryStem) ||
           name.starts_with(kSetAsideStem) || id_of_entry_name(name);
  });
}

std::string refuse_directory(FileSystem& files, int directory, const std::filesystem::path& path,
                             const struct stat& status, Sharing sharing) {
  if (!trusted_owner(files, status.st_uid, sharing))
    return quoted(path) + " belongs to user " + std::to_string(status.st_uid) +
           ", not to us; set ADJIT_CACHE_DIR to a directory of your own";
  const mode_t forbidden = sharing == Sharing::Private ? kOthersAnything : kOthersWrite;
  if ((status.st_mode & forbidden) == 0) return {};
  const std::string open =
      quoted(path) +
      (sharing == Sharing::Private ? " is open to other users" : " is writable by other users");
  if (!holds_only_ours(files, directory))
    return open + " and holds files of others than the cache; name a directory of its own";
  return open + (sharing == Sharing::Private ? "; run: chmod 700 " : "; run: chmod go-w ") +
         quoted(path);
}

}  // namespace

Directory open_directory(FileSystem& files, const std::filesystem::path& path, Sharing sharing) {
  Directory directory;
  if (path.empty()) {
    directory.refusal = "no directory is named; set ADJIT_CACHE_DIR, XDG_CACHE_HOME or HOME";
    return directory;
  }
  Descriptor opened(files, files.open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!opened) {
    const int error = errno;
    directory.absent = error == ENOENT;
    if (!directory.absent)
      directory.refusal = quoted(path) + " cannot be opened: " + describe_errno(error) +
                          "; set ADJIT_CACHE_DIR to a directory of your own";
    return directory;
  }
  struct stat status{};
  if (files.status(opened.number(), status) != 0) {
    directory.refusal = quoted(path) + " cannot be examined: " + describe_errno(errno);
    return directory;
  }
  directory.refusal = refuse_directory(files, opened.number(), path, status, sharing);
  if (directory.refusal.empty()) directory.descriptor = std::move(opened);
  return directory;
}

int make_directories(FileSystem& files, const std::filesystem::path& path) {
  std::filesystem::path prefix;
  int error = 0, first = 0;
  for (const std::filesystem::path& part : path) {
    prefix /= part;
    if (part.empty() || part == path.root_path()) continue;
    // Parents that are there may refuse with another error than EEXIST: the last counts. If that is
    // for want of a parent, why there is none says more (a home that is read only).
    error = files.make_directory(prefix.c_str(), S_IRWXU) == 0 || errno == EEXIST ? 0 : errno;
    if (first == 0) first = error;
  }
  return error == ENOENT ? first : error;
}

std::string refuse_file(FileSystem& files, const struct stat& status, Sharing sharing) {
  if (!S_ISREG(status.st_mode)) return "not a regular file";
  if (!trusted_owner(files, status.st_uid, sharing))
    return "belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & kOthersWrite) != 0) return "writable by other users";
  return {};
}

Descriptor open_journal(FileSystem& files, int directory, const char* name, int flags,
                        struct stat& status, int& error) {
  constexpr int safely = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const auto open = [&]() -> Descriptor {
    Descriptor file(files, files.open_at(directory, name, flags | safely, S_IRUSR | S_IWUSR));
    error = file && files.status(file.number(), status) == 0 ? 0 : errno;
    if (error == 0 && !refuse_file(files, status, Sharing::Private).empty()) error = EPERM;
    return error == 0 ? std::move(file) : Descriptor();
  };
  Descriptor file = open();
  // A directory, a link, a pipe, a file of somebody else's: only who writes may take it away.
  const bool foreign =
      error == EISDIR || error == ELOOP || error == ENXIO || error == EPERM || error == EACCES;
  if (!foreign || (flags & O_CREAT) == 0) return file;
  const int freed = free_name(files, directory, name);
  return freed == 0 || freed == ENOENT ? open() : Descriptor();
}

std::string entry_name(const Signature& id) { return to_hex(id).append(kEntrySuffix); }

std::optional<Signature> id_of_entry_name(std::string_view name) {
  if (!name.ends_with(kEntrySuffix)) return std::nullopt;
  return signature_from_hex(name.substr(0, name.size() - kEntrySuffix.size()));
}

}  // namespace adjit::cache
