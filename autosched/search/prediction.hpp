// autosched/search/prediction.hpp -- how long a program is predicted to take, on whichever machine
// a target is.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autosched/machine/target.hpp"
#include "autosched/program/program.hpp"

namespace adjit::sched {

struct Prediction {
  double microseconds = 0;      // of one run
  std::vector<double> kernels;  // of one call of each, in the order in which they first run, scans'
                                // steps in place
};
Prediction predict(const Program& program, const Target& target);

/// The least microseconds that so many floating operations (0: unknown) and bytes of the program's
/// kernels take.
using Roofline = std::function<double(double flops, double bytes)>;
Roofline roofline_of(const Program& program, const Target& target);

/// The prediction as text for people (explain.hpp).
std::string print_prediction(const Program& program, const Target& target);

}  // namespace adjit::sched
