// tests/autosched/random_moves.hpp -- random moves, drawn from the table of moves, and programs
// that many of them made.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "autosched/gpu/columns/companions.hpp"
#include "autosched/lower/initial_program.hpp"
#include "autosched/machine/target.hpp"
#include "autosched/moves/record/entry.hpp"
#include "autosched/moves/record/table.hpp"
#include "autosched/program/nests.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {

/// Draws one move's JSON: a row of the table, about one of the program's stages.
class MoveDraw {
 public:
  MoveDraw(const Program& program, Random& random)
      : program_(program), random_(random), stage_(any_stage()) {}

  Json operator()(const MoveRow& row) {
    Json move{{"move", row.name}};
    for (const MoveMember& member : row.members) {
      const bool optional = member.value.find("left out") != std::string_view::npos;
      if (!member.name.empty() && !(optional && random_.chance(50)))
        move[std::string(member.name)] = value_of(row, member.name);
    }
    return move;
  }

 private:
  const Graph& graph() const { return program_.graph; }
  size_t any_stage() {
    return static_cast<size_t>(random_.between(0, std::ssize(program_.graph.stages) - 1));
  }
  std::string name_of_stage(size_t s) const { return stage_name(graph(), graph().stages[s]); }
  TensorId any_operand() {
    const std::vector<TensorId> read = tensors_read(graph(), graph().stages[stage_]);
    return read.empty() ? graph().stages[stage_].results.front() : random_.pick(read);
  }

  /// One function a name of members: a row of the table with another one fails here.
  Json value_of(const MoveRow& row, std::string_view member) {
    const auto number = [this](int64_t low, int64_t high) {
      return Json(random_.between(low, high));
    };
    const std::map<std::string_view, std::function<Json()>> values{
        {"stage", [&] { return Json(name_of_stage(stage_)); }},
        {"host", [&] { return Json(name_of_stage(host_ = any_stage())); }},
        {"other", [&] { return Json(name_of_stage(any_stage())); }},
        {"indices", [&] { return indices(); }},
        {"reader", [&] { return Json(name_of_stage(any_stage())); }},
        {"stages", [&] { return stages(); }},
        {"operand", [&] { return Json(graph().info(operand_ = any_operand()).name); }},
        {"axis", [&] { return number(0, 4); }},
        {"axes", [&] { return axes(row); }},
        {"dimension", [&] { return number(0, 3); }},
        {"steps", [&] { return steps(); }},
        {"order", [&] { return order(); }},
        {"lanes", [&] { return Json(int64_t{2} << random_.between(0, 3)); }},
        {"factor", [&] { return number(2, 4); }},
        {"factors", [&] { return factors(); }},
        {"loops", [&] { return number(1, 2); }},
        {"count", [&] { return number(1, 8); }},
        {"buffers", [&] { return number(1, 5); }},
        {"depth", [&] { return number(1, 3); }},
        {"rows", [&] { return number(2, 4); }},
        {"parts", [&] { return number(2, 4); }},
        {"modulus", [&] { return number(2, 4); }},
        {"chunk", [&] { return number(2, 9); }},
        {"piece", [&] { return number(2, 6); }},
        {"width", [&] { return number(1, 12); }},
        {"gap", [&] { return number(1, 5); }},
        {"inside", [&] { return Json(random_.chance(50)); }},
        {"instead_of_rows", [&] { return Json(random_.chance(30)); }},
        {"widen", [&] { return Json(random_.chance(10)); }},
        {"read", [&] { return number(0, 1); }},
        {"dimensions", [&] { return packed_dimensions(); }},
        {"before", [&] { return zeros(); }},
        {"after", [&] { return zeros(); }},
        {"moves", [] { return Json::array(); }},
    };
    const auto found = values.find(member);
    if (found == values.end())
      throw std::logic_error("no value is drawn for the member '" + std::string(member) +
                             "' of the move '" + std::string(row.name) + "'");
    return found->second();
  }

  // Those at which host and stage read the same, if any, else axes of the host.
  Json indices() {
    const Stage &stage = graph().stages[stage_], &host = graph().stages[host_];
    std::optional<std::vector<Affine>> found;
    if (random_.chance(80)) found = indices_like(program_.graph, stage, host, 0);
    const auto rank = std::ssize(host.domain.extents);
    Json list = Json::array();
    for (size_t d = 0; d < stage.domain.output_rank; ++d) {
      const Affine index =
          found ? (*found)[d] : Affine::variable(static_cast<size_t>(random_.between(0, rank)));
      Json& numbers = list.emplace_back(Json::array());
      for (int64_t axis = 0; axis < rank; ++axis)
        numbers.push_back(index.coefficient(static_cast<size_t>(axis)));
      numbers.push_back(index.constant());
    }
    return list;
  }

  // The stage and others, such with its domain among them.
  Json stages() {
    std::vector<size_t> alike;
    for (size_t s = 0; s < graph().stages.size(); ++s)
      if (s != stage_ && graph().stages[s].domain == graph().stages[stage_].domain)
        alike.push_back(s);
    Json list{name_of_stage(stage_)};
    while (random_.chance(50))
      list.push_back(
          name_of_stage(!alike.empty() && random_.chance(70) ? random_.pick(alike) : any_stage()));
    stages_ = list.size();
    return list;
  }

  // Of each stage: an axis, or those that an expression depends on.
  Json axes(const MoveRow& row) {
    Json list = Json::array();
    for (size_t k = 0; k < stages_; ++k) {
      const int64_t axis = random_.between(0, 2);
      list.push_back(row.name == "split_axis" ? Json(axis)
                                              : Json{axis, random_.between(0, 1) == axis ? 2 : 0});
    }
    return list;
  }

  Json factors() {
    Json list{random_.between(0, 2)};
    if (random_.chance(20)) list.push_back(list[0].get<int64_t>() + 1);
    return list;
  }

  Json steps() {
    const int64_t inner = random_.between(1, 5);
    return random_.chance(70) ? Json{inner} : Json{2 * inner, inner};
  }

  Json order() {
    const std::optional<NestPath> path = find_nest(program_, stage_);
    std::vector<size_t> order(path ? nest_at(program_, *path).loops.size() : 0);
    for (size_t k = 0; k < order.size(); ++k) order[k] = k;
    for (size_t k = order.size(); k > 1; --k)
      std::swap(order[k - 1],
                order[static_cast<size_t>(random_.between(0, static_cast<int64_t>(k) - 1))]);
    return order;
  }

  // All dimensions of the operand in some order, now and then one of them in pieces.
  Json packed_dimensions() {
    const auto rank = std::ssize(graph().info(operand_).shape);
    Json list = Json::array();
    const int64_t first = rank > 0 ? random_.between(0, rank - 1) : 0;
    const int64_t piece = random_.chance(50) ? random_.between(2, 4) : 0;
    for (int64_t k = 0; k < rank; ++k) {
      const int64_t dim = (first + k) % rank;
      list.push_back(k == 0 && piece ? Json{dim, piece, 0} : Json{dim, 1, 0});
    }
    if (rank > 0 && piece) list.push_back(Json{first, 1, piece});
    return list;
  }

  Json zeros() {
    if (random_.chance(60)) return Json::array();
    Json list = Json::array();
    for (size_t d = 0; d < graph().info(operand_).shape.size(); ++d)
      list.push_back(random_.between(0, 2));
    return list;
  }

  const Program& program_;
  Random& random_;
  size_t stage_;
  size_t host_ = 0;    // that was drawn
  size_t stages_ = 1;  // in the list that was drawn
  TensorId operand_;   // that was drawn
};

/// The elements of all results, and the points of all domains.
inline double work_of(const Program& p) {
  double work = 0;
  for (const Stage& stage : p.graph.stages) {
    double points = 1;
    for (const int64_t extent : stage.domain.extents) points *= static_cast<double>(extent);
    work += points;
    for (TensorId id : stage.results) work += static_cast<double>(p.graph.info(id).element_count());
  }
  return work;
}

/// The program after one random move, legal or not: ErrorCode::Schedule where it is not.
inline Program random_move(Program p, Random& random) {
  const std::span<const MoveRow> rows = move_table();
  const MoveRow& row =
      rows[static_cast<size_t>(random.between(0, static_cast<int64_t>(rows.size()) - 1))];
  const Json move = MoveDraw(p, random)(row);
  Program made = p;
  row.apply(made, MoveEntry(move, made));
  // Parts of parts of parts grow: large enough is enough.
  constexpr size_t kMostStages = 24;
  constexpr double kMostWork = 30'000;
  const bool grows =
      work_of(made) > std::max(work_of(p), kMostWork) ||
      (made.graph.stages.size() > kMostStages && made.graph.stages.size() > p.graph.stages.size());
  return grows ? p : made;
}

/// The plainest program of a graph after `attempts` random moves, of which the illegal ones are
/// refused; `made` (may be null) counts the others.
inline Program random_program(const Graph& graph, uint64_t seed, int attempts,
                              size_t* made = nullptr, const Target& target = CpuMachine{2, 512}) {
  Random random(seed);
  Program program = initial_program(graph, target);
  for (int attempt = 0; attempt < attempts; ++attempt) try {
      program = random_move(program, random);
      if (made) ++*made;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::Schedule) throw;
    }
  return program;
}

}  // namespace adjit::testing
