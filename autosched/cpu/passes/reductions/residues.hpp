// autosched/cpu/passes/reductions/residues.hpp -- one part for each residue of an axis that reads
// divide.
#pragma once

#include <cstddef>

#include "autosched/cpu/passes/layout_context.hpp"

namespace adjit::sched {

/// Reads that divide the lanes' axis would be gathered: by residues they are contiguous. A
/// contraction's other axes that reads divide make conditions on which terms there are: by
/// residues these bound its reduction loops. Where an operand depends on an axis by its quotient
/// only (the groups of a convolution), all residues of a tile share what is read of it. Whether
/// there were any.
bool take_residues(LayoutContext& c, size_t s);

}  // namespace adjit::sched
