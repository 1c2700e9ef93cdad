// autosched/analysis/verify.hpp -- whether a program is legal.
#pragma once

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Checks every invariant of program.hpp (loops cover axes, kinds in order, attached regions cover
/// all reads, each stage once, kernels in dependency order). ErrorCode::Schedule says which loop or
/// read breaks which rule.
void verify(const Program& program);

}  // namespace adjit::sched
