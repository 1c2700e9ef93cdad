// autosched/cpu/cost/network_inputs.hpp -- what the learned part of the cost model looks at, one
// nest at a time.
//
// Numbers without units: shares, counts for one pass over the register tile, and ratios, most of
// them as logarithms. `log2_by_lines` is a logarithm with straight lines between the powers of two:
// it needs no library function, so it is the same number on every machine.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "autosched/cpu/cost/cost.hpp"

namespace adjit::sched {

/// log2(x) where x is a power of two, linear between them; x > 0. 3 gives 1.5.
double log2_by_lines(double x);

/// What a nest's kernel adds to its own features.
struct NestPlace {
  double nests = 1;          // of the kernel
  double tasks = 1;          // of the kernel
  double cores = 1;          // that it keeps busy
  double program_bytes = 0;  // of all arrays of the program
};

/// In the order of network_input_names. `terms` are the analytic ones.
std::vector<double> network_inputs(const NestFeatures& features, const CostTerms& terms,
                                   const NestPlace& place, const CpuMachine& machine);

/// Names, for weights and samples: what was trained with others is not used.
std::span<const std::string_view> network_input_names();

}  // namespace adjit::sched
