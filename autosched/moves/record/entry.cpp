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

[[noreturn]] void refuse_stage(const MoveArgument& argument, const std::string& stage,
                               const Graph& graph) {
  const std::string quoted = shown(Json(stage));
  argument.refuse("there is no stage '" + quoted.substr(1, quoted.size() - 2) + "'; there are " +
                  names_of(graph));
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
  kind_ = (*this)["move"].text();
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

MoveArgument MoveEntry::operator[](const char* member) const {
  const auto found = json_.find(member);
  if (found == json_.end())
    throw Error(ErrorCode::Schedule, subject() + " lacks \"" + member + "\"");
  return {*this, member, *found};
}

size_t MoveEntry::axis(const char* member, size_t stage) const {
  return (*this)[member].position(program_.graph.stages[stage].domain.rank());
}

size_t MoveEntry::stage(const char* member) const {
  const MoveArgument argument = (*this)[member];
  const std::string& wanted = argument.text();
  const std::vector<Stage>& stages = program_.graph.stages;
  for (size_t s = 0; s < stages.size(); ++s)
    if (stage_name(program_.graph, stages[s]) == wanted) return s;
  refuse_stage(argument, wanted, program_.graph);
}

std::vector<size_t> MoveEntry::stages(const char* member) const {
  // Long lists occur (every inlined stage): one map instead of a search for each.
  std::unordered_map<std::string, size_t> numbers;
  const Graph& graph = program_.graph;
  for (size_t s = 0; s < graph.stages.size(); ++s)
    numbers.emplace(stage_name(graph, graph.stages[s]), s);
  std::vector<size_t> found;
  const MoveArgument argument = (*this)[member];
  for (const std::string& name : argument.texts()) {
    const auto at = numbers.find(name);
    if (at == numbers.end()) refuse_stage(argument, name, graph);
    found.push_back(at->second);
  }
  return found;
}

TensorId MoveEntry::tensor(const char* member) const {
  const MoveArgument argument = (*this)[member];
  const std::vector<TensorInfo>& tensors = program_.graph.tensors;
  for (uint32_t t = 0; t < tensors.size(); ++t)
    if (tensors[t].name == argument.text()) return TensorId{t};
  argument.refuse("there is no such tensor");
}

void MoveArgument::refuse(const std::string& reason) const {
  throw Error(ErrorCode::Schedule,
              entry_.subject() + ": \"" + name_ + "\" is " + shown(json_) + "; " + reason);
}

int64_t MoveArgument::number_of(const Json& value, Interval range) const {
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
  refuse((&value != &json_ ? shown(value) + " must be " : "it must be ") + wanted);
}

std::vector<int64_t> MoveArgument::numbers_of(const Json& value, Interval range) const {
  std::vector<int64_t> found;
  for (const Json& number : list_of(value)) found.push_back(number_of(number, range));
  return found;
}

const Json& MoveArgument::list_of(const Json& value) const {
  if (value.is_array()) return value;
  refuse((&value == &json_ ? "it" : shown(value)) + " must be a list");
}

const std::string& MoveArgument::text_of(const Json& value) const {
  if (!value.is_string()) refuse((&value == &json_ ? "it" : shown(value)) + " must be a name");
  return value.get_ref<const std::string&>();
}

std::vector<std::vector<int64_t>> MoveArgument::lists(Interval range) const {
  std::vector<std::vector<int64_t>> found;
  for (const Json& inner : list_of(json_)) found.push_back(numbers_of(inner, range));
  return found;
}

size_t MoveArgument::position(size_t end) const {
  return static_cast<size_t>(number({0, static_cast<int64_t>(end) - 1}));
}

std::vector<size_t> MoveArgument::positions(size_t end) const {
  const std::vector<int64_t> found = numbers({0, static_cast<int64_t>(end) - 1});
  return {found.begin(), found.end()};
}

bool MoveArgument::flag() const {
  if (!json_.is_boolean()) refuse("it must be true or false");
  return json_.get<bool>();
}

std::vector<std::string> MoveArgument::texts() const {
  std::vector<std::string> found;
  for (const Json& value : list_of(json_)) found.push_back(text_of(value));
  return found;
}

}  // namespace adjit::sched
