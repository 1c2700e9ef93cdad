// autosched/cpu/passes/pack/shared_packing.hpp -- operands that several products read, copied once.
//
// The gradients of a recurrence's two matrices multiply the same gradients by what the steps left
// and by the caller's own array: two products over one domain, whose best tiles differ by little,
// and want panels of other widths of what they share. With one tile, one copy serves both.
#pragma once

#include <optional>
#include <vector>

#include "autosched/cpu/passes/pack/profit.hpp"
#include "autosched/cpu/tile/choose_tile.hpp"
#include "autosched/machine/cpu_machine.hpp"

namespace adjit::sched {

/// Points of an operand's dimension that lie side by side in its copy.
struct PanelShape {
  size_t dimension = 0;
  int64_t width = 0;
  bool operator==(const PanelShape&) const = default;
};

/// The panels in which a tile that has its lanes along results wants an operand, by its number in
/// the reads; nullopt where it is read as it lies.
std::optional<PanelShape> wanted_panels(const Graph& graph, const OperandRows& rows,
                                        const Accesses& accesses, const TileChoice& tile,
                                        size_t read);

/// What was copied so far for products of one program.
class SharedCopies {
 public:
  void add(const Stage& stage, TensorId operand, const TileChoice& tile, PanelShape shape);

  /// The tile of an earlier product over the same domain, of which a copy is there that the stage's
  /// `own` tile would make in another width: where that costs no more than the copy. nullopt: there
  /// is none.
  std::optional<TileChoice> tile_for(const TileProblem& problem, const TileChoice& own,
                                     const CpuMachine& machine) const;

 private:
  struct Copied {
    TensorId operand;
    std::vector<int64_t> extents;
    size_t output_rank;
    TileChoice tile;
    PanelShape shape;
  };
  std::vector<Copied> copied_;
};

}  // namespace adjit::sched
