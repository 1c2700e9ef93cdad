// autosched/moves/scatter/scatter_to_gather.cpp -- a scatter as sums that each element makes of all
// points that may write it.
//
//   H[I[p], 2*q + p] += X[p, q]    becomes    H[i, j] = sum over p of
//     X[p, (j - p) / 2] if I[p] == i, else 0, where 2 divides j - p
// Coordinates that are forms of axes say which points these are (fibre.hpp). A coordinate that data
// chooses is compared: where it has n values, each point is looked at n times. The points of an
// element are combined in an order that depends on no data.
#include <algorithm>
#include <array>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/moves/scatter/start.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/segments.hpp"
#include "runtime/domain/fibre.hpp"
#include "runtime/graph/identity.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

// A coordinate of a target, as a form of axes where it is one; `condition`: where it is not in
// range, if that is not all points.
struct Coordinate {
  ExprId value, condition;
  bool is_form = false;
};

bool is_form(const ExprPool& pool, ExprId value, const Domain& domain) {
  return index_form(pool, value, domain).has_value();
}

Coordinate coordinate_of(const ExprPool& pool, ExprId target, const Domain& domain) {
  if (is_form(pool, target, domain)) return {target, {}, true};
  if (!pool.is(target, Op::Select)) return {target, {}, false};
  const std::optional<int64_t> outside = pool.int_value(pool.operand(target, 2));
  const ExprId inside = pool.operand(target, 1);
  if (!outside || *outside >= 0 || !is_form(pool, inside, domain)) return {target, {}, false};
  return {inside, pool.operand(target, 0), true};
}

class Gathering {
 public:
  Gathering(Program& program, size_t stage)
      : program_(program),
        graph_(program.graph),
        pool_(program.graph.pool),
        stage_(stage),
        whole_(program.graph.stages[stage]),
        result_(graph_.info(whole_.results[0])) {
    for (const ExprId target : whole_.target)
      coordinates_.push_back(coordinate_of(pool_, target, whole_.domain));
  }

  /// nullopt: which points an element has is too much to tell.
  std::optional<std::vector<domain::FibrePiece>> pieces() {
    // Each coordinate that data chooses is an axis, too.
    Domain box;
    box.extents = whole_.domain.extents;
    std::vector<ExprId> index, axes;
    for (size_t a = 0; a < whole_.domain.rank(); ++a) axes.push_back(pool_.axis(a));
    for (size_t d = 0; d < coordinates_.size(); ++d) {
      if (coordinates_[d].is_form) {
        index.push_back(coordinates_[d].value);
        continue;
      }
      index.push_back(pool_.axis(box.rank()));
      box.extents.push_back(result_.shape[d]);
    }
    const IndexMap map =
        index_map(pool_, index, with_rows_of(pool_, whole_.domain, std::move(box), axes));
    if (!map.is_affine()) return std::nullopt;
    std::vector<Affine> forms;
    for (const std::optional<Affine>& form : map.forms) forms.push_back(*form);
    return domain::fibre(map.domain, forms, result_.shape);
  }

  /// Where the stage that has the result stands then.
  size_t operator()(std::vector<domain::FibrePiece> pieces) {
    const std::optional<Fill> fill = fill_of_start(program_, whole_);
    if (fill && pieces.size() == 1) {
      graph_.stages[stage_] = gathered(std::move(pieces.front()));
      return finish(fill);
    }
    Stage last = computing(whole_, result_.shape);
    last.combiner = {};
    const std::vector<ExprId> here = coordinates();
    ExprId value = fill ? fill->value : pool_.read(whole_.initial, result_.dtype, here);
    const Op combine = combining_op(whole_.combiner.kind, result_.dtype);
    for (domain::FibrePiece& piece : pieces) {
      Stage stage = gathered(std::move(piece));
      stage.results = {
          add_tensor(graph_, result_.name + "_gathered", result_.dtype, result_.shape)};
      value = pool_.make(combine, {value, pool_.read(stage.results[0], result_.dtype, here)});
      insert_stage(program_, stage_++, std::move(stage));
    }
    last.bodies = {value};
    graph_.stages[stage_] = std::move(last);
    return finish(fill);
  }

 private:
  std::vector<ExprId> coordinates() {
    std::vector<ExprId> here;
    for (size_t d = 0; d < result_.shape.size(); ++d) here.push_back(pool_.axis(d));
    return here;
  }

  Stage gathered(domain::FibrePiece piece) {
    Stage stage = computing(whole_, result_.shape);
    std::vector<ExprId> now = to_exprs(pool_, piece.original, piece.domain);
    now.resize(whole_.domain.rank());
    ExprId writes = pool_.constant_int(1, DType::Bool);
    for (size_t d = 0; d < coordinates_.size(); ++d) {
      const Coordinate& at = coordinates_[d];
      if (at.condition.valid())
        writes = pool_.logical_and(writes, body_at(pool_, at.condition, now, {}));
      if (!at.is_form)
        writes = pool_.logical_and(
            writes, pool_.make(Op::Eq, {body_at(pool_, at.value, now, {}), pool_.axis(d)}));
    }
    const ExprId nothing = identity_of(pool_, whole_.combiner.kind, result_.dtype);
    stage.bodies = {pool_.select(writes, body_at(pool_, whole_.bodies[0], now, {}), nothing)};
    if (piece.domain.is_box()) piece.domain.divisions.clear();
    stage.domain = std::move(piece.domain);
    return stage;
  }

  size_t finish(const std::optional<Fill>& unread) {
    reset_nest(program_, stage_);
    index_readers(program_);
    if (!unread) return stage_;
    remove_stages(program_, std::array{unread->stage});
    return stage_ - 1;
  }

  Program& program_;
  LoweredGraph& graph_;
  ExprPool& pool_;
  size_t stage_;
  const Stage whole_;
  const TensorInfo result_;
  std::vector<Coordinate> coordinates_;
};

}  // namespace

std::vector<size_t> compared_dimensions(const Graph& graph, const Stage& scatter) {
  std::vector<size_t> compared;
  for (size_t d = 0; d < scatter.target.size(); ++d)
    if (!coordinate_of(graph.pool, scatter.target[d], scatter.domain).is_form)
      compared.push_back(d);
  return compared;
}

Program scatter_to_gather(Program program, size_t stage) {
  const Move move = begin_move("scatter_to_gather", program, stage);
  const Stage& whole = move.stage_ref();
  move.require(whole.kind == StageKind::Scatter, "that is no scatter");
  move.require(has_partial_results(whole.combiner.kind),
               "its combiner tells the order of its points");
  move.require(!segments_of(program.graph.pool, whole), "it goes through segments already");
  move.own_kernel("gather it before attaching others to it");
  Gathering gathering(program, stage);
  std::optional<std::vector<domain::FibrePiece>> pieces = gathering.pieces();
  move.require(pieces.has_value(), "which points write an element is too much to tell");
  const size_t now = gathering(*std::move(pieces));
  Move{move.name, program, now}.record(Json::object());
  return program;
}

}  // namespace adjit::sched
