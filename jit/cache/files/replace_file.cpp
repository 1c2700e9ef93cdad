// jit/cache/files/replace_file.cpp -- temporary name, write, rename.
#include "jit/cache/files/replace_file.hpp"

#include <cerrno>

#include "jit/cache/files/directory.hpp"
#include "jit/cache/files/free_name.hpp"

namespace adjit::cache {

int replace_file(FileSystem& files, int directory, const std::string& name,
                 std::string_view bytes) {
  constexpr int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const std::string temporary = random_name(kTemporaryStem);
  Descriptor file(files, files.open_at(directory, temporary.c_str(), flags, S_IRUSR | S_IWUSR));
  if (!file) return errno;
  int error = write_all(files, file.number(), bytes);
  // Some file systems find out at close that the disk is full.
  if (file.reset() != 0 && error == 0) error = errno;
  const auto renamed = [&] {
    return files.rename_at(directory, temporary.c_str(), name.c_str()) == 0 ? 0 : errno;
  };
  if (error == 0) error = renamed();
  if (error == EISDIR || error == ENOTEMPTY || error == EEXIST) {  // a directory has our name
    error = free_name(files, directory, name.c_str());
    if (error == 0 || error == ENOENT) error = renamed();
  }
  if (error != 0) files.unlink_at(directory, temporary.c_str());
  return error;
}

}  // namespace adjit::cache
