// jit/cpu/selection_faults.hpp -- code that LLVM 19 selects wrongly or not at all, written so that
// it does not come to that: a value that is frozen is not folded into what takes it.
#pragma once

#include "runtime/process/rooms.hpp"

namespace llvm {
class Module;
}

namespace adjit::cpu {

/// FastISel of LLVM 19 selects a choice between two scalar floats as a vector blend where there is
/// AVX but no AVX-512, and then folds a load of 4 or 8 bytes into it as one of 16: a read past the
/// end of an array.
void keep_loads_out_of_selects(llvm::Module& module);

/// LLVM 19 computes choices between floats of which one lane is taken for that lane alone, with
/// conditions of a type that it cannot select where there is AVX-512 ("v1i1 = scalar_to_vector").
void keep_choices_whole(llvm::Module& module);

}  // namespace adjit::cpu
