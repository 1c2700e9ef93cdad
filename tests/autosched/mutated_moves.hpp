// tests/autosched/mutated_moves.hpp -- schedules as JSON with something wrong in them, more or
// less.
#pragma once

#include <string>
#include <vector>

#include "runtime/process/json.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

/// Changes a schedule here and there, the same way for the same seed: numbers become others, of
/// other signs, sizes and types; members go, come twice, or get other names; moves go, swap places,
/// come again, name other stages or become other moves.
class MutatedMoves {
 public:
  MutatedMoves(const std::string& moves_json, uint64_t seed)
      : moves_(Json::parse(moves_json)), random_(seed) {
    collect_names(moves_);
  }

  std::string operator()() {
    if (moves_.empty()) return moves_.dump();
    for (int64_t n = random_.between(1, 3); n > 0; --n) change();
    std::string text = moves_.dump();
    if (random_.chance(4)) write_a_member_twice(text);
    return text;
  }

 private:
  size_t below(size_t end) {
    return static_cast<size_t>(random_.between(0, static_cast<int64_t>(end) - 1));
  }

  void collect_names(const Json& json) {
    if (json.is_string()) names_.push_back(json.get<std::string>());
    if (json.is_structured())
      for (const Json& part : json) collect_names(part);
  }

  void change() {
    if (moves_.empty()) return;
    const size_t at = below(moves_.size());
    const auto place = moves_.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random_.between(0, 13)) {
      case 0: moves_.erase(place); return;
      case 1: std::swap(moves_[at], moves_[below(moves_.size())]); return;
      case 2: moves_.insert(place, Json(moves_[below(moves_.size())])); return;
      case 3: return change_members(moves_[at]);
      case 4: return exchange_names(moves_[at]);
      default: return change_values(moves_[at]);
    }
  }

  void change_members(Json& move) {
    if (!move.is_object() || move.empty()) return;
    const auto member = std::next(move.begin(), static_cast<std::ptrdiff_t>(below(move.size())));
    const Json value = member.value();
    if (random_.chance(60)) move.erase(member.key());
    if (random_.chance(50)) move[random_.pick(kMembers())] = value;
  }

  void exchange_names(Json& json) {
    if (json.is_string() && random_.chance(60)) json = random_.pick(names_);
    if (json.is_structured())
      for (Json& part : json) exchange_names(part);
  }

  // One number, or list, somewhere in a move.
  void change_values(Json& move) {
    std::vector<Json*> found;
    collect_values(move, found);
    if (found.empty()) return;
    Json& value = *random_.pick(found);
    if (!value.is_array()) {
      value = other_number(value);
    } else if (value.empty() || random_.chance(30)) {
      value.push_back(value.empty() ? Json(1) : Json(value[below(value.size())]));
    } else if (random_.chance(50)) {
      value.erase(below(value.size()));
    } else {
      std::swap(value[below(value.size())], value[below(value.size())]);
    }
  }

  static void collect_values(Json& json, std::vector<Json*>& found) {
    if (json.is_number() || json.is_boolean() || json.is_array()) found.push_back(&json);
    if (json.is_structured())
      for (Json& part : json) collect_values(part, found);
  }

  Json other_number(const Json& value) {
    if (value.is_boolean() && random_.chance(70)) return !value.get<bool>();
    if (random_.chance(55)) return random_.between(0, 9);
    if (random_.chance(40)) return int64_t{1} << random_.between(0, 7);
    static const std::vector<Json> kOthers{-1,
                                           0,
                                           -4,
                                           INT64_MIN,
                                           INT64_MAX,
                                           UINT64_MAX,
                                           int64_t{1} << 30,
                                           int64_t{1} << 32,
                                           (int64_t{1} << 32) + 1,
                                           int64_t{1} << 40,
                                           int64_t{1} << 62,
                                           (int64_t{1} << 62) + 2,
                                           65536,
                                           100,
                                           0.5,
                                           2.0,
                                           1e300,
                                           "1",
                                           true,
                                           nullptr,
                                           Json::array(),
                                           Json::object()};
    return random_.pick(kOthers);
  }

  void write_a_member_twice(std::string& text) {
    if (const size_t at = text.find('{'); at != std::string::npos)
      text.insert(at + 1, "\"axis\":" + std::to_string(random_.between(0, 2)) + ",");
  }

  static const std::vector<std::string>& kMembers() {
    static const std::vector<std::string> kNames{"axis",  "axes",   "stage", "stages", "steps",
                                                 "lanes", "factor", "move",  "depth",  "colour"};
    return kNames;
  }

  Json moves_;
  std::vector<std::string> names_;
  Random random_;
};

}  // namespace adjit::testing
