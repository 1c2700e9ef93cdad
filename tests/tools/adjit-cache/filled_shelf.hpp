// tests/tools/adjit-cache/filled_shelf.hpp -- a cache directory with entries for one test.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "jit/cache/contents/entry_file.hpp"
#include "jit/cache/contents/uses.hpp"
#include "tests/jit/cache/scratch.hpp"
#include "tools/adjit-cache/commands.hpp"

namespace adjit::cache_tool::test {

using cache::test::sample_entry;
using cache::test::sample_key;

class FilledShelf : public ::testing::Test {
 protected:
  /// Publishes an entry written at this time; its id.
  std::string add(const cache::Entry& entry, int64_t written_unix_ms = 1'700'000'000'000) {
    const cache::Signature id = cache::signature_of(entry.key);
    EXPECT_EQ(cache::publish_entry(cache::real_file_system(), scratch.open().number(), id,
                                   cache::encode(entry)),
              0);
    cache::test::set_age(scratch.entry(entry.key), written_unix_ms);
    return cache::to_hex(id);
  }
  std::string add(const std::string& graph, size_t object_bytes = 40,
                  int64_t written_unix_ms = 1'700'000'000'000) {
    return add(sample_entry(sample_key(graph), object_bytes), written_unix_ms);
  }
  void use(const std::string& id, int times = 1, int64_t when_unix_ms = 1'700'000'000'000) {
    uint64_t size = 0;
    for (int k = 0; k < times; ++k)
      ASSERT_EQ(cache::append_use(cache::real_file_system(), scratch.open().number(),
                                  *cache::signature_from_hex(id), when_unix_ms, size),
                0);
  }
  Shelf shelf() { return open_shelf(scratch.path()); }

  /// Name, content and time stamp of every file.
  std::map<std::string, std::pair<std::string, int64_t>> snapshot() const {
    std::map<std::string, std::pair<std::string, int64_t>> files;
    for (const std::string& name : scratch.names())
      files[name] = {cache::test::read_file(scratch / name),
                     std::filesystem::last_write_time(scratch / name).time_since_epoch().count()};
    return files;
  }
  /// What `command(stream)` prints.
  template <class Command>
  static std::string printed(Command&& command, ExitCode expected = ExitCode::Ok) {
    std::ostringstream out;
    EXPECT_EQ(command(out), expected) << out.str();
    return out.str();
  }
  static bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  }
  /// Runs `action`, which must throw Failure; the message.
  template <class Action>
  static std::string failure(ExitCode code, Action&& action) {
    try {
      action();
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), code) << failure.what();
      return failure.what();
    }
    ADD_FAILURE() << "no failure";
    return "";
  }

  cache::test::Scratch scratch;
};

}  // namespace adjit::cache_tool::test
