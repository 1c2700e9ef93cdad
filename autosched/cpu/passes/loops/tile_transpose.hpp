// autosched/cpu/passes/loops/tile_transpose.hpp -- stages whose lanes lie apart in what they read
// or in what they write.
//
// A transposition moves little and takes long where its cache lines leave the cache half used, or
// where it hops from page to page: copies of weights in panels of channels, for one.
#pragma once

#include <optional>

#include "autosched/analysis/access.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// The axis along which a transposing stage reads contiguously where its lanes, contiguous in the
/// result, are gathered; or writes so, where its lanes are stored apart.
std::optional<size_t> transposed_along(const Stage& stage, const TileChoice& tile,
                                       const Accesses& accesses);

/// Makes of a transposing stage's tile one vector of rows, and of each as many elements as the
/// emitter transposes at once (jit/emit/loads/transposed_load.hpp), unless something hangs on the
/// loop over them. `axis` is that of transposed_along.
void take_pieces(const Graph& graph, const Nest& nest, size_t axis, size_t task_loops,
                 TileChoice& tile);

/// Of a stage with a single read (a copy, or functions of one), before tasks are made: its operand
/// is read from its beginning to its end, as far as the result is still written in whole rows.
Program walk_operand(Program program, size_t stage, const Accesses& accesses);

/// Inside the tasks, cache lines are walked to their end before others are taken: the contiguous
/// axis goes innermost, and only one vector of lines is open at a time.
Program order_transposition(Program program, size_t stage, size_t axis);

}  // namespace adjit::sched
