// jit/cache/contents/published.hpp -- what all writers of a directory have published, in a file
// beside the entries, so that each knows of the others without counting the directory.
//
// The file "published" is a journal of one record a publication: the entry's bytes, 64 bits, least
// significant byte first. Writers append and read what was appended since they last looked. When it
// has grown large it is begun anew; whoever had read the old one counts the directory. Losing or
// garbling it costs such a count and nothing else.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

/// One writer's place in the journal. One thread at a time.
class Published {
 public:
  /// Appends a publication of so many bytes. Returns the bytes of all publications since the last
  /// call, this one among them; nullopt when they are not known: at the first call, after a journal
  /// was begun anew, and where it cannot be written or read.
  std::optional<uint64_t> add(FileSystem& files, int directory, uint64_t bytes);

 private:
  std::optional<uint64_t> since_last(FileSystem& files, int descriptor, const struct stat& status);

  ino_t file_ = 0;
  off_t read_ = 0;  // up to here
};

}  // namespace adjit::cache
