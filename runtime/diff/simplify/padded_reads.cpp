// runtime/diff/simplify/padded_reads.cpp -- reads at clamped or mirrored places read a padded copy,
// or piece by piece.
//
// Worked example, a blur that repeats the edges of x (8 elements):
//   y[i] = sum_r w[r] * x[clip(i + r - 1, 0, 7)]
//   ->  p[t] = x[0] for t < 1, x[t - 1] for 1 <= t < 9, x[7] for 9 <= t   (10 elements)
//       y[i] = sum_r w[r] * p[i + r]
// A few reads are not worth a copy; each is taken apart instead:
//   x[max(i - 1, 0)]  ->  x[0] where i - 1 < 0, x[i - 1] elsewhere
// Either way reads are affine: code loads them as vectors. The derivative of a copy's readers is
// that of a plain window, and terms of different places generalize to a sum over it.
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/indices/piecewise_index.hpp"
#include "runtime/diff/rewrite/rewrite.hpp"
#include "runtime/diff/simplify/simplify.hpp"
#include "runtime/graph/subgraphs.hpp"

namespace adjit::diff {
namespace {

// Reads for each element of a copy: below, writing it and reading it again takes longer than the
// conditions of reads piece by piece. (A five-point stencil: 0.44 ms with a copy, 0.24 without;
// nine points with weights: 0.57 and 1.15.)
constexpr double kLeastReads = 6;
// Pieces that a read is taken apart into: between and beyond two bounds.
constexpr size_t kMostReadPieces = 3;

// A read, and what its index is per dimension (nullopt: no function of one form).
struct PlacedRead {
  ExprId read;
  std::vector<std::optional<PiecewiseIndex>> index;
};

// Reads of one tensor that may share a copy.
struct PaddedCopy {
  Domain domain;  // the stage's, with the divisions of the forms
  std::vector<PlacedRead> reads;
  std::map<size_t, Piecewise> padded;  // by dimension
};

// t -> t + a constant: nothing that a copy would change.
bool is_shift(const Piecewise& map) { return map.size() == 1 && map[0].step == 1; }

bool is_inside(const Piecewise& map, int64_t extent) {
  return std::ranges::all_of(map, [&](const AffinePiece& piece) {
    return std::min(piece.start, piece.last()) >= 0 && std::max(piece.start, piece.last()) < extent;
  });
}

class PaddedReads {
 public:
  explicit PaddedReads(Graph graph) : graph_(std::move(graph)), pool_(graph_.pool) {}

  Graph operator()() {
    std::vector<Stage> stages = std::move(graph_.stages);
    graph_.stages.clear();
    for (Stage& stage : stages) {
      if (stage.kind == StageKind::Compute || stage.kind == StageKind::Scatter) rewrite(stage);
      graph_.stages.push_back(std::move(stage));
    }
    return std::move(graph_);
  }

 private:
  void rewrite(Stage& stage) {
    std::map<TensorId, std::vector<ExprId>> reads;
    for (ExprId id : reachable(pool_, stage.bodies))
      if (pool_.is(id, Op::Read) && !pool_.read_index(id).empty())
        reads[pool_.read_tensor(id)].push_back(id);
    std::unordered_map<uint32_t, ExprId> replaced;
    for (const auto& [tensor, all] : reads) {
      // Most stages read at affine places: asked before domains are.
      if (!std::ranges::any_of(all, [&](ExprId id) { return has_choice(id); })) continue;
      if (const std::optional<PaddedCopy> copy = copy_for(stage, tensor, all))
        read_copy(stage, tensor, *copy, replaced);
      for (ExprId id : all)
        if (!replaced.contains(id.value) && has_choice(id)) read_in_pieces(stage, id, replaced);
    }
    if (!replaced.empty()) stage.bodies = replace_nodes(pool_, stage.bodies, replaced);
  }

  // Whether the innermost coordinate chooses among forms. Where only outer ones do, rows are read
  // as vectors without a copy.
  bool has_choice(ExprId read) const {
    const ExprId last = pool_.read_index(read).back();
    return std::ranges::any_of(reachable(pool_, std::span(&last, 1)), [&](ExprId id) {
      return pool_.is(id, Op::Min) || pool_.is(id, Op::Max) || pool_.is(id, Op::Select) ||
             pool_.is(id, Op::Abs);
    });
  }

  std::optional<PaddedCopy> copy_for(const Stage& stage, TensorId tensor,
                                     const std::vector<ExprId>& all) {
    PaddedCopy copy{stage.domain, {}, {}};
    std::vector<PlacedRead> placed;
    for (ExprId id : all) placed.push_back(place(id, copy.domain));
    for (const PlacedRead& read : placed)
      for (size_t d = 0; d < read.index.size(); ++d)
        if (read.index[d] && !is_shift(read.index[d]->map) && has_choice(read.read))
          copy.padded.emplace(d, read.index[d]->map);
    if (!copy.padded.contains(graph_.info(tensor).shape.size() - 1)) return std::nullopt;
    for (PlacedRead& read : placed) join(copy, std::move(read), graph_.info(tensor).shape);
    double uses = static_cast<double>(copy.reads.size());
    for (int64_t extent : stage.domain.extents) uses *= static_cast<double>(extent);
    if (copy.reads.empty() || uses < kLeastReads * elements_of(copy, graph_.info(tensor).shape))
      return std::nullopt;
    return copy;
  }

  PlacedRead place(ExprId read, Domain& domain) {
    PlacedRead placed{read, {}};
    const std::vector<ExprId> index(pool_.read_index(read).begin(), pool_.read_index(read).end());
    for (ExprId coordinate : index)
      placed.index.push_back(piecewise_index(pool_, coordinate, domain));
    return placed;
  }

  // Takes a read into the copy if it fits what the copy holds.
  static void join(PaddedCopy& copy, PlacedRead read, const std::vector<int64_t>& shape) {
    std::map<size_t, Piecewise> padded;
    for (const auto& [dimension, map] : copy.padded) {
      const std::optional<PiecewiseIndex>& index = read.index[dimension];
      if (!index) return;
      std::optional<Piecewise> whole = joined(map, index->map);
      if (!whole || whole->size() > kMostPiecewise || !is_inside(*whole, shape[dimension])) return;
      padded.emplace(dimension, std::move(*whole));
    }
    copy.padded = std::move(padded);
    copy.reads.push_back(std::move(read));
  }

  static double elements_of(const PaddedCopy& copy, const std::vector<int64_t>& shape) {
    double elements = 1;
    for (size_t d = 0; d < shape.size(); ++d) {
      const auto padded = copy.padded.find(d);
      elements *=
          static_cast<double>(padded == copy.padded.end() ? shape[d] : length_of(padded->second));
    }
    return elements;
  }
  static int64_t length_of(const Piecewise& map) { return map.back().end - map.front().begin; }

  // A read for each piece of the innermost index, where that is affine.
  void read_in_pieces(const Stage& stage, ExprId read,
                      std::unordered_map<uint32_t, ExprId>& replaced) {
    std::vector<ExprId> index(pool_.read_index(read).begin(), pool_.read_index(read).end());
    Domain domain = stage.domain;
    // A place that data names is gathered, and its derivative scattered, whatever is beside it.
    if (contains_read(pool_, index)) return;
    const std::optional<PiecewiseIndex> last = piecewise_index(pool_, index.back(), domain);
    const int64_t extent = graph_.info(pool_.read_tensor(read)).shape.back();
    if (!last || last->map.size() < 2 || last->map.size() > kMostReadPieces ||
        !is_inside(last->map, extent))
      return;
    const ExprId form = to_expr(pool_, last->form, domain);
    replaced[read.value] =
        chosen_piece(form, last->map, 0, pool_.read_predicate(read), [&](ExprId at, ExprId inside) {
          index.back() = at;
          return pool_.read(pool_.read_tensor(read), pool_.dtype(read), index, inside);
        });
  }

  // Of the pieces of a map, that of the argument `at` + `first`. `read` makes a piece's value from
  // its index and the condition under which it is read.
  template <class Read>
  ExprId chosen_piece(ExprId at, const Piecewise& map, int64_t first, ExprId condition,
                      const Read& read) {
    const auto before = [&](int64_t t) {
      return pool_.make(Op::Lt, {at, pool_.constant_int(t - first)});
    };
    ExprId value;
    for (size_t k = map.size(); k-- > 0;) {
      const AffinePiece& piece = map[k];
      // start + step * (at - (begin of the piece)).
      const int64_t begin = piece.begin - first;
      const ExprId index =
          pool_.add(pool_.mul(at, pool_.constant_int(piece.step)),
                    pool_.constant_int(checked_sub(piece.start, checked_mul(piece.step, begin))));
      ExprId inside = condition;
      if (k > 0) inside = both(pool_, inside, pool_.make(Op::Le, {pool_.constant_int(begin), at}));
      if (k + 1 < map.size()) inside = both(pool_, inside, before(piece.end));
      const ExprId part = read(index, inside);
      value = value.valid() ? pool_.select(before(piece.end), part, value) : part;
    }
    return value;
  }

  // Pads one dimension after the other, and reads what comes out.
  void read_copy(const Stage& stage, TensorId tensor, const PaddedCopy& copy,
                 std::unordered_map<uint32_t, ExprId>& replaced) {
    TensorId padded = tensor;
    for (const auto& [dimension, map] : copy.padded) padded = pad(stage, padded, dimension, map);
    for (const PlacedRead& read : copy.reads) {
      std::vector<ExprId> index(pool_.read_index(read.read).begin(),
                                pool_.read_index(read.read).end());
      for (const auto& [dimension, map] : copy.padded) {
        Affine form = read.index[dimension]->form;
        form += -map.front().begin;
        index[dimension] = to_expr(pool_, form, copy.domain);
      }
      replaced[read.read.value] =
          pool_.read(padded, graph_.info(tensor).dtype, index, pool_.read_predicate(read.read));
    }
  }

  // The stage whose result at t along the dimension is the tensor's element at map(t).
  TensorId pad(const Stage& stage, TensorId tensor, size_t dimension, const Piecewise& map) {
    const TensorInfo info = graph_.info(tensor);
    std::vector<int64_t> shape = info.shape;
    shape[dimension] = length_of(map);
    std::vector<ExprId> index = axes(pool_, shape.size());
    const ExprId body =
        chosen_piece(index[dimension], map, map.front().begin, {}, [&](ExprId at, ExprId inside) {
          index[dimension] = at;
          return read(graph_, tensor, index, inside);
        });
    const TensorId padded = add_compute(graph_, info.name + "_padded", shape_box(std::move(shape)),
                                        {}, {body}, stage.lines)[0];
    graph_.stages.back().region = stage.region;
    return padded;
  }

  Graph graph_;
  ExprPool& pool_;
};

}  // namespace

Graph padded_reads(Graph graph) {
  return PaddedReads(with_subgraphs(std::move(graph), padded_reads))();
}

}  // namespace adjit::diff
