// autosched/moves/pack.cpp -- an operand copied into another layout: packing, transposing and
// padding are one move.
//
//   B[k, j] with N = 50 packed as {{1, 32, 0}, {0, 1, 0}, {1, 1, 32}}:
//   P[a, b, c] = B[b, 32 a + c] where 32 a + c < 50, else 0;   B[k, j] is then read as P[j // 32,
//   k, j % 32].
#include <algorithm>

#include "autosched/moves/moves.hpp"
#include "autosched/moves/record/record.hpp"
#include "autosched/moves/zero_factors.hpp"
#include "autosched/program/graph_edit.hpp"
#include "autosched/program/limits.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/required_region.hpp"
#include "runtime/diff/conditions/condition.hpp"
#include "runtime/diff/rewrite/factors.hpp"
#include "runtime/domain/bounds.hpp"
#include "runtime/domain/count.hpp"
#include "runtime/graph/index_map.hpp"

namespace adjit::sched {
namespace {

struct Layout {
  const Packing& packing;
  std::vector<int64_t> shape;  // of the operand
  std::vector<int64_t> before,
      padded;  // per dimension of the operand: zeros in front, and the extent with all zeros
};

// No padding, or some before and behind each dimension.
void check_padding(const Move& move, const Packing& packing, size_t rank) {
  constexpr int64_t kMost = int64_t{1} << 40;  // sums stay small
  for (const std::vector<int64_t>* padding : {&packing.padding_before, &packing.padding_after}) {
    move.require(padding->empty() || padding->size() == rank,
                 "the padding must be given for every dimension of the operand, or for none");
    for (int64_t zeros : *padding)
      move.require(zeros >= 0 && zeros <= kMost, "the padding is negative, or too large");
  }
}

Layout layout_of(const Packing& packing, const std::vector<int64_t>& shape) {
  Layout layout{packing, shape, packing.padding_before, shape};
  layout.before.resize(shape.size(), 0);
  std::vector<int64_t> after = packing.padding_after;
  after.resize(shape.size(), 0);
  for (size_t d = 0; d < shape.size(); ++d) layout.padded[d] += layout.before[d] + after[d];
  return layout;
}

// Each dimension of the operand must be told by the packed ones exactly once: divisors from its
// extent down to 1, where each modulus times its divisor is the next larger divisor.
void check(const Move& move, const Layout& layout) {
  for (size_t d = 0; d < layout.shape.size(); ++d) {
    std::vector<PackedDimension> parts;
    for (const PackedDimension& p : layout.packing.dimensions)
      if (p.dim == d) parts.push_back(p);
    std::ranges::sort(parts, std::ranges::greater{}, &PackedDimension::divisor);
    move.require(!parts.empty() && parts.front().modulus == 0 && parts.back().divisor == 1,
                 "a dimension of the operand is lost");
    for (size_t k = 1; k < parts.size(); ++k)
      move.require(parts[k].divisor >= 1 && parts[k].modulus >= 1 &&
                       checked_mul(parts[k].divisor, parts[k].modulus) == parts[k - 1].divisor,
                   "the parts of a dimension must multiply up");
  }
  for (const PackedDimension& p : layout.packing.dimensions)
    move.require(p.dim < layout.shape.size(), "the operand has no such dimension");
}

std::vector<int64_t> packed_shape(const Layout& layout) {
  std::vector<int64_t> shape;
  for (const PackedDimension& p : layout.packing.dimensions)
    shape.push_back(p.modulus > 0 ? p.modulus : ceil_div(layout.padded[p.dim], p.divisor));
  return shape;
}

void check_size(const Move& move, const Layout& layout) {
  double operand = 1, copy = 1;
  for (int64_t extent : layout.shape) operand *= static_cast<double>(extent);
  for (int64_t extent : packed_shape(layout)) copy *= static_cast<double>(extent);
  move.require(copy <= kSmallTensor + kGrowthLimit * operand,
               "the copy has more than 64 times the elements of its operand");
}

DType packed_dtype(const Graph& graph, TensorId operand, const Packing& packing) {
  const DType dtype = graph.info(operand).dtype;
  return packing.widen ? accumulator_of(dtype) : dtype;
}

// The identity stage from the operand into the packed tensor, without its result.
Stage copy_stage(Graph& graph, TensorId operand, const Layout& layout) {
  ExprPool& pool = graph.pool;
  std::vector<Affine> index;
  for (int64_t zeros : layout.before) index.push_back(Affine(-zeros));
  for (size_t k = 0; k < layout.packing.dimensions.size(); ++k) {
    const PackedDimension& p = layout.packing.dimensions[k];
    index[p.dim] += Affine::variable(k, p.divisor);
  }
  Stage stage;
  stage.domain.extents = packed_shape(layout);
  stage.domain.output_rank = stage.domain.extents.size();
  ExprId predicate = pool.constant_int(1, DType::Bool);
  std::vector<ExprId> coordinates;
  for (size_t d = 0; d < index.size(); ++d) {
    coordinates.push_back(to_expr(pool, index[d], stage.domain));
    int64_t largest = index[d].constant();
    for (size_t k = 0; k < index[d].size(); ++k)
      largest += index[d].coefficient(k) * (stage.domain.extents[k] - 1);
    if (layout.before[d] > 0)
      predicate =
          pool.logical_and(predicate, pool.make(Op::Le, {pool.constant_int(0), coordinates[d]}));
    if (largest >= layout.shape[d])
      predicate = pool.logical_and(
          predicate, pool.make(Op::Lt, {coordinates[d], pool.constant_int(layout.shape[d])}));
  }
  stage.bodies = {pool.cast(pool.read(operand, graph.info(operand).dtype, coordinates, predicate),
                            packed_dtype(graph, operand, layout.packing))};
  return stage;
}

// Whether `literal` says that coordinate d of the operand is inside it, as the zeros around it then
// say, too.
bool told_by_zeros(const ExprPool& pool, ExprId literal, std::span<const ExprId> index,
                   const Layout& layout) {
  const auto is_int = [&](ExprId id, int64_t value) { return pool.int_value(id) == value; };
  if (!pool.is(literal, Op::Le) && !pool.is(literal, Op::Lt)) return false;
  const ExprId a = pool.operand(literal, 0), b = pool.operand(literal, 1);
  const bool strict = pool.is(literal, Op::Lt);
  for (size_t d = 0; d < index.size(); ++d) {
    if (b == index[d] && is_int(a, strict ? -1 : 0)) return true;
    if (a == index[d] && is_int(b, layout.shape[d] - (strict ? 0 : 1))) return true;
  }
  return false;
}

// Of index d, from the extents of the axes alone.
std::optional<Interval> index_range(const IndexMap& map, size_t d) {
  return map.forms[d] ? box_interval(map.domain, *map.forms[d]) : std::nullopt;
}

// Whether at every point of the box the index stays within the operand and the zeros around it.
bool stays_in_padding(const IndexMap& map, const Layout& layout) {
  for (size_t d = 0; d < map.forms.size(); ++d) {
    const std::optional<Interval> range = index_range(map, d);
    if (!range || range->lo < -layout.before[d] || range->hi >= layout.padded[d] - layout.before[d])
      return false;
  }
  return true;
}

// The reads of the operand, or those of all others.
std::vector<ExprId> reads_of_operand(const ExprPool& pool, const Stage& stage, TensorId operand,
                                     bool others = false) {
  std::vector<ExprId> found;
  for (ExprId id : reachable(pool, stage.bodies))
    if (pool.is(id, Op::Read) && (pool.read_tensor(id) != operand) == others) found.push_back(id);
  return found;
}

// The domain without the rows that say no more than that a read of the operand is inside it:
// outside, the factor is 0.
Domain without_rows(const ExprPool& pool, const Stage& stage, TensorId operand,
                    const Layout& layout) {
  Domain domain = stage.domain;
  for (ExprId read : reads_of_operand(pool, stage, operand)) {
    const IndexMap map = index_map(pool, pool.read_index(read), domain);
    if (!stays_in_padding(map, layout)) continue;
    for (size_t d = 0; d < map.forms.size(); ++d) {
      std::erase(domain.inequalities, *map.forms[d]);
      std::erase(domain.inequalities, Affine(layout.shape[d] - 1) - *map.forms[d]);
    }
  }
  return domain;
}

// Whether the reads of other operands, too, are inside theirs without those rows. What the rows did
// not prove either, a predicate of the read says.
bool others_stay_inside(const Graph& graph, const Stage& stage, TensorId operand,
                        const Domain& without) {
  const ExprPool& pool = graph.pool;
  for (ExprId read : reads_of_operand(pool, stage, operand, true)) {
    const std::span<const ExprId> index = pool.read_index(read);
    const std::vector<int64_t>& shape = graph.info(pool.read_tensor(read)).shape;
    for (size_t d = 0; d < index.size(); ++d) {
      const auto before = proven_sides(pool, stage.domain, index[d], shape[d]);
      const auto after = proven_sides(pool, without, index[d], shape[d]);
      for (size_t side = 0; side < before.size(); ++side)
        if (before[side] && !after[side]) return false;
    }
  }
  return true;
}

enum class Divided : uint8_t { Nothing, Few, Many };

// The axes that a form divides: the interval of one of few points is still tight.
Divided divided_axes(const Domain& domain, const Affine& form) {
  Divided found = Divided::Nothing;
  for (size_t q = domain.rank(); q < form.size(); ++q) {
    if (form.coefficient(q) == 0) continue;
    found = std::max(found, Divided::Few);
    const Affine& numerator = domain.divisions[q - domain.rank()].numerator;
    for (size_t a = 0; a < numerator.size(); ++a)
      if (numerator.coefficient(a) != 0 &&
          (a >= domain.rank() || domain.extents[a] > kLargestResidue))
        return Divided::Many;
  }
  return found;
}

// Whether a row is gone that mentions an output axis of more points: a tile would have to ask it
// point by point.
bool frees_tiles(const Domain& before, const Domain& without) {
  return std::ranges::any_of(before.inequalities, [&](const Affine& row) {
    if (std::ranges::find(without.inequalities, row) != without.inequalities.end()) return false;
    for (size_t a = 0; a < std::min(row.size(), before.output_rank); ++a)
      if (row.coefficient(a) != 0 && before.extents[a] > kLargestResidue) return true;
    return false;
  });
}

// Whether half of the points or more would multiply zeros: the residues of a strided convolution
// that have no tap, say.
bool multiplies_zeros(const Domain& before, const Domain& without) {
  constexpr int64_t kBudget = 4000;  // iterations spent on counting
  const std::optional<int64_t> points = count_points(before, kBudget);
  const std::optional<int64_t> all = count_points(without, kBudget);
  return points && all && *all / 2 >= *points;
}

class Reader {
 public:
  Reader(Program& program, size_t stage, TensorId operand, TensorId packed, const Layout& layout)
      : pool_(program.graph.pool),
        stage_(program.graph.stages[stage]),
        operand_(operand),
        packed_(packed),
        reads_(reads_of_operand(pool_, stage_, operand)),
        dtype_(program.graph.info(packed).dtype),
        layout_(layout) {}

  void operator()() {
    if (layout_.packing.instead_of_rows)
      stage_.domain = without_rows(pool_, stage_, operand_, layout_);
    if (const std::optional<size_t> only = layout_.packing.read) reads_ = {reads_[*only]};
    Rebuilder rebuild(pool_, pool_, [&](ExprId leaf, std::span<const ExprId> operands) {
      if (std::ranges::find(reads_, leaf) == reads_.end()) return ExprId{};
      return packed_read(std::vector<ExprId>(operands.begin(), operands.end()));
    });
    for (ExprId& body : stage_.bodies) body = rebuild(body);
  }

 private:
  ExprId packed_read(const std::vector<ExprId>& operands) {
    const size_t rank = layout_.shape.size();
    const std::vector<ExprId> index(operands.begin(),
                                    operands.begin() + static_cast<std::ptrdiff_t>(rank));
    ExprId predicate = operands.size() > rank ? operands.back() : ExprId{};
    if (predicate.valid() && stays_in_padding(index_map(pool_, index, stage_.domain), layout_))
      predicate = what_zeros_do_not_say(predicate, index);
    std::vector<ExprId> coordinates;
    for (const PackedDimension& p : layout_.packing.dimensions) {
      ExprId at = pool_.add(index[p.dim], pool_.constant_int(layout_.before[p.dim]));
      if (p.divisor != 1) at = pool_.make(Op::FloorDiv, {at, pool_.constant_int(p.divisor)});
      if (p.modulus > 0) at = pool_.make(Op::Mod, {at, pool_.constant_int(p.modulus)});
      coordinates.push_back(at);
    }
    return pool_.read(packed_, dtype_, coordinates, predicate);
  }

  ExprId what_zeros_do_not_say(ExprId predicate, std::span<const ExprId> index) {
    ExprId rest;
    for (ExprId literal : conjuncts(pool_, predicate))
      if (!told_by_zeros(pool_, literal, index, layout_)) rest = both(pool_, rest, literal);
    return rest;
  }

  ExprPool& pool_;
  Stage& stage_;
  TensorId operand_, packed_;
  std::vector<ExprId> reads_;  // that go to the copy
  DType dtype_;
  const Layout& layout_;
};

// Whether nothing moves: such a copy is for the loops that it will be attached to, and is not
// shared.
bool keeps_layout(const Layout& layout) {
  const std::vector<PackedDimension>& dimensions = layout.packing.dimensions;
  for (size_t k = 0; k < dimensions.size(); ++k)
    if (dimensions[k].dim != k || dimensions[k].divisor != 1) return false;
  return layout.padded == layout.shape;
}

// An earlier stage that makes the same copy; equal bodies are equal ids. Not one of another region:
// a copy would wait for what is computed again.
TensorId equal_copy(const Program& program, size_t stage, TensorId operand, const Stage& copy) {
  for (size_t reader : program.readers[operand.value]) {
    const Stage& other = program.graph.stages[reader];
    if (reader < stage && other.region == copy.region &&
        other.combiner.kind == CombinerKind::None && other.bodies == copy.bodies &&
        other.domain == copy.domain && program.scopes[other.results.front().value] != Scope::Local)
      return other.results.front();
  }
  return {};
}

Json as_json(const Packing& packing) {
  Json dimensions = Json::array();
  for (const PackedDimension& p : packing.dimensions)
    dimensions.push_back({p.dim, p.divisor, p.modulus});
  Json json{{"dimensions", std::move(dimensions)},
            {"before", packing.padding_before},
            {"after", packing.padding_after},
            {"instead_of_rows", packing.instead_of_rows},
            {"widen", packing.widen}};
  if (packing.read) json["read"] = *packing.read;
  return json;
}

std::vector<TensorId> other_operands(const Graph& graph, const Stage& reader, TensorId operand) {
  std::vector<TensorId> others = tensors_read(graph, reader);
  std::erase(others, operand);
  return others;
}

}  // namespace

bool is_factor(const Graph& graph, const Stage& stage, TensorId operand) {
  if (!is_product_sum(graph, stage)) return false;
  const auto reads_it = [&](ExprId id) {
    if (graph.pool.is(id, Op::Cast)) id = graph.pool.operand(id, 0);  // 0 stays 0
    return graph.pool.is(id, Op::Read) && graph.pool.read_tensor(id) == operand;
  };
  const Product product = factors_of(graph.pool, stage.bodies.front());
  return std::ranges::count_if(
             product.factors,
             [&](const Factor& factor) { return !factor.inverse && reads_it(factor.expr); }) == 1 &&
         std::ranges::count_if(reads_of(graph, stage), reads_it) == 1;
}

bool is_widened(const Graph& graph, const Stage& stage, TensorId operand) {
  const ExprPool& pool = graph.pool;
  const DType dtype = graph.info(operand).dtype, wide = accumulator_of(dtype);
  const auto reads_it = [&](ExprId id) {
    return pool.is(id, Op::Read) && pool.read_tensor(id) == operand;
  };
  if (wide == dtype || std::ranges::any_of(stage.bodies, reads_it)) return false;
  bool any = false;
  for (ExprId id : reachable(pool, stage.bodies)) {
    if (std::ranges::none_of(pool.operands(id), reads_it)) continue;
    if (!pool.is(id, Op::Cast) || pool.dtype(id) != wide) return false;
    any = true;
  }
  return any;
}

bool is_product_sum(const Graph& graph, const Stage& stage) {
  return stage.combiner.kind == CombinerKind::Sum && stage.bodies.size() == 1 &&
         is_float(graph.pool.dtype(stage.bodies.front())) &&
         graph.pool.is(stage.bodies.front(), Op::Mul);
}

size_t read_number(const Graph& graph, const Stage& stage, ExprId read) {
  const std::vector<ExprId> reads =
      reads_of_operand(graph.pool, stage, graph.pool.read_tensor(read));
  return static_cast<size_t>(std::ranges::find(reads, read) - reads.begin());
}

std::optional<Packing> zeros_around(const Graph& graph, const Stage& stage, ExprId read) {
  const std::vector<int64_t>& shape = graph.info(graph.pool.read_tensor(read)).shape;
  const IndexMap map = index_map(graph.pool, graph.pool.read_index(read), stage.domain);
  Packing packing;
  packing.instead_of_rows = true;
  bool any = false;
  Divided divided = Divided::Nothing;
  for (size_t d = 0; d < shape.size(); ++d) {
    const std::optional<Interval> range = index_range(map, d);
    if (!range || range->empty() || shape[d] == 0) return std::nullopt;
    packing.dimensions.push_back({d, 1, 0});
    packing.padding_before.push_back(std::max<int64_t>(0, -range->lo));
    packing.padding_after.push_back(std::max<int64_t>(0, range->hi - shape[d] + 1));
    if (range->lo >= 0 && range->hi < shape[d]) continue;
    any = true;
    divided = std::max(divided, divided_axes(map.domain, *map.forms[d]));
    if (divided == Divided::Many) return std::nullopt;
  }
  if (!any) return std::nullopt;
  const TensorId operand = graph.pool.read_tensor(read);
  const Domain without = without_rows(graph.pool, stage, operand, layout_of(packing, shape));
  if (!others_stay_inside(graph, stage, operand, without)) return std::nullopt;
  if (divided == Divided::Few && !frees_tiles(stage.domain, without)) return std::nullopt;
  if (multiplies_zeros(stage.domain, without)) return std::nullopt;
  return packing;
}

namespace {

// Before much larger tensors that the same stage alone reads: those of a part of the results at a
// time may then be made just before that part (task_chains.hpp), weights once for all.
size_t place_of_copy(const Program& program, size_t stage, size_t first, const Stage& copy) {
  constexpr int64_t kMuchLarger = 4;
  const Graph& graph = program.graph;
  const int64_t size = graph.info(copy.results.front()).element_count();
  const std::vector<TensorId> operands = tensors_read(graph, copy);
  size_t place = stage;
  while (place > first) {
    const Stage& before = graph.stages[place - 1];
    if (before.kind != StageKind::Compute || before.results.size() != 1) break;
    const TensorId result = before.results.front();
    if (program.scopes[result.value] != Scope::Workspace ||
        program.readers[result.value] != std::vector{stage} ||
        graph.info(result).element_count() < kMuchLarger * size ||
        std::ranges::count(operands, result) > 0)
      break;
    --place;
  }
  return place;
}

}  // namespace

Program pack(Program program, size_t stage, TensorId operand, const Packing& packing) {
  const Move move = begin_move("pack", program, stage);
  move.require(operand.value < program.graph.tensors.size(), "there is no such operand");
  const std::vector<size_t>& readers = program.readers[operand.value];
  move.require(std::ranges::find(readers, stage) != readers.end(), "it does not read the operand");
  move.require(program.scopes[operand.value] != Scope::Local, "the operand is local to a kernel");
  const size_t first = complete_from(program, operand);
  move.require(first <= stage, "the operand is computed in the loops of a kernel that is not done");
  const size_t reads = reads_of_operand(program.graph.pool, move.stage_ref(), operand).size();
  move.require(reads > 0, "its bodies do not read the operand");
  move.require(packing.read.value_or(0) < reads, "it does not read the operand as often");
  check_padding(move, packing, program.graph.info(operand).shape.size());
  const Layout layout = layout_of(packing, program.graph.info(operand).shape);
  check(move, layout);
  check_size(move, layout);
  if (packing.instead_of_rows)
    move.require(is_factor(program.graph, move.stage_ref(), operand),
                 "only a sum of a product with one read of the operand as a factor has zeros "
                 "instead of rows");
  const Stage& reader = move.stage_ref();
  if (packing.instead_of_rows)
    move.require(
        others_stay_inside(program.graph, reader, operand,
                           without_rows(program.graph.pool, reader, operand, layout)),
        "without the rows that zeros stand for, another operand would be read out of bounds");
  if (packing.instead_of_rows)
    move.require(have_values(program.graph, other_operands(program.graph, reader, operand)),
                 "without the rows that zeros stand for, another operand is infinite where its own "
                 "rows exclude points");
  if (packing.widen)
    move.require(is_widened(program.graph, move.stage_ref(), operand),
                 "only an operand of a half type that is cast to float32 at every read is widened");
  Json arguments{{"operand", program.graph.info(operand).name}};
  arguments.update(as_json(packing));
  Stage copy = copy_stage(program.graph, operand, layout);
  copy.region = move.stage_ref().region;
  copy.lines = move.stage_ref().lines;
  const TensorId same =
      keeps_layout(layout) ? TensorId{} : equal_copy(program, stage, operand, copy);
  if (same.valid()) {
    Reader(program, stage, operand, same, layout)();
    index_readers(program);
  } else {
    const TensorInfo info = program.graph.info(operand);
    copy.results = {add_tensor(program.graph, info.name + "_packed",
                               packed_dtype(program.graph, operand, packing), copy.domain.extents)};
    Reader(program, stage, operand, copy.results.front(), layout)();
    const size_t place = place_of_copy(program, stage, first, copy);
    insert_stage(program, place, std::move(copy));
    ++stage;
  }
  const Move moved{move.name, program, stage};
  moved.record(arguments);
  return program;
}

}  // namespace adjit::sched
