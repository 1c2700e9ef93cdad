// jit/cache/files/file_system.cpp -- the system calls of the cache, as they are.
#include "jit/cache/files/file_system.hpp"

#include <dirent.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <random>
#include <system_error>
#include <utility>

#include "jit/cache/entry/key.hpp"
#include "runtime/process/fork.hpp"

namespace adjit::cache {

int FileSystem::open(const char* path, int flags) { return ::open(path, flags); }
int FileSystem::open_at(int directory, const char* name, int flags, mode_t mode) {
  return ::openat(directory, name, flags, mode);
}
int FileSystem::close(int descriptor) { return ::close(descriptor); }
int FileSystem::status(int descriptor, struct stat& result) { return ::fstat(descriptor, &result); }
int FileSystem::status_at(int directory, const char* name, struct stat& result) {
  return ::fstatat(directory, name, &result, AT_SYMLINK_NOFOLLOW);
}
ssize_t FileSystem::read(int descriptor, void* bytes, size_t size) {
  return ::read(descriptor, bytes, size);
}
ssize_t FileSystem::read_at(int descriptor, void* bytes, size_t size, off_t offset) {
  return ::pread(descriptor, bytes, size, offset);
}
ssize_t FileSystem::write(int descriptor, const void* bytes, size_t size) {
  return ::write(descriptor, bytes, size);
}
int FileSystem::rename_at(int directory, const char* from, const char* to) {
  return ::renameat(directory, from, directory, to);
}
int FileSystem::unlink_at(int directory, const char* name) {
  return ::unlinkat(directory, name, 0);
}
int FileSystem::remove_directory_at(int directory, const char* name) {
  return ::unlinkat(directory, name, AT_REMOVEDIR);
}
int FileSystem::make_directory(const char* path, mode_t mode) { return ::mkdir(path, mode); }
uid_t FileSystem::user() { return ::geteuid(); }

int FileSystem::list(int directory, std::vector<std::string>& names) {
  // A fresh open file description: a dup would share its position with `directory`.
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return -1;
  const auto close_stream = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close_stream)> stream(::fdopendir(copy), close_stream);
  if (!stream) {
    ::close(copy);
    return -1;
  }
  for (;;) {
    errno = 0;
    const dirent* item = ::readdir(stream.get());
    if (item == nullptr) return errno == 0 ? 0 : -1;
    const std::string_view name = item->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
}

FileSystem& real_file_system() {
  const ForkDelay no_fork;
  static FileSystem calls;
  return calls;
}

Descriptor::Descriptor(Descriptor&& other) noexcept
    : files_(other.files_), number_(std::exchange(other.number_, -1)) {}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this == &other) return *this;
  reset();
  files_ = other.files_;
  number_ = std::exchange(other.number_, -1);
  return *this;
}

int Descriptor::reset() {
  if (number_ < 0) return 0;
  return files_->close(std::exchange(number_, -1));
}

int read_all(FileSystem& files, int descriptor, size_t size, std::string& bytes) {
  bytes.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t count = files.read(descriptor, bytes.data() + done, size - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) break;
    done += static_cast<size_t>(count);
  }
  bytes.resize(done);
  return 0;
}

int write_all(FileSystem& files, int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = files.write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return EIO;  // no progress and no reason: never spin
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

std::string describe_errno(int error) { return std::generic_category().message(error); }

std::string random_name(std::string_view stem) {
  std::random_device device;
  const Signature number{0, (uint64_t{device()} << 32) | device()};
  return std::string(stem) + to_hex(number).substr(16);
}

}  // namespace adjit::cache
