// autosched/cpu/passes/loops/block_packing.hpp -- copies that take a narrow panel of every row.
//
// A panel of 14 columns leaves most of a row's cache lines, and of the pages that the rows lie on,
// to the panels beside it: with all rows of one panel before the next one, every line and every
// page comes as often as there are panels on it.
#pragma once

#include "autosched/analysis/access.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

/// In a kernel's root without a reduction and without anything attached: where a loop over rows
/// that are far apart, more than a core has pages at hand, stands inside one over neighbouring
/// panels of them, takes some rows of all panels of a task before the next rows.
Program copy_in_chunks(Program program, size_t stage, const Accesses& accesses);

}  // namespace adjit::sched
