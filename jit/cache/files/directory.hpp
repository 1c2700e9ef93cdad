// jit/cache/files/directory.hpp -- which directory may be a cache, and what its files are called.
//
// Objects from the cache are mapped executable, so whoever can write the directory can run code as
// its user. A private directory therefore belongs to the user and is open to nobody else; a shared
// one is read only, belongs to the user or to root, and is writable by nobody else.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "jit/cache/entry/key.hpp"
#include "jit/cache/files/file_system.hpp"

namespace adjit::cache {

enum class Sharing { Private, Shared };

/// An open directory, or why there is none.
struct Directory {
  Descriptor descriptor;
  bool absent = false;  // there is nothing at the path: not a fault
  std::string refusal;  // why it may not be used, and the remedy
  explicit operator bool() const { return static_cast<bool>(descriptor); }
};

/// Opens and checks owner and mode. Opened anew for each use, so that a directory which is removed,
/// made again or opened up to others while a program runs is noticed. Throws nothing but
/// std::bad_alloc.
Directory open_directory(FileSystem& files, const std::filesystem::path& path, Sharing sharing);

/// Makes the directory and what is missing above it, each with mode 0700. Returns 0 (also when it
/// exists) or an errno.
int make_directories(FileSystem& files, const std::filesystem::path& path);

/// Why a file with this status, found in such a directory, may not be read as an entry; empty if it
/// may.
std::string refuse_file(FileSystem& files, const struct stat& status, Sharing sharing);

/// "<32 hexadecimal digits>.entry" and back.
std::string entry_name(const Signature& id);
std::optional<Signature> id_of_entry_name(std::string_view name);

/// A file that is being written. Whoever dies before renaming it leaves an orphan.
inline constexpr std::string_view kTemporaryStem = ".writing-";
/// See uses.hpp.
inline constexpr const char* kUsesName = "uses";
/// See published.hpp.
inline constexpr const char* kPublishedName = "published";

/// Opens a file of ours beside the entries, a regular one that nobody else can write; makes room
/// for it where something else has its name. Returns an empty descriptor and an errno on failure.
Descriptor open_journal(FileSystem& files, int directory, const char* name, int flags,
                        struct stat& status, int& error);

}  // namespace adjit::cache
