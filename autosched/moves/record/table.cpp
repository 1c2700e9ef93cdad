// autosched/moves/record/table.cpp -- the moves: a row each.
#include "autosched/moves/record/table.hpp"

#include <optional>

#include "autosched/moves/moves.hpp"
#include "autosched/program/limits.hpp"

namespace adjit::sched {
namespace {

Packing packing_of(const MoveEntry& entry, size_t rank) {
  Packing packing;
  for (const std::vector<int64_t>& d : entry["dimensions"].lists({0, INT64_MAX})) {
    if (d.size() != 3 || d[0] >= static_cast<int64_t>(rank) || d[1] < 1)
      entry["dimensions"].refuse("each is [one of the operand's " + std::to_string(rank) +
                                 " dimensions, a divisor from 1 on, a modulus, or 0 for none]");
    packing.dimensions.push_back({static_cast<size_t>(d[0]), d[1], d[2]});
  }
  packing.padding_before = entry["before"].numbers({0, INT64_MAX});
  packing.padding_after = entry["after"].numbers({0, INT64_MAX});
  packing.instead_of_rows = entry["instead_of_rows"].flag();
  packing.widen = entry["widen"].flag();
  if (entry.has("read")) packing.read = entry["read"].position(kNodeLimit);
  return packing;
}

// Forms over so many axes: their factors, and a constant.
std::vector<Affine> indices_of(const MoveArgument& argument, size_t axes) {
  constexpr int64_t kMost = INT32_MAX;  // products with extents have room in 64 bits
  std::vector<Affine> indices;
  for (const std::vector<int64_t>& numbers : argument.lists({-kMost, kMost})) {
    if (numbers.size() != axes + 1)
      argument.refuse("each is a factor for each of the host's " + std::to_string(axes) +
                      " axes, and a constant");
    Affine& index = indices.emplace_back(numbers.back());
    for (size_t axis = 0; axis < axes; ++axis) index.set_coefficient(axis, numbers[axis]);
  }
  return indices;
}

// Every argument has a name before the program moves on: an entry asks the program, for stages and
// for what its errors say, and the order of a call's arguments is the compiler's.
constexpr MoveRow kMoves[] = {
    {"tile",
     "",
     "Splits the loop over an axis: loops with these steps go around it, the largest outermost.",
     {{{"stage", "a stage, by name"},
       {"axis", "an axis of the stage, by number"},
       {"steps", "steps of the new loops, descending, each a multiple of the next"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const std::vector<int64_t> steps = e["steps"].numbers(kPositive);
       p = tile(std::move(p), stage, axis, steps);
     }},
    {"reorder",
     "",
     "Puts the loops of a nest into another order. Loops over one axis keep theirs; parallel loops "
     "stay outermost, the register tile innermost.",
     {{{"stage", "a stage, by name"},
       {"order", "for each loop, outermost first: its number before"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const std::vector<size_t> order = e["order"].positions(kLoopLimit);
       p = reorder(std::move(p), stage, order);
     }},
    {"vectorize",
     "",
     "Makes the innermost loop over an axis the vector loop of the nest. Over a reduction axis "
     "each lane has a partial result, and they are combined behind the loop.",
     {{{"stage", "a stage, by name"},
       {"axis", "an axis of the stage, by number"},
       {"lanes", "a power of two"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const int64_t lanes = e["lanes"].number({2, kLaneLimit});
       p = vectorize(std::move(p), stage, axis, lanes);
     }},
    {"unroll",
     "",
     "Moves the inner part of the innermost loop over an axis into the register tile: several "
     "instances of the body are computed together.",
     {{{"stage", "a stage, by name"},
       {"axis", "an axis of the stage, by number"},
       {"factor", "instances"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const int64_t factor = e["factor"].number({2, kUnrollLimit});
       p = unroll(std::move(p), stage, axis, factor);
     }},
    {"parallel",
     "",
     "Runs the outermost loops of a kernel in parallel: each iteration is a task.",
     {{{"stage", "a stage, by name"}, {"loops", "how many loops, from the outermost"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const size_t loops = e["loops"].position(kLoopLimit + 1);
       p = parallel(std::move(p), stage, loops);
     }},
    {"threads",
     "",
     "Gives the trips of a loop to the threads of a block, on a GPU: a task of the kernel is then "
     "run by a block. Over a reduction axis each thread has a partial result, and they are "
     "combined behind the loop.",
     {{{"stage", "a stage, by name"},
       {"axis", "an axis of the stage, by number"},
       {"count", "threads, at most as many as the axis' innermost serial loop has trips"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const int64_t count = e["count"].number(kPositive);
       p = threads(std::move(p), stage, axis, count);
     }},
    {"store_nontemporal",
     "stream",
     "Stores the results of a stage past the caches (non-temporal stores).",
     {{{"stage", "a stage, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = store_nontemporal(std::move(p), stage);
     }},
    {"prefetch",
     "fetch_ahead",
     "Fetches into the caches, in each iteration of a loop, what the stage reads in the next one.",
     {{{"stage", "a stage, by name"},
       {"axis", "the axis of the loop; left out: the loop that the stage is computed in"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       std::optional<size_t> axis;
       if (e.has("axis")) axis = e.axis("axis", stage);
       p = prefetch(std::move(p), stage, axis);
     }},
    {"compute_at",
     "",
     "Computes a stage inside a loop of one of its readers, for what that iteration reads.",
     {{{"stage", "a stage, by name"},
       {"host", "the reader, or the stage in whose loops the reader is"},
       {"depth", "how many loops of the host go around the stage"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), host = e.stage("host");
       const size_t depth = e["depth"].position(kLoopLimit + 1);
       p = compute_at(std::move(p), stage, host, depth);
     }},
    {"compute_with",
     "",
     "Computes a stage inside a loop of one that does not read it, but reads the same as it does: "
     "the part that the other would read of it there at these indices.",
     {{{"stage", "a stage, by name"},
       {"host", "a stage behind it, by name"},
       {"depth", "how many loops of the host go around the stage"},
       {"indices",
        "for each dimension of the stage's result: a factor for each axis of the host, and a "
        "constant; in the example i is the host's axis 1, j its axis 0"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), host = e.stage("host");
       const size_t depth = e["depth"].position(kLoopLimit + 1);
       const std::vector<Affine> indices =
           indices_of(e["indices"], p.graph.stages[host].domain.rank());
       p = compute_with(std::move(p), stage, host, depth, indices);
     }},
    {"pipeline",
     "",
     "Gives what a block of a GPU computes in a serial loop of its host several buffers: it is "
     "computed ahead of the iterations that read it, while others compute.",
     {{{"stage", "a stage without a reduction, by name; computed outside its host's thread loops"},
       {"buffers", "2 to 8; it is computed one iteration fewer ahead"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const int64_t buffers = e["buffers"].number({2, kBufferLimit});
       p = pipeline(std::move(p), stage, buffers);
     }},
    {"interleave",
     "group_rows",
     "Groups the iterations of a loop: the stages that are computed in it are computed for a whole "
     "group at once.",
     {{{"stage", "a stage, by name"},
       {"depth", "how many loops go around what is attached"},
       {"rows", "iterations in a group; the last one may have fewer"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), depth = e["depth"].position(kLoopLimit + 1);
       const int64_t rows = e["rows"].number(kPositive);
       p = interleave(std::move(p), stage, depth, rows);
     }},
    {"inline",
     "",
     "Substitutes the bodies of stages into all their readers. The stages vanish. For a GPU, what "
     "the ranges of indices decide is folded.",
     {{{"stages", "stages, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = inline_stages(std::move(p), stages);
     }},
    {"recompute",
     "",
     "Substitutes the bodies of stages into their readers, and keeps the stages.",
     {{{"stages", "stages, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = recompute(std::move(p), stages);
     }},
    {"rematerialize",
     "",
     "Computes a stage again just before a reader, for that and all later readers: its result need "
     "not be kept in between.",
     {{{"stage", "a stage, by name"}, {"reader", "the first stage that reads the second result"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), reader = e.stage("reader");
       p = rematerialize(std::move(p), stage, reader);
     }},
    {"eager_outputs",
     "early_results",
     "Computes what leads to outputs alone as soon as its operands are there.",
     {{}},
     [](Program& p, const MoveEntry&) { p = eager_outputs(std::move(p)); }},
    {"unroll_reduction",
     "expand_reduction",
     "Writes a short sum out as one expression without a reduction axis.",
     {{{"stage", "a stage, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = unroll_reduction(std::move(p), stage);
     }},
    {"factor_out",
     "",
     "Writes a short axis of a sum out inside its terms: factors that do not depend on it are "
     "multiplied by the sum of those that do.",
     {{{"stage", "a sum, by name"},
       {"axis", "an axis of its reduction of up to 8 points, by number"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       p = factor_out(std::move(p), stage, axis);
     }},
    {"rfactor",
     "split_reduction",
     "Splits a reduction into partial results over equal ranges of an axis, and a stage that "
     "combines them.",
     {{{"stage", "a stage, by name"},
       {"axis", "a reduction axis, by number"},
       {"parts", "how many partial results"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const int64_t parts = e["parts"].number(kPositive);
       p = rfactor(std::move(p), stage, axis, parts);
     }},
    {"privatize_scatter",
     "split_scatter",
     "Splits a scatter into parts that write to arrays of their own, and a stage that combines "
     "these.",
     {{{"stage", "a stage, by name"},
       {"axis", "an axis of the stage, by number"},
       {"parts", "how many arrays"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const int64_t parts = e["parts"].number(kPositive);
       p = privatize_scatter(std::move(p), stage, axis, parts);
     }},
    {"split_running",
     "",
     "Splits a reduction that runs on along an axis into chunks of it: their totals, what comes "
     "before each of them, and a reduction that runs on inside each. A stage behind them puts the "
     "chunks together.",
     {{{"stage", "a stage, by name"}, {"parts", "how many chunks, of at least two points"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const int64_t parts = e["parts"].number(kPositive);
       p = split_running(std::move(p), stage, parts);
     }},
    {"invert",
     "",
     "Sorts the points of a scatter by the row that they write, and lets each row combine its "
     "points in their order. Scatters by the same indices share the sort.",
     {{{"stage", "a stage, by name"},
       {"chunk", "points that the sort counts together, at least 2"},
       {"piece", "points of the pieces that long rows are combined in; left out: none are"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const int64_t chunk = e["chunk"].number({2, INT64_MAX});
       const int64_t piece = e.has("piece") ? e["piece"].number({2, INT64_MAX}) : 0;
       p = invert(std::move(p), stage, chunk, piece);
     }},
    {"scatter_to_gather",
     "",
     "Makes a scatter a reduction, over each element of its result, of all points that may write "
     "it. A coordinate that data chooses is compared with the element's.",
     {{{"stage", "a stage, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = scatter_to_gather(std::move(p), stage);
     }},
    {"scatter_layout",
     "scatter_rows",
     "Lets a scatter write an array in which one dimension of its result is innermost. A stage "
     "behind it puts the elements in their places.",
     {{{"stage", "a stage, by name"},
       {"dimension", "a dimension of the result, not the innermost"},
       {"width",
        "elements of a row, at most twice the dimension's; left out: as many as the dimension "
        "has"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const int64_t width = e.has("width") ? e["width"].number(kPositive) : 0;
       const size_t dimension = e["dimension"].position(kAxisLimit);
       p = scatter_layout(std::move(p), stage, dimension, width);
     }},
    {"scatter_accumulate",
     "weigh_rows",
     "For a scatter that adds weighted values to rows at indices that are data: adds a whole row "
     "at a time, with lanes along it. Stages in front compute values, weights and indices.",
     {{{"stage", "a stage, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = scatter_accumulate(std::move(p), stage);
     }},
    {"gather_reduce",
     "sum_rows",
     "For a sum over rows of an operand at indices that are data: sums whole rows, with lanes "
     "along them, in a stage of its own. Stages in front compute weights and indices.",
     {{{"stage", "a stage, by name"}, {"operand", "the tensor whose rows are read, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const TensorId operand = e.tensor("operand");
       p = gather_reduce(std::move(p), stage, operand);
     }},
    {"schedule_scan",
     "schedule_steps",
     "Makes moves on the program of a scan's steps.",
     {{{"stage", "a stage, by name"}, {"moves", "the moves on the steps"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const Json& moves = e["moves"].json();
       if (p.graph.stages[stage].kind != StageKind::Scan)
         throw Error(ErrorCode::Schedule, e.subject() + ": that is no scan");
       Program steps =
           replay_moves(*p.graph.stages[stage].scan->body, moves, p.target, e.subject() + ": ");
       p = schedule_scan(std::move(p), stage, std::move(steps));
     }},
    {"split_residues",
     "",
     "Computes a stage by the residues of an output axis, so that divisions by the modulus vanish "
     "from its indices. A stage behind it puts the results together.",
     {{{"stage", "a stage, by name"},
       {"axis", "an output axis, by number"},
       {"modulus", "how many residues"},
       {"inside", "true: the axis of residues stands behind the quotient's; left out: false"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       const int64_t modulus = e["modulus"].number(kPositive);
       const bool inside = e.has("inside") && e["inside"].flag();
       p = split_residues(std::move(p), stage, axis, modulus, inside);
     }},
    {"split_points",
     "",
     "Computes each point of an output axis of a sum by a stage of its own, over the terms that "
     "the point has. A stage behind them puts the results together.",
     {{{"stage", "a sum, by name"}, {"axis", "an output axis of up to 4 points, by number"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), axis = e.axis("axis", stage);
       p = split_points(std::move(p), stage, axis);
     }},
    {"pack",
     "",
     "Copies an operand of a stage into the order in which the stage reads it. The copy is a stage "
     "in front.",
     {{{"stage", "a stage, by name"},
       {"operand", "the tensor to copy, by name"},
       {"dimensions",
        "for each dimension of the copy: the operand's dimension, a divisor, a modulus or 0; index "
        "// divisor % modulus"},
       {"before", "zeros in front of each dimension of the operand"},
       {"after", "zeros behind each dimension"},
       {"instead_of_rows", "whether the zeros replace conditions of the stage's domain"},
       {"widen", "whether elements of a half type become float32"},
       {"read", "which of the stage's reads of the operand; left out: all"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const TensorId operand = e.tensor("operand");
       const Packing packing = packing_of(e, p.graph.info(operand).shape.size());
       p = pack(std::move(p), stage, operand, packing);
     }},
    {"fuse_siblings",
     "",
     "Makes one stage of several with the same domain and combiner: one pass over what they all "
     "read.",
     {{{"stages", "stages, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = fuse_siblings(std::move(p), stages);
     }},
    {"materialize_common",
     "hoist",
     "Computes the largest expressions that depend on some axes only in a stage in front, once for "
     "all stages: the reverse of inlining.",
     {{{"stages", "stages, by name"},
       {"axes", "for each stage, the axes that the expressions depend on"}}},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       const std::vector<std::vector<int64_t>> axes = e["axes"].lists({0, kAxisLimit - 1});
       if (axes.size() != stages.size()) e["axes"].refuse("it must be a list for every stage");
       std::vector<Hoisted> readers;
       for (size_t k = 0; k < stages.size(); ++k)
         readers.push_back({stages[k], {axes[k].begin(), axes[k].end()}});
       p = materialize_common(std::move(p), readers);
     }},
    {"materialize",
     "",
     "Computes factors of a sum of products by a stage in front, over the axes that move them: the "
     "elements of an image in the order in which a convolution multiplies them. Conditions of the "
     "sum that say no more than that reads are inside their tensors become zeros there.",
     {{{"stage", "a stage, by name"}, {"factors", "factors of its product, by number, ascending"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const std::vector<size_t> factors = e["factors"].positions(kFactorLimit);
       p = materialize(std::move(p), stage, factors);
     }},
    {"split_axis",
     "block_axis",
     "Splits an axis that several stages share into an axis of blocks and an axis inside them, in "
     "all of them.",
     {{{"stages", "stages, by name"},
       {"axes", "for each stage, the axis"},
       {"steps", "points of a block; further numbers split the block again"}}},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages"),
                                 axes = e["axes"].positions(kAxisLimit);
       const std::vector<int64_t> steps = e["steps"].numbers(kPositive);
       if (axes.size() != stages.size()) e["axes"].refuse("it must name an axis for every stage");
       std::vector<StageAxis> blocked;
       for (size_t k = 0; k < stages.size(); ++k) blocked.push_back({stages[k], axes[k]});
       p = split_axis(std::move(p), blocked, steps);
     }},
    {"fuse_axes",
     "merge_axes",
     "Makes one axis of two axes that follow each other. A stage behind it gives the result its "
     "shape, unless these are reduction axes.",
     {{{"stage", "a stage, by name"}, {"axis", "the first of the two axes, by number"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const size_t axis = e.axis("axis", stage);
       p = fuse_axes(std::move(p), stage, axis);
     }},
    {"transpose_output",
     "transpose_results",
     "Computes a stage with an output axis innermost. A stage behind it puts the results where "
     "they were.",
     {{{"stage", "a stage, by name"}, {"axis", "an output axis, not the last, by number"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const size_t axis = e.axis("axis", stage);
       p = transpose_output(std::move(p), stage, axis);
     }},
    {"pad_leading_dimension",
     "pad_rows",
     "Leaves room behind each innermost row of a result in the workspace, so that rows do not fall "
     "into the same sets of the L1 cache.",
     {{{"stage", "a stage, by name"}, {"gap", "elements behind each row"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       const int64_t gap = e["gap"].number(kPositive);
       p = pad_leading_dimension(std::move(p), stage, gap);
     }},
    {"alias_reshape",
     "in_place",
     "Removes the kernel of a stage that only reads a tensor in another shape: its result is that "
     "tensor's memory.",
     {{{"stage", "a stage, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage");
       p = alias_reshape(std::move(p), stage);
     }},
    {"make_adjacent",
     "gather",
     "Puts the kernels of stages next to each other, in their order.",
     {{{"stages", "stages, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const std::vector<size_t> stages = e.stages("stages");
       p = make_adjacent(std::move(p), stages);
     }},
    {"postpone",
     "",
     "Puts the kernel of a stage, and those that need it, right behind the kernel of another.",
     {{{"stage", "a stage, by name"}, {"other", "a stage that does not need it, by name"}}},
     [](Program& p, const MoveEntry& e) {
       const size_t stage = e.stage("stage"), other = e.stage("other");
       p = postpone(std::move(p), stage, other);
     }},
};

}  // namespace

std::span<const MoveRow> move_table() { return kMoves; }

}  // namespace adjit::sched
