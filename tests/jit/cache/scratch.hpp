// tests/jit/cache/scratch.hpp -- a directory for one test, sample entries, and a log that
// remembers.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "jit/cache/entry/entry.hpp"
#include "jit/cache/files/directory.hpp"
#include "jit/cache/log.hpp"
#include "tests/forked_child.hpp"
#include "tests/sanitizer.hpp"

namespace adjit::cache::test {

/// A fresh directory of mode 0700, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjit-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no scratch directory");
    path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  std::filesystem::path entry(const Key& key) const {
    return path_ / entry_name(signature_of(key));
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& item : std::filesystem::directory_iterator(path_))
      names.push_back(item.path().filename());
    return names;
  }
  size_t temporaries() const {
    size_t count = 0;
    for (const std::string& name : names()) count += name.starts_with(kTemporaryStem);
    return count;
  }
  /// The directory opened, for functions that take a descriptor.
  Descriptor open() const {
    return {real_file_system(), ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  }

 private:
  std::filesystem::path path_;
};

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void write_file(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << bytes;
  file.close();
  ASSERT_TRUE(file.good());
  std::filesystem::permissions(path, std::filesystem::perms(0600));
}

/// Sets both times of a file.
inline void set_age(const std::filesystem::path& path, int64_t unix_ms) {
  const timespec at{unix_ms / 1000, (unix_ms % 1000) * 1'000'000};
  const timespec times[2] = {at, at};
  ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW), 0);
}

inline Key sample_key(const std::string& graph = "C(m, n) +=! A(m, r_k) * B(r_k, n)") {
  Key key;
  key.add("graph", graph).add("cpu", "znver5").add("llvm", "19.1.7");
  return key;
}

inline Entry sample_entry(const Key& key = sample_key(), size_t object_bytes = 40) {
  Entry entry;
  entry.key = key;
  entry.provenance.derive_ms = 1.5;
  entry.provenance.compile_ms = 8.25;
  entry.provenance.created_unix_ms = 1'700'000'000'000;
  entry.provenance.adjit_version = "0.1.0";
  entry.provenance.title = "grad(loss)";
  entry.provenance.source_lines = {"model.py:3", "model.py:4"};
  entry.add("schedule", R"([{"move":"inline"}])");
  std::string object;
  for (size_t k = 0; k < object_bytes; ++k) object.push_back(static_cast<char>(k * 37));
  entry.add("object", std::move(object));
  return entry;
}

/// Remembers what is logged, from any thread.
class RememberingLog {
 public:
  Log callback() {
    return [this](Level level, const std::string& message) {
      const std::lock_guard lock(mutex_);
      messages_.emplace_back(level, message);
    };
  }
  std::vector<std::string> at(Level level) const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    for (const auto& [its_level, message] : messages_)
      if (its_level == level) found.push_back(message);
    return found;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::pair<Level, std::string>> messages_;
};

using adjit::test::in_child;
using adjit::test::kSanitized;
using adjit::test::kThreadsAfterFork;
using adjit::test::start_child;
using adjit::test::wait_for;

}  // namespace adjit::cache::test
