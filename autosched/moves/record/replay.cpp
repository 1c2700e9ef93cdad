// autosched/moves/record/replay.cpp -- a list of moves in JSON, made again.
#include <array>
#include <map>
#include <set>

#include "autosched/analysis/verify.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/entry.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::sched {
namespace {

Program replay_moves(const Graph& graph, const Json& moves, int cores, int vector_bits,
                     const std::string& where);

Packing packing_of(const MoveEntry& entry, size_t rank) {
  Packing packing;
  for (const std::vector<int64_t>& d : entry.lists("dimensions", {0, INT64_MAX})) {
    if (d.size() != 3 || d[0] >= static_cast<int64_t>(rank) || d[1] < 1)
      entry.refuse("dimensions", "each is [one of the operand's " + std::to_string(rank) +
                                     " dimensions, a divisor from 1 on, a modulus, or 0 for none]");
    packing.dimensions.push_back({static_cast<size_t>(d[0]), d[1], d[2]});
  }
  packing.padding_before = entry.numbers("before", {0, INT64_MAX});
  packing.padding_after = entry.numbers("after", {0, INT64_MAX});
  packing.instead_of_rows = entry.flag("instead_of_rows");
  packing.widen = entry.flag("widen");
  if (entry.has("read")) packing.read = entry.position("read", kNodeLimit);
  return packing;
}

// Arguments are looked up before the program moves on.
struct Row {
  std::string_view name;
  std::string_view old_name;                // up to 0.1.0, and read for one version; "": the same
  std::array<std::string_view, 8> members;  // besides "move"
  void (*apply)(Program&, const MoveEntry&);
};
constexpr Row kMoves[] = {
    {"tile",
     "",
     {"stage", "axis", "steps"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const std::vector<int64_t> steps = e.numbers("steps", kPositive);
       p = tile(std::move(p), stage, axis, steps);
     }},
    {"reorder",
     "",
     {"stage", "order"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const std::vector<size_t> order = e.positions("order", kLoopLimit);
       p = reorder(std::move(p), stage, order);
     }},
    {"vectorize",
     "",
     {"stage", "axis", "lanes"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       p = vectorize(std::move(p), stage, axis, e.number("lanes", {2, kLaneLimit}));
     }},
    {"unroll",
     "",
     {"stage", "axis", "factor"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       p = unroll(std::move(p), stage, axis, e.number("factor", {2, kUnrollLimit}));
     }},
    {"parallel",
     "",
     {"stage", "loops"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = parallel(std::move(p), stage, e.position("loops", kLoopLimit + 1));
     }},
    {"store_nontemporal",
     "stream",
     {"stage"},
     [](Program& p, const MoveEntry& e) { p = store_nontemporal(std::move(p), e.stage("stage")); }},
    {"prefetch",
     "fetch_ahead",
     {"stage", "axis"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       std::optional<size_t> axis;
       if (e.has("axis")) axis = e.axis("axis", stage);
       p = prefetch(std::move(p), stage, axis);
     }},
    {"compute_at",
     "",
     {"stage", "host", "depth"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), host = e.stage("host");
       p = compute_at(std::move(p), stage, host, e.position("depth", kLoopLimit + 1));
     }},
    {"interleave",
     "group_rows",
     {"stage", "depth", "rows"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), depth = e.position("depth", kLoopLimit + 1);
       p = interleave(std::move(p), stage, depth, e.number("rows", kPositive));
     }},
    {"inline",
     "",
     {"stages"},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = inline_stages(std::move(p), stages);
     }},
    {"recompute",
     "",
     {"stages"},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = recompute(std::move(p), stages);
     }},
    {"rematerialize",
     "",
     {"stage", "reader"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), reader = e.stage("reader");
       p = rematerialize(std::move(p), stage, reader);
     }},
    {"eager_outputs",
     "early_results",
     {},
     [](Program& p, const MoveEntry&) { p = eager_outputs(std::move(p)); }},
    {"unroll_reduction",
     "expand_reduction",
     {"stage"},
     [](Program& p, const MoveEntry& e) { p = unroll_reduction(std::move(p), e.stage("stage")); }},
    {"rfactor",
     "split_reduction",
     {"stage", "axis", "parts"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       p = rfactor(std::move(p), stage, axis, e.number("parts", kPositive));
     }},
    {"privatize_scatter",
     "split_scatter",
     {"stage", "axis", "parts"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       p = privatize_scatter(std::move(p), stage, axis, e.number("parts", kPositive));
     }},
    {"scatter_layout",
     "scatter_rows",
     {"stage", "dimension", "width"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const int64_t width = e.has("width") ? e.number("width", kPositive) : 0;
       p = scatter_layout(std::move(p), stage, e.position("dimension", kAxisLimit), width);
     }},
    {"scatter_accumulate",
     "weigh_rows",
     {"stage"},
     [](Program& p, const MoveEntry& e) {
       p = scatter_accumulate(std::move(p), e.stage("stage"));
     }},
    {"gather_reduce",
     "sum_rows",
     {"stage", "operand"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = gather_reduce(std::move(p), stage, e.tensor("operand"));
     }},
    {"schedule_scan",
     "schedule_steps",
     {"stage", "moves"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const Json& moves = e.member("moves");
       if (p.graph.stages[stage].kind != StageKind::Scan)
         throw Error(ErrorCode::Schedule, e.subject() + ": that is no scan");
       Program steps = replay_moves(*p.graph.stages[stage].scan->body, moves, p.cores,
                                    p.vector_bits, e.subject() + ": ");
       p = schedule_scan(std::move(p), stage, std::move(steps));
     }},
    {"split_residues",
     "",
     {"stage", "axis", "modulus", "inside"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       p = split_residues(std::move(p), stage, axis, e.number("modulus", kPositive),
                          e.has("inside") && e.flag("inside"));
     }},
    {"pack",
     "",
     {"stage", "operand", "dimensions", "before", "after", "instead_of_rows", "widen", "read"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const TensorId operand = e.tensor("operand");
       const Packing packing = packing_of(e, p.graph.info(operand).shape.size());
       p = pack(std::move(p), stage, operand, packing);
     }},
    {"fuse_siblings",
     "",
     {"stages"},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = fuse_siblings(std::move(p), stages);
     }},
    {"materialize_common",
     "hoist",
     {"stages", "axes"},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       const std::vector<std::vector<int64_t>> axes = e.lists("axes", {0, kAxisLimit - 1});
       if (axes.size() != stages.size()) e.refuse("axes", "it must be a list for every stage");
       std::vector<Hoisted> readers;
       for (size_t k = 0; k < stages.size(); ++k)
         readers.push_back({stages[k], {axes[k].begin(), axes[k].end()}});
       p = materialize_common(std::move(p), readers);
     }},
    {"split_axis",
     "block_axis",
     {"stages", "axes", "steps"},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages"),
                                 axes = e.positions("axes", kAxisLimit);
       const std::vector<int64_t> steps = e.numbers("steps", kPositive);
       if (axes.size() != stages.size()) e.refuse("axes", "it must name an axis for every stage");
       std::vector<StageAxis> blocked;
       for (size_t k = 0; k < stages.size(); ++k) blocked.push_back({stages[k], axes[k]});
       p = split_axis(std::move(p), blocked, steps);
     }},
    {"fuse_axes",
     "merge_axes",
     {"stage", "axis"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = fuse_axes(std::move(p), stage, e.axis("axis", stage));
     }},
    {"transpose_output",
     "transpose_results",
     {"stage", "axis"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = transpose_output(std::move(p), stage, e.axis("axis", stage));
     }},
    {"pad_leading_dimension",
     "pad_rows",
     {"stage", "gap"},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = pad_leading_dimension(std::move(p), stage, e.number("gap", kPositive));
     }},
    {"alias_reshape",
     "in_place",
     {"stage"},
     [](Program& p, const MoveEntry& e) { p = alias_reshape(std::move(p), e.stage("stage")); }},
    {"make_adjacent",
     "gather",
     {"stages"},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = make_adjacent(std::move(p), stages);
     }},
};

void apply_move(Program& program, const Json& json) {
  const MoveEntry entry(json, program);
  for (const Row& row : kMoves)
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

Program replay_moves(const Graph& graph, const Json& moves, int cores, int vector_bits,
                     const std::string& where) {
  if (!moves.is_array())
    throw Error(ErrorCode::Schedule, where + "the schedule of its steps must be a list of moves");
  Program program = initial_program(graph, cores, vector_bits);
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

}  // namespace

Program replay(const Graph& graph, std::string_view moves_json, int cores, int vector_bits) {
  const Moves moves = parse_moves(moves_json);
  if (!moves.list.is_array())
    throw Error(ErrorCode::Schedule, "a schedule must be a JSON list of moves");
  for (const auto& [k, name] : moves.twice)
    throw Error(ErrorCode::Schedule, "move " + std::to_string(k) + ": " + shown(Json(name)) +
                                         " is there twice, in " + shown(moves.list[k]));
  Program program = replay_moves(graph, moves.list, cores, vector_bits, "");
  verify(program);
  return program;
}

}  // namespace adjit::sched
