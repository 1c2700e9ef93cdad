// autosched/moves/moves.hpp -- the moves: the only way to change a program.
//
// Each move is a function from a program to a program; it checks its own legality and raises
// ErrorCode::Schedule naming itself, the stage and the reason, also where it goes further than code
// can be made of (limits.hpp). It appends itself to
// Program::moves_json, so that a schedule is the list of its moves: replaying them on
// initial_program(graph) gives the same program.
//
// `stage` is an index into program.graph.stages at the time of the call (moves that rewrite the
// graph renumber). In JSON a stage goes by its first result's name, which never changes:
//   [{"move": "tile", "stage": "C", "axis": 0, "steps": [240, 12]}, {"move": "vectorize", "stage":
//   "C", ...}]
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autosched/program/program.hpp"

namespace adjit::sched {

// ---- Moves on loops
// ---------------------------------------------------------------------------------------------

/// Splits a serial loop over an axis, the outermost of smaller steps than these, so that the axis
/// has loops of these steps (descending, each a multiple of the next and of that loop's step)
/// outside it, in place. Steps that would make an outer loop of one trip are still made. tile(C, 0,
/// {240, 12}): loops of step 240, 12 and 1.
Program tile(Program program, size_t stage, size_t axis, std::span<const int64_t> steps);

/// Puts the loops into another order: loop order[k] becomes loop k. Loops of one axis keep their
/// order, the tile stays innermost, parallel loops outermost; a nest attached at depth d needs the
/// same d loops around it. Thread loops go where serial ones may.
Program reorder(Program program, size_t stage, std::span<const size_t> order);
/// The same, and no move where they are in that order.
Program with_order(Program program, size_t stage, std::span<const size_t> order);

/// Makes the innermost loop over an axis, split by `lanes` (a power of two) when it is longer, the
/// nest's vector loop. Over a reduction axis: lanes of the reduction (Sum, Product, Max, Min, Any,
/// All only).
Program vectorize(Program program, size_t stage, size_t axis, int64_t lanes);

/// Splits the innermost serial loop over an axis by `factor` and moves the inner part into the
/// register tile, inside the unrolled loops already there. Over a reduction axis: `factor`
/// accumulators.
Program unroll(Program program, size_t stage, size_t axis, int64_t factor);

/// Stores the results of a stage past the caches (non-temporal stores), in whole vectors where
/// these are aligned: for tensors in memory that nothing reads before the caches have forgotten
/// them. Not for scatters and running reductions, which read what they stored.
Program store_nontemporal(Program program, size_t stage);

/// While a stage reads, it fetches into the caches what it will read in the next iteration (or a
/// later one, where these are neighbours in memory) of a serial loop: its own innermost one over an
/// output axis, or else that which it is attached in.
Program prefetch(Program program, size_t stage, std::optional<size_t> axis = std::nullopt);

/// Runs the first `loops` loops of a kernel's root nest in parallel; all must be serial loops, over
/// output axes or, for tasks in turn (program.hpp), reduction axes.
Program parallel(Program program, size_t stage, size_t loops);

/// Splits the innermost serial loop over an axis, outside the tile, into a serial loop and, inside
/// it, one of `count` trips (at most the loop's own) for as many threads of a block (program.hpp).
/// Over a reduction axis each thread has an accumulator (Sum, Product, Max, Min, Any, All, and
/// ArgMax and ArgMin that tell the order, winners.hpp). For GPUs; so is an axis that runs on.
Program threads(Program program, size_t stage, size_t axis, int64_t count);

// ---- Where a stage is computed
// ----------------------------------------------------------------------------------

/// Computes a stage inside the host's loops [0, depth), for the region that the rest of that
/// iteration reads. The stage is the root of a kernel without parallel loops or tiles; it becomes
/// the plain nest over its region. Where other kernels or the caller read the result too, the
/// regions must cover it exactly once.
Program compute_at(Program program, size_t stage, size_t host, size_t depth);

/// Computes a stage, which the host does not read, inside the host's loops [0, depth): the region
/// that the host would read there if it read the stage at `indices`, a form over the host's axes
/// for each dimension. The regions must cover the stage exactly once, and the host stand behind it:
/// what both read is read once. Otherwise as compute_at.
Program compute_with(Program program, size_t stage, size_t host, size_t depth,
                     std::span<const Affine> indices);

/// Splits the loop that everything attached to `host` is attached to, the last of the loops [0,
/// depth), into groups of `rows` (of which the last one may have fewer), and attaches that to the
/// groups: a reduction of one short row waits for each step of it, those of several rows go on side
/// by side. Before loops of them are scheduled.
Program interleave(Program program, size_t host, size_t depth, int64_t rows);
/// Whether groups of that many rows compute what is read elsewhere, too, once. A group that reads
/// as many rows as a tensor has would compute all of it, and so would the next one. The program is
/// left as it is.
bool interleaves_once(Program& program, size_t host, size_t depth, int64_t rows);

/// Gives what a block computes in a serial loop of its host so many buffers (2 to kBufferLimit), to
/// be computed ahead of the iterations that read it (Pipelines, program.hpp). For GPUs.
Program pipeline(Program program, size_t stage, int64_t buffers);

// ---- Moves that rewrite the graph
// -------------------------------------------------------------------------------

/// Substitutes the bodies of these stages into everything that reads them; they vanish. Only stages
/// without a combiner, not graph outputs. All at once, in time linear in the bodies touched. What
/// the ranges of indices decide is folded where the target asks for that (folds_ranges).
Program inline_stages(Program program, std::span<const size_t> stages);
/// The same, but the stages stay, for the caller or as an anchor: their readers recompute them.
Program recompute(Program program, std::span<const size_t> stages);

/// Computes a stage a second time, just before `reader`, for that and all later stages that read
/// it: what is large need not be kept between two uses that lie far apart. The copy has the name of
/// the stage with "_again" behind it; results that nobody reads again are left out of it.
Program rematerialize(Program program, size_t stage, size_t reader);

/// Computes what leads to the graph's outputs alone as soon as its operands are there: the caller
/// holds outputs anyway. Reverse mode leaves the gradients of all weights to the end, by when every
/// layer's cotangent waits for them. Other stages keep their order.
Program eager_outputs(Program program);

/// Writes a short sum over a box out as one expression: a stage without a combiner, of the same
/// values.
Program unroll_reduction(Program program, size_t stage);

/// Writes a short axis of a sum out inside its terms: factors that do not depend on it are
/// multiplied by the sum of those that do, where any of its points has a term. For one sum of
/// floats, over an axis that no condition of its domain bounds. Rounding is another one, and
/// infinite factors of both signs are no number in other places.
Program factor_out(Program program, size_t stage, size_t axis);

/// Splits a reduction (an associative combiner other than Custom) into `parts` partial results over
/// equal ranges of one reduction axis, and a stage that combines them: the partial results get a
/// leading output axis over the parts. The new stage of partial results stands just before `stage`,
/// which keeps its name. Of ArgMax and ArgMin that tell the order (winners.hpp), over a box, the
/// first axis: a stage more says which part has the winner.
Program rfactor(Program program, size_t stage, size_t axis, int64_t parts);

/// The same for a scatter (program.hpp): every part of one of its axes writes to an array of its
/// own, and the arrays are combined. For Sum, Product, Max, Min, Any and All.
Program privatize_scatter(Program program, size_t stage, size_t axis, int64_t parts);

/// Makes a scatter a reduction, over each element of its result, of all points that may write it. A
/// coordinate that data chooses is compared with the element's, so that each point is looked at
/// once for each value that it may have. Combiners as of privatize_scatter.
Program scatter_to_gather(Program program, size_t stage);
/// The dimensions of a scatter's result in which coordinates are compared then.
std::vector<size_t> compared_dimensions(const Graph& graph, const Stage& scatter);

/// Splits a reduction that runs on along an axis (an associative combiner other than Custom) into
/// `parts` chunks of it: their totals, what comes before each (a reduction that runs on along the
/// chunks), and one that runs on along the points of a chunk and begins with that. These new stages
/// stand just before `stage`, which keeps its name and puts the chunks together.
Program split_running(Program program, size_t stage, int64_t parts);

/// Sorts the points of a scatter (program.hpp) by the row that they write, and lets each row
/// combine its points, in their order: rows are independent, and the sums those of the serial
/// scatter. A scatter of the same rows that has been inverted before shares its order. `chunk`:
/// points that are counted together; a digit of the sort has at most as many values. `piece` > 0:
/// rows in whose places a whole piece lies (all of two pieces and more, some of fewer) are combined
/// in pieces, for Sum, Product, Max, Min, Any and All; the order of their sums is then fixed by all
/// indices and the piece, never by threads.
Program invert(Program program, size_t stage, int64_t chunk, int64_t piece = 0);
/// Points, and rows, that are numbered by int32.
inline constexpr int64_t kMostInverted = int64_t{1} << 30;
/// What the axes of a scatter and the dimensions of its result are to its inversion.
struct InvertedAxes {
  std::vector<size_t> points;  // axes that are sorted
  std::vector<size_t> apart;   // axes by which points write apart, in a dimension of its own each
  std::vector<size_t> rows;    // the other dimensions: together they number rows
};
InvertedAxes inverted_axes(const Graph& graph, const Stage& stage);

/// Lets a scatter (program.hpp) write an array that has this dimension of its result innermost, and
/// rows of `width` elements there (0: as many as the dimension has). The new stages of the array's
/// start and of the scatter stand just before `stage`, which keeps its name and puts the elements
/// in their places.
Program scatter_layout(Program program, size_t stage, size_t dimension, int64_t width = 0);

/// Sums rows of an operand that data names as rows: where a term is the operand at places that some
/// axes of the sum move (the corners of a cell), a weight, and values that these axes do not move,
/// rows are weighed and summed by a stage of their own, with the elements of a row innermost, and
/// the stage sums along what it gives. Weights and places are computed by stages in front. The
/// operand's innermost dimension is that of its rows.
Program gather_reduce(Program program, size_t stage, TensorId operand);
/// The same for a scatter that adds weighed values to several rows that data names: the values of a
/// row come from a stage in front, and one axis of the scatter walks its elements; where the rows
/// of an array in the workspace are longer and nobody reads what is behind them, that, too.
Program scatter_accumulate(Program program, size_t stage);

/// Leaves so many elements empty behind each innermost row of a stage's results in the workspace:
/// rows that lie a multiple of 4096 bytes apart fall into one set of L1. For results
/// that compute stages read.
Program pad_leading_dimension(Program program, size_t stage, int64_t gap);

/// Gives a stage that only reads a tensor of the workspace row by row, in another shape, no kernel:
/// that tensor lies where the stage's result does.
Program alias_reshape(Program program, size_t stage);
/// All stages that this may be done to.
Program reshapes_in_place(Program program);

/// Runs a scan's steps by `steps`, a program of the graph that its body is.
Program schedule_scan(Program program, size_t stage, Program steps);

/// Moduli up to this are taken apart; axes of as few points are residues or taps.
inline constexpr int64_t kLargestResidue = 4;
/// Points of a group whose operand all of them share, up to which groups are taken apart.
inline constexpr int64_t kLargestGroup = 1024;
/// Computes a stage by the residues of one output axis modulo `modulus`: the residues are a new
/// axis of a new stage that stands just before `stage`, which keeps its name and puts them
/// together. Strided adjoints lose their divisions so. The new axis is the second one, so that what
/// is put together lies within the first one's points (the images of a batch), or the first, where
/// that is taken apart itself. `inside`: it stands just behind the quotient, for groups that have
/// it in common.
Program split_residues(Program program, size_t stage, size_t axis, int64_t modulus,
                       bool inside = false);
/// Computes each point of a short output axis of a sum by a stage of its own, in front, over the
/// terms that this point has; the stage keeps its name and takes each result from its stage. Points
/// without terms are 0.
Program split_points(Program program, size_t stage, size_t axis);
/// The smallest modulus under which no read and no row divides the axis any more; 1 when none does,
/// 0 when there is none up to kLargestGroup.
int64_t residue_modulus(const Graph& graph, const Stage& stage, size_t axis);

/// One dimension of a packed operand: `part` of the points of dimension `dim`, after
/// `padding_before` zeros: index = ((i + padding_before) / divisor) % modulus, modulus 0: none.
struct PackedDimension {
  size_t dim = 0;
  int64_t divisor = 1;
  int64_t modulus = 0;
  bool operator==(const PackedDimension&) const = default;
};
/// How a packed copy lies in memory: its dimensions, outermost first, and the zeros around each
/// dimension of the operand.
struct Packing {
  std::vector<PackedDimension> dimensions;
  std::vector<int64_t> padding_before;  // per dimension of the operand; empty: none
  std::vector<int64_t> padding_after;
  /// Rows of the stage's domain that only keep the read inside the operand are dropped, too: the
  /// stage must be a sum of a product with the read as a factor, which is 0 there (NaN where
  /// another factor is not finite, as in torch).
  bool instead_of_rows = false;
  /// Elements of a half type become float32, as the stage casts them to at every read.
  bool widen = false;
  /// Which of the stage's reads of the operand goes to the copy (see read_number()); all of them
  /// where empty. Lanes and rows of a tile want x(i, k) and x(j, k) in other layouts.
  std::optional<size_t> read = std::nullopt;
};
/// Copies an operand of a stage into another layout, by a new stage just before it (and before much
/// larger tensors that are made for it alone) which the stage then reads. Example: B[k, j] packed
/// into P[j//32, k, j%32] is {{1, 32, 0}, {0, 1, 0}, {1, 1, 32}}. With padding, reads whose index
/// leaves the operand by no more than the padding lose the parts of their predicate that only keep
/// them inside it.
Program pack(Program program, size_t stage, TensorId operand, const Packing& packing);

/// The number of a read among a stage's reads of the same operand, in the order in which its bodies
/// reach them.
size_t read_number(const Graph& graph, const Stage& stage, ExprId read);

/// The packing that only puts as many zeros around an operand as a read of it needs to lose its
/// conditions; nullopt when the read is inside it anyway or its index is not affine. Where an index
/// that leaves the operand divides: only axes of up to 4 points (residues), and for conditions on
/// longer output axes.
std::optional<Packing> zeros_around(const Graph& graph, const Stage& stage, ExprId read);
/// Whether a stage sums a product (of two or more factors).
bool is_product_sum(const Graph& graph, const Stage& stage);
/// Whether every read of the operand, of a half type, is cast to float32.
bool is_widened(const Graph& graph, const Stage& stage, TensorId operand);
/// Whether it sums a product in which the operand is read once, as a factor by itself.
bool is_factor(const Graph& graph, const Stage& stage, TensorId operand);

/// A stage and one of its axes.
struct StageAxis {
  size_t stage = 0;
  size_t axis = 0;
};
/// Takes an axis that several stages have in common (of one extent, an output axis of some and a
/// reduction axis of others) apart into blocks: an axis of blocks of steps[0] points, within them
/// blocks of steps[1], ..., last the points of a block; each step divides the one before. Results
/// over the axis get a dimension for each of these axes, by which stages of the list read them that
/// read them at the axis itself; for others, and for the caller, a stage behind the first puts
/// them together again. Sums over the axis keep their results, and can go on from block to block.
Program split_axis(Program program, std::span<const StageAxis> stages,
                   std::span<const int64_t> steps);

/// Makes one axis of two axes that follow each other, both of results or both of the reduction, of
/// a stage before any loops of it are made. A stage behind it gives results the shape that they
/// had.
Program fuse_axes(Program program, size_t stage, size_t axis);

/// Computes a stage's results with an output axis, which is not the last one, as their innermost
/// dimension, before any loops of it are made; a stage behind it puts them where they were.
Program transpose_output(Program program, size_t stage, size_t axis);

/// Makes one stage of several with the same domain and the same combiner (or none), which combines
/// each by itself, none reading another: one pass over the operands that they share. The first
/// one's name stays.
Program fuse_siblings(Program program, std::span<const size_t> stages);

/// A stage and the axes of it that count as the axes of what is hoisted, in its order.
struct Hoisted {
  size_t stage = 0;
  std::vector<size_t> axes;
};
/// The reverse of inlining: the largest parts of the stages' bodies that are computed of all of
/// these axes and no others become results of one stage over them, just before the first of the
/// stages, less products and sums with a read or a constant on the outside. Equal ones become one
/// result. For stages over boxes.
Program materialize_common(Program program, std::span<const Hoisted> readers);
/// These parts of one stage's bodies: floats as wide as they are summed, no reads by themselves.
std::vector<ExprId> hoistable(const Graph& graph, const Stage& stage, std::span<const size_t> axes);
/// The same over the axes of what is hoisted.
std::vector<ExprId> hoisted_values(Graph& graph, const Stage& stage, std::span<const size_t> axes);

/// Computes the product of some factors of a sum of products (by their numbers in factors_of(),
/// ascending; not all) by a stage of its own just before it, over the axes that move them: a matrix
/// of a convolution's image. Where the domain's rows say no more than that what is read is inside
/// its tensors, those that mention no other axes become conditions there, outside which the factor
/// is 0 (the result NaN where another factor is not finite, as in torch); else all rows stay in the
/// sum. A cast of a read stays where it is.
Program materialize(Program program, size_t stage, std::span<const size_t> factors);

/// Puts the kernels of stages next to each other, in their order: what needs none of them goes
/// before, what needs one behind.
Program make_adjacent(Program program, std::span<const size_t> stages);
/// Puts the kernel of a stage, and those that need it, right behind the kernel of `other`, which
/// does not.
Program postpone(Program program, size_t stage, size_t other);
/// Whether no other stage needs one of these and is needed by another.
bool can_gather(const Program& program, std::span<const size_t> stages);

/// Whether a combiner combines the results of a stage each by itself (sums, not argmax).
bool combines_each(const Combiner& combiner);

// ---- Replay
// -----------------------------------------------------------------------------------------------------

/// The program that the moves make of the graph, verified. JSON that is not a list of moves, or a
/// move that is not legal here, raises ErrorCode::Schedule with the move's position, the reason,
/// and the move as it is.
Program replay(const Graph& graph, std::string_view moves_json, const Target& target);

}  // namespace adjit::sched
