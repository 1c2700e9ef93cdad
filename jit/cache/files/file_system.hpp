// jit/cache/files/file_system.hpp -- the system calls of the cache, as an interface.
//
// Tests override single calls to make a disk full, a write short or a process die between two
// steps; everybody else uses the calls as they are.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::cache {

/// Each call does what its namesake in POSIX does: -1 and errno on failure. Any thread may call.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  virtual int open(const char* path, int flags);
  virtual int open_at(int directory, const char* name, int flags, mode_t mode);
  virtual int close(int descriptor);
  virtual int status(int descriptor, struct stat& result);
  /// Of the name itself: a symbolic link is not followed.
  virtual int status_at(int directory, const char* name, struct stat& result);
  virtual ssize_t read(int descriptor, void* bytes, size_t size);
  virtual ssize_t read_at(int descriptor, void* bytes, size_t size, off_t offset);
  virtual ssize_t write(int descriptor, const void* bytes, size_t size);
  virtual int rename_at(int directory, const char* from, const char* to);
  virtual int unlink_at(int directory, const char* name);
  /// Of an empty directory.
  virtual int remove_directory_at(int directory, const char* name);
  virtual int make_directory(const char* path, mode_t mode);
  /// Every name in the directory but "." and "..". 0, or -1 with errno.
  virtual int list(int directory, std::vector<std::string>& names);
  virtual uid_t user();
};

/// The calls as they are. Holds no state.
FileSystem& real_file_system();

/// Owns an open descriptor; empty when below 0. Movable.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(FileSystem& files, int number) : files_(&files), number_(number) {}
  Descriptor(Descriptor&& other) noexcept;
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor() { reset(); }

  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }
  /// Closes; what close() returned, or 0 when empty.
  int reset();

 private:
  FileSystem* files_ = nullptr;
  int number_ = -1;
};

/// Reads up to `size` bytes, fewer at the end of the file, through interruptions and short reads.
/// Returns 0, or the errno of the read that failed.
int read_all(FileSystem& files, int descriptor, size_t size, std::string& bytes);

/// Writes every byte, through interruptions and short writes. Returns 0 or an errno.
int write_all(FileSystem& files, int descriptor, std::string_view bytes);

/// The system's sentence for an errno.
std::string describe_errno(int error);

/// "<stem><16 random hexadecimal digits>", for names that nobody else makes.
std::string random_name(std::string_view stem);

}  // namespace adjit::cache
