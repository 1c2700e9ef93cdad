// jit/cache/files/free_name.cpp -- unlink, remove, or rename.
#include "jit/cache/files/free_name.hpp"

#include <cerrno>

namespace adjit::cache {

int free_name(FileSystem& files, int directory, const char* name) {
  if (files.unlink_at(directory, name) == 0) return 0;
  const int error = errno;
  struct stat status{};
  // POSIX lets unlink refuse a directory by EPERM, Linux does by EISDIR.
  if ((error != EISDIR && error != EPERM) || files.status_at(directory, name, status) != 0 ||
      !S_ISDIR(status.st_mode))
    return error;
  if (files.remove_directory_at(directory, name) == 0) return 0;
  if (errno != ENOTEMPTY && errno != EEXIST) return errno;
  return files.rename_at(directory, name, random_name(kSetAsideStem).c_str()) == 0 ? 0 : errno;
}

}  // namespace adjit::cache
