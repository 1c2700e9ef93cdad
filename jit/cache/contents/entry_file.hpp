// jit/cache/contents/entry_file.hpp -- one entry as one file: checked reading, atomic publication.
//
// An entry is written under a random temporary name, then renamed onto its own: a reader sees the
// old file, the new one, or none, never half of one. Nothing is synchronised to the disk; what a
// power cut tears, the checksum finds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jit/cache/entry/entry.hpp"
#include "jit/cache/files/directory.hpp"
#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

enum class Fault {
  None,
  Absent,   // no such entry
  Content,  // what stands there is no entry of ours, and never will be
  Io,       // it could not be read this time; it may be perfectly good
};

/// What reading one entry gave: the entry exactly when there is no fault, else the reason.
struct EntryRead {
  Fault fault = Fault::None;
  std::string reason;
  std::optional<Entry> entry;
  uint64_t size = 0;  // bytes of the file, where it was opened
};

/// Opens without following a link or blocking on a pipe; checks type, owner, mode, size, checksum
/// and format. Changes nothing. Throws nothing but std::bad_alloc.
EntryRead read_entry(FileSystem& files, int directory, const Signature& id, Sharing sharing);

/// The same for the key and the provenance alone, without the checksum: one read of a few
/// kilobytes.
EntryRead read_head(FileSystem& files, int directory, const Signature& id, Sharing sharing);

/// Publishes the bytes of an entry. Returns 0 or an errno; on failure nothing is left behind.
int publish_entry(FileSystem& files, int directory, const Signature& id, std::string_view bytes);

}  // namespace adjit::cache
