// autosched/replay.cpp -- a list of moves in JSON, made again.
#include <unordered_map>

#include "autosched/move_record.hpp"
#include "autosched/moves.hpp"

namespace adjit {
namespace {

// Reads one move's JSON; a missing or ill-typed member is refused by name.
class Entry {
 public:
  Entry(const Json& json, const Program& program) : json_(json), program_(program) {
    if (!json.is_object()) throw Error(ErrorCode::Schedule, "a move must be an object");
  }

  template <typename T>
  T get(const char* member) const {
    if (!json_.contains(member))
      throw Error(ErrorCode::Schedule, std::string("it lacks \"") + member + "\"");
    try {
      return json_.at(member).get<T>();
    } catch (const Json::exception&) {
      throw Error(ErrorCode::Schedule, std::string("\"") + member + "\" has the wrong type");
    }
  }
  size_t number(const char* member) const {
    const auto value = get<int64_t>(member);
    if (value < 0) throw Error(ErrorCode::Schedule, std::string("\"") + member + "\" is negative");
    return static_cast<size_t>(value);
  }
  bool optional_flag(const char* member) const {
    return json_.contains(member) && get<bool>(member);
  }
  std::optional<size_t> optional_number(const char* member) const {
    return json_.contains(member) ? std::optional(number(member)) : std::nullopt;
  }
  size_t stage(const char* member) const { return stage_named(get<std::string>(member)); }
  std::vector<size_t> stages(const char* member) const {
    // Long lists occur (every inlined stage): one map instead of a search for each.
    std::unordered_map<std::string, size_t> numbers;
    for (size_t s = 0; s < program_.graph.stages.size(); ++s)
      numbers.emplace(stage_name(program_.graph, program_.graph.stages[s]), s);
    std::vector<size_t> found;
    for (const std::string& name : get<std::vector<std::string>>(member)) {
      const auto at = numbers.find(name);
      if (at == numbers.end()) unknown(name);
      found.push_back(at->second);
    }
    return found;
  }
  TensorId tensor(const char* member) const {
    const auto name = get<std::string>(member);
    for (uint32_t t = 0; t < program_.graph.tensors.size(); ++t)
      if (program_.graph.tensors[t].name == name) return TensorId{t};
    throw Error(ErrorCode::Schedule, "there is no tensor '" + name + "'");
  }

 private:
  [[noreturn]] static void unknown(const std::string& name) {
    throw Error(ErrorCode::Schedule, "there is no stage '" + name + "'");
  }
  size_t stage_named(const std::string& name) const {
    for (size_t s = 0; s < program_.graph.stages.size(); ++s)
      if (stage_name(program_.graph, program_.graph.stages[s]) == name) return s;
    unknown(name);
  }

  const Json& json_;
  const Program& program_;
};

Packing packing_of(const Entry& entry) {
  Packing packing;
  for (const std::vector<int64_t>& d : entry.get<std::vector<std::vector<int64_t>>>("dimensions")) {
    if (d.size() != 3 || d[0] < 0)
      throw Error(ErrorCode::Schedule, "a packed dimension is [dimension, divisor, modulus]");
    packing.dimensions.push_back({static_cast<size_t>(d[0]), d[1], d[2]});
  }
  packing.padding_before = entry.get<std::vector<int64_t>>("before");
  packing.padding_after = entry.get<std::vector<int64_t>>("after");
  packing.instead_of_rows = entry.get<bool>("instead_of_rows");
  packing.widen = entry.get<bool>("widen");
  packing.read = entry.optional_number("read");
  return packing;
}

// Arguments are looked up before the program moves on.
using Apply = void (*)(Program&, const Entry&);
struct Row {
  const char* name;
  Apply apply;
};
constexpr Row kMoves[] = {
    {"tile",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), axis = e.number("axis");
       const auto steps = e.get<std::vector<int64_t>>("steps");
       p = tile(std::move(p), stage, axis, steps);
     }},
    {"reorder",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       const auto order = e.get<std::vector<size_t>>("order");
       p = reorder(std::move(p), stage, order);
     }},
    {"vectorize",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), axis = e.number("axis");
       p = vectorize(std::move(p), stage, axis, e.get<int64_t>("lanes"));
     }},
    {"unroll",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), axis = e.number("axis");
       p = unroll(std::move(p), stage, axis, e.get<int64_t>("factor"));
     }},
    {"parallel",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = parallel(std::move(p), stage, e.number("loops"));
     }},
    {"stream",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = stream(std::move(p), stage);
     }},
    {"fetch_ahead",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = fetch_ahead(std::move(p), stage, e.optional_number("axis"));
     }},
    {"compute_at",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), host = e.stage("host");
       p = compute_at(std::move(p), stage, host, e.number("depth"));
     }},
    {"group_rows",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), depth = e.number("depth");
       p = group_rows(std::move(p), stage, depth, e.get<int64_t>("rows"));
     }},
    {"inline",
     [](Program& p, const Entry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = inline_stages(std::move(p), stages);
     }},
    {"recompute",
     [](Program& p, const Entry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = recompute(std::move(p), stages);
     }},
    {"rematerialize",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), reader = e.stage("reader");
       p = rematerialize(std::move(p), stage, reader);
     }},
    {"early_results", [](Program& p, const Entry&) { p = early_results(std::move(p)); }},
    {"expand_reduction",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = expand_reduction(std::move(p), stage);
     }},
    {"split_reduction",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), axis = e.number("axis");
       p = split_reduction(std::move(p), stage, axis, e.get<int64_t>("parts"));
     }},
    {"split_scatter",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), axis = e.number("axis");
       p = split_scatter(std::move(p), stage, axis, e.get<int64_t>("parts"));
     }},
    {"scatter_rows",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = scatter_rows(std::move(p), stage, e.number("dimension"));
     }},
    {"schedule_steps",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       const std::string moves = e.get<Json>("moves").dump();
       if (p.graph.stages[stage].kind != StageKind::Scan)
         throw Error(ErrorCode::Schedule, "that is no scan");
       const Graph& body = *p.graph.stages[stage].scan->body;
       Program steps = replay(body, moves, p.cores, p.vector_bits);
       p = schedule_steps(std::move(p), stage, std::move(steps));
     }},
    {"split_residues",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage"), axis = e.number("axis");
       p = split_residues(std::move(p), stage, axis, e.get<int64_t>("modulus"),
                          e.optional_flag("inside"));
     }},
    {"pack",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       const TensorId operand = e.tensor("operand");
       p = pack(std::move(p), stage, operand, packing_of(e));
     }},
    {"fuse_siblings",
     [](Program& p, const Entry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = fuse_siblings(std::move(p), stages);
     }},
    {"hoist",
     [](Program& p, const Entry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       const auto axes = e.get<std::vector<std::vector<size_t>>>("axes");
       if (axes.size() != stages.size())
         throw Error(ErrorCode::Schedule, "\"axes\" must be a list for every stage");
       std::vector<Hoisted> readers;
       for (size_t k = 0; k < stages.size(); ++k) readers.push_back({stages[k], axes[k]});
       p = hoist(std::move(p), readers);
     }},
    {"block_axis",
     [](Program& p, const Entry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       const auto axes = e.get<std::vector<size_t>>("axes");
       const auto steps = e.get<std::vector<int64_t>>("steps");
       if (axes.size() != stages.size())
         throw Error(ErrorCode::Schedule, "\"axes\" must name an axis for every stage");
       std::vector<StageAxis> blocked;
       for (size_t k = 0; k < stages.size(); ++k) blocked.push_back({stages[k], axes[k]});
       p = block_axis(std::move(p), blocked, steps);
     }},
    {"merge_axes",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = merge_axes(std::move(p), stage, e.get<size_t>("axis"));
     }},
    {"pad_rows",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = pad_rows(std::move(p), stage, e.get<int64_t>("gap"));
     }},
    {"in_place",
     [](Program& p, const Entry& e) {
       const size_t stage = e.stage("stage");
       p = in_place(std::move(p), stage);
     }},
    {"gather",
     [](Program& p, const Entry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = gather(std::move(p), stages);
     }},
};

// Fractions are refused, where reading them as integers would cut them.
void require_integers(const Json& json) {
  if (json.is_number_float())
    throw Error(ErrorCode::Schedule, "numbers must be integers, not " + json.dump());
  if (json.is_structured())
    for (const Json& part : json) require_integers(part);
}

void apply_move(Program& program, const Json& json) {
  require_integers(json);
  const Entry entry(json, program);
  const auto name = entry.get<std::string>("move");
  for (const Row& row : kMoves)
    if (name == row.name) return row.apply(program, entry);
  throw Error(ErrorCode::Schedule, "there is no move \"" + name + "\"");
}

}  // namespace

Program replay(const Graph& graph, std::string_view moves_json, int cores, int vector_bits) {
  const Json moves = Json::parse(moves_json, nullptr, false);
  if (moves.is_discarded() || !moves.is_array())
    throw Error(ErrorCode::Schedule, "a schedule must be a JSON list of moves");
  Program program = initial_program(graph, cores, vector_bits);
  for (size_t k = 0; k < moves.size(); ++k) {
    try {
      apply_move(program, moves[k]);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
      throw Error(ErrorCode::Schedule, "move " + std::to_string(k) + ": " + error.what());
    }
  }
  return program;
}

}  // namespace adjit
