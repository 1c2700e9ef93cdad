// autosched/moves/record/replay.cpp -- a list of moves in JSON, made again.
#include <map>
#include <set>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/moves/record/table.hpp"

namespace adjit::sched {
namespace {

void apply_move(Program& program, const Json& json) {
  const MoveEntry entry(json, program);
  for (const MoveRow& row : move_table())
    if (entry.kind() == row.name || (!row.old_name.empty() && entry.kind() == row.old_name)) {
      entry.allow_only(row.members);
      return row.apply(program, entry);
    }
  throw Error(ErrorCode::Schedule, "there is no move " + shown(json.at("move")));
}

// A list of moves, and in which of them which member is there twice: JSON keeps one of both.
struct Moves {
  Json list;
  std::map<size_t, std::string> twice;
};

Moves parse_moves(std::string_view text) {
  constexpr int kDeepest = 64;  // scans in scans
  Moves moves;
  size_t move = 0;
  std::vector<std::set<std::string>> members;  // of the objects around
  moves.list = Json::parse(
      text,
      [&](int depth, Json::parse_event_t event, Json& parsed) {
        if (depth > kDeepest)
          throw Error(ErrorCode::Schedule,
                      "a schedule is nested deeper than " + std::to_string(kDeepest) + " levels");
        if (event == Json::parse_event_t::object_start) members.emplace_back();
        if (event == Json::parse_event_t::key &&
            !members.back().insert(parsed.get<std::string>()).second)
          moves.twice.emplace(move, parsed.get<std::string>());
        if (event == Json::parse_event_t::object_end) members.pop_back();
        const bool ends = event == Json::parse_event_t::object_end ||
                          event == Json::parse_event_t::array_end ||
                          event == Json::parse_event_t::value;
        move += ends && depth == 1 ? 1 : 0;
        return true;
      },
      false);
  return moves;
}

}  // namespace

Program replay_moves(const Graph& graph, const Json& moves, const Target& target,
                     const std::string& where) {
  if (!moves.is_array())
    throw Error(ErrorCode::Schedule, where + "the schedule of its steps must be a list of moves");
  Program program = initial_program(graph, target);
  for (size_t k = 0; k < moves.size(); ++k) {
    const auto refuse = [&](const char* why) {
      throw Error(ErrorCode::Schedule,
                  where + "move " + std::to_string(k) + ": " + why + ", in " + shown(moves[k]));
    };
    try {
      apply_move(program, moves[k]);
    } catch (const Overflow& overflow) {
      refuse(overflow.what());
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
      refuse(error.what());
    }
  }
  return program;
}

Program replay(const Graph& graph, std::string_view moves_json, const Target& target) {
  const Moves moves = parse_moves(moves_json);
  if (!moves.list.is_array())
    throw Error(ErrorCode::Schedule, "a schedule must be a JSON list of moves");
  for (const auto& [k, name] : moves.twice)
    throw Error(ErrorCode::Schedule, "move " + std::to_string(k) + ": " + shown(Json(name)) +
                                         " is there twice, in " + shown(moves.list[k]));
  Program program = replay_moves(graph, moves.list, target, "");
  verify(program);
  return program;
}

}  // namespace adjit::sched
