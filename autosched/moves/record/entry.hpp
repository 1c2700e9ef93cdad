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

/// What a member lacks raises ErrorCode::Schedule naming the move's kind, its stage, the member and
/// its value: `tile of 'C': "axis" is -1; it must be 0 to 2`.
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
  const Json& member(const char* name) const;
  [[noreturn]] void refuse(const char* name, const std::string& reason) const;

  int64_t number(const char* name, Interval range) const;
  std::vector<int64_t> numbers(const char* name, Interval range) const;
  std::vector<std::vector<int64_t>> lists(const char* name, Interval range) const;
  /// Numbers from 0 on, below `end`.
  size_t position(const char* name, size_t end) const;
  std::vector<size_t> positions(const char* name, size_t end) const;
  /// An axis of the stage.
  size_t axis(const char* name, size_t stage) const;
  bool flag(const char* name) const;

  /// By name.
  size_t stage(const char* name) const;
  std::vector<size_t> stages(const char* name) const;
  TensorId tensor(const char* name) const;

 private:
  int64_t checked(const char* name, const Json& value, Interval range) const;
  const Json& list(const char* name, const Json& value) const;
  const std::string& text(const char* name, const Json& value) const;
  [[noreturn]] void refuse_stage(const char* name, const std::string& stage) const;

  const Json& json_;
  const Program& program_;
  std::string kind_;
};

}  // namespace adjit::sched
