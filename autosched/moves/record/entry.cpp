// autosched/moves/record/entry.cpp -- members of a move in JSON, and what is wrong with them.
#include "autosched/moves/record/entry.hpp"

#include <algorithm>
#include <unordered_map>

namespace adjit::sched {
namespace {

// The first few of many names.
std::string names_of(const Graph& graph) {
  constexpr size_t kMost = 8;
  std::string text;
  for (size_t s = 0; s < std::min(graph.stages.size(), kMost); ++s)
    text += (s > 0 ? ", '" : "'") + stage_name(graph, graph.stages[s]) + "'";
  return graph.stages.size() > kMost ? text + ", ..." : text;
}

}  // namespace

std::string shown(const Json& json) {
  constexpr size_t kMost = 200;
  const std::string text = json.dump(-1, ' ', true);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

MoveEntry::MoveEntry(const Json& json, const Program& program) : json_(json), program_(program) {
  if (!json.is_object()) throw Error(ErrorCode::Schedule, "a move must be an object");
  kind_ = "a move";
  kind_ = text("move", member("move"));
}

std::string MoveEntry::subject() const {
  const auto stage = json_.find("stage");
  if (stage == json_.end() || !stage->is_string()) return kind_;
  for (const Stage& one : program_.graph.stages)
    if (stage_name(program_.graph, one) == stage->get_ref<const std::string&>())
      return kind_ + " of '" + stage_name(program_.graph, one) + "'";
  return kind_;
}

void MoveEntry::allow_only(std::span<const MoveMember> members) const {
  for (const auto& [name, value] : json_.items()) {
    if (name == "move" ||
        (!name.empty() && std::ranges::find(members, name, &MoveMember::name) != members.end()))
      continue;
    std::string known;
    for (const MoveMember& one : members)
      if (!one.name.empty())
        known += (known.empty() ? "\"" : ", \"") + std::string(one.name) + "\"";
    throw Error(ErrorCode::Schedule, subject() + " has no member " + shown(Json(name)) +
                                         "; it has " + (known.empty() ? "none" : known));
  }
}

const Json& MoveEntry::member(const char* name) const {
  const auto found = json_.find(name);
  if (found == json_.end()) throw Error(ErrorCode::Schedule, subject() + " lacks \"" + name + "\"");
  return *found;
}

void MoveEntry::refuse(const char* name, const std::string& reason) const {
  throw Error(ErrorCode::Schedule,
              subject() + ": \"" + name + "\" is " + shown(member(name)) + "; " + reason);
}

int64_t MoveEntry::checked(const char* name, const Json& value, Interval range) const {
  const bool large = value.is_number_unsigned() && value.get<uint64_t>() > INT64_MAX;
  if (value.is_number_integer() && !large)
    if (const auto number = value.get<int64_t>(); number >= range.lo && number <= range.hi)
      return number;
  std::string wanted = "an integer";
  if (range.hi < range.lo) {
    wanted = "one of none";
  } else if (range.hi == INT64_MAX) {
    wanted += " from " + std::to_string(range.lo) + " on";
  } else {
    wanted += " from " + std::to_string(range.lo) + " to " + std::to_string(range.hi);
  }
  const bool inside = &value != &member(name);
  refuse(name, (inside ? shown(value) + " must be " : "it must be ") + wanted);
}

const Json& MoveEntry::list(const char* name, const Json& value) const {
  if (value.is_array()) return value;
  refuse(name, &value == &member(name) ? "it must be a list" : shown(value) + " must be a list");
}

const std::string& MoveEntry::text(const char* name, const Json& value) const {
  if (!value.is_string())
    refuse(name, (&value == &member(name) ? "it" : shown(value)) + " must be a name");
  return value.get_ref<const std::string&>();
}

int64_t MoveEntry::number(const char* name, Interval range) const {
  return checked(name, member(name), range);
}

std::vector<int64_t> MoveEntry::numbers(const char* name, Interval range) const {
  std::vector<int64_t> found;
  for (const Json& value : list(name, member(name))) found.push_back(checked(name, value, range));
  return found;
}

std::vector<std::vector<int64_t>> MoveEntry::lists(const char* name, Interval range) const {
  std::vector<std::vector<int64_t>> found;
  for (const Json& inner : list(name, member(name))) {
    found.emplace_back();
    for (const Json& value : list(name, inner)) found.back().push_back(checked(name, value, range));
  }
  return found;
}

size_t MoveEntry::position(const char* name, size_t end) const {
  return static_cast<size_t>(number(name, {0, static_cast<int64_t>(end) - 1}));
}

std::vector<size_t> MoveEntry::positions(const char* name, size_t end) const {
  const std::vector<int64_t> found = numbers(name, {0, static_cast<int64_t>(end) - 1});
  return {found.begin(), found.end()};
}

size_t MoveEntry::axis(const char* name, size_t stage) const {
  return position(name, program_.graph.stages[stage].domain.rank());
}

bool MoveEntry::flag(const char* name) const {
  const Json& value = member(name);
  if (!value.is_boolean()) refuse(name, "it must be true or false");
  return value.get<bool>();
}

size_t MoveEntry::stage(const char* name) const {
  const std::string& wanted = text(name, member(name));
  const std::vector<Stage>& stages = program_.graph.stages;
  for (size_t s = 0; s < stages.size(); ++s)
    if (stage_name(program_.graph, stages[s]) == wanted) return s;
  refuse_stage(name, wanted);
}

std::vector<size_t> MoveEntry::stages(const char* name) const {
  // Long lists occur (every inlined stage): one map instead of a search for each.
  std::unordered_map<std::string, size_t> numbers;
  const Graph& graph = program_.graph;
  for (size_t s = 0; s < graph.stages.size(); ++s)
    numbers.emplace(stage_name(graph, graph.stages[s]), s);
  std::vector<size_t> found;
  for (const Json& one : list(name, member(name))) {
    const auto at = numbers.find(text(name, one));
    if (at == numbers.end()) refuse_stage(name, one.get_ref<const std::string&>());
    found.push_back(at->second);
  }
  return found;
}

TensorId MoveEntry::tensor(const char* name) const {
  const std::string& wanted = text(name, member(name));
  const std::vector<TensorInfo>& tensors = program_.graph.tensors;
  for (uint32_t t = 0; t < tensors.size(); ++t)
    if (tensors[t].name == wanted) return TensorId{t};
  refuse(name, "there is no such tensor");
}

void MoveEntry::refuse_stage(const char* name, const std::string& stage) const {
  const std::string quoted = shown(Json(stage));
  refuse(name, "there is no stage '" + quoted.substr(1, quoted.size() - 2) + "'; there are " +
                   names_of(program_.graph));
}

}  // namespace adjit::sched
