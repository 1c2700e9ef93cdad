// jit/cache/directory.cpp -- the rules of directories and names.
#include "jit/cache/directory.hpp"

#include <cerrno>
#include <utility>

namespace adjit::cache {

namespace {

constexpr mode_t kOthersAnything = S_IRWXG | S_IRWXO;
constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr std::string_view kEntrySuffix = ".entry";

bool trusted_owner(FileSystem& files, uid_t owner, Sharing sharing) {
  return owner == files.user() || (sharing == Sharing::Shared && owner == 0);
}

std::string quoted(const std::filesystem::path& path) { return "'" + path.string() + "'"; }

std::string refuse_directory(FileSystem& files, const std::filesystem::path& path,
                             const struct stat& status, Sharing sharing) {
  if (!trusted_owner(files, status.st_uid, sharing))
    return quoted(path) + " belongs to user " + std::to_string(status.st_uid) +
           ", not to us; set ADJIT_CACHE_DIR to a directory of your own";
  const mode_t forbidden = sharing == Sharing::Private ? kOthersAnything : kOthersWrite;
  if ((status.st_mode & forbidden) == 0) return {};
  if (sharing == Sharing::Private)
    return quoted(path) + " is open to other users; run: chmod 700 " + quoted(path);
  return quoted(path) + " is writable by other users; run: chmod go-w " + quoted(path);
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
  directory.refusal = refuse_directory(files, path, status, sharing);
  if (directory.refusal.empty()) directory.descriptor = std::move(opened);
  return directory;
}

int make_directories(FileSystem& files, const std::filesystem::path& path) {
  std::filesystem::path prefix;
  int error = 0;
  for (const std::filesystem::path& part : path) {
    prefix /= part;
    if (part.empty() || part == path.root_path()) continue;
    // Parents may refuse with another error than EEXIST (a read-only mount above ours): the last
    // counts.
    error = files.make_directory(prefix.c_str(), S_IRWXU) == 0 || errno == EEXIST ? 0 : errno;
  }
  return error;
}

std::string refuse_file(FileSystem& files, const struct stat& status, Sharing sharing) {
  if (!S_ISREG(status.st_mode)) return "not a regular file";
  if (!trusted_owner(files, status.st_uid, sharing))
    return "belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & kOthersWrite) != 0) return "writable by other users";
  return {};
}

std::string entry_name(const Signature& id) { return to_hex(id).append(kEntrySuffix); }

std::optional<Signature> id_of_entry_name(std::string_view name) {
  if (!name.ends_with(kEntrySuffix)) return std::nullopt;
  return signature_from_hex(name.substr(0, name.size() - kEntrySuffix.size()));
}

}  // namespace adjit::cache
