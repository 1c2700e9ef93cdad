// autosched/moves/record/entry.hpp -- one move in JSON: its members, asked for with the values that
// they may have.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/moves/record/record.hpp"
#include "runtime/domain/bounds.hpp"

namespace adjit::sched {

inline constexpr Interval kPositive{1, INT64_MAX};

/// JSON as a message shows it: ASCII, and not too long.
std::string shown(const Json& json);

/// A member of a move's JSON, and what it may be.
struct MoveMember {
  std::string_view name;
  std::string_view value;  // for people
};

class MoveArgument;

/// A move of a program. What is wrong with it raises ErrorCode::Schedule naming the move's kind,
/// its stage, the member and its value: `tile of 'C': "axis" is -1; it must be 0 to 2`.
class MoveEntry {
 public:
  /// Refuses what is no object with a move's name. Both must outlive the entry.
  MoveEntry(const Json& json, const Program& program);

  const std::string& kind() const { return kind_; }
  /// "tile of 'C'", or "tile" where no stage is named.
  std::string subject() const;
  /// Refuses members other than these and "move"; empty names are none.
  void allow_only(std::span<const MoveMember> members) const;
  bool has(const char* member) const { return json_.contains(member); }
  /// Refuses a move without it.
  MoveArgument operator[](const char* member) const;

  /// An axis of the stage.
  size_t axis(const char* member, size_t stage) const;
  /// By name.
  size_t stage(const char* member) const;
  std::vector<size_t> stages(const char* member) const;
  TensorId tensor(const char* member) const;

 private:
  const Json& json_;
  const Program& program_;
  std::string kind_;
};

/// A member of a move, asked for with the values that it may have.
class MoveArgument {
 public:
  /// All must outlive it.
  MoveArgument(const MoveEntry& entry, const char* name, const Json& json)
      : entry_(entry), name_(name), json_(json) {}

  const Json& json() const { return json_; }
  [[noreturn]] void refuse(const std::string& reason) const;

  int64_t number(Interval range) const { return number_of(json_, range); }
  std::vector<int64_t> numbers(Interval range) const { return numbers_of(json_, range); }
  std::vector<std::vector<int64_t>> lists(Interval range) const;
  /// Numbers from 0 on, below `end`.
  size_t position(size_t end) const;
  std::vector<size_t> positions(size_t end) const;
  bool flag() const;
  const std::string& text() const { return text_of(json_); }
  std::vector<std::string> texts() const;

 private:
  int64_t number_of(const Json& value, Interval range) const;
  std::vector<int64_t> numbers_of(const Json& value, Interval range) const;
  const Json& list_of(const Json& value) const;
  const std::string& text_of(const Json& value) const;

  const MoveEntry& entry_;
  const char* name_;
  const Json& json_;
};

}  // namespace adjit::sched
