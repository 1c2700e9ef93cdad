// autosched/search/prediction.cpp -- how long a program is predicted to take, on whichever machine
// a target is.
#include "autosched/search/prediction.hpp"

#include "autosched/cpu/cost/cost.hpp"
#include "autosched/gpu/cost/cost.hpp"
#include "autosched/search/explain.hpp"

namespace adjit::sched {
namespace {

// Whether the program's tensors come from memory again and again: they are more than the last cache
// holds.
bool from_memory(const Program& program, const CpuMachine& machine) {
  return residence_of(program).bytes > static_cast<double>(machine.l3_bytes);
}
bool from_memory(const Program& program, const GpuMachine& machine) {
  return leaves_l2(program, machine);
}

}  // namespace

Prediction predict(const Program& program, const Target& target) {
  return std::visit(
      [&](const auto& machine) {
        const auto cost = predict(program, machine);
        Prediction prediction{cost.microseconds, {}};
        for (const auto& kernel : cost.kernels) prediction.kernels.push_back(kernel.microseconds);
        return prediction;
      },
      target);
}

Roofline roofline_of(const Program& program, const Target& target) {
  return std::visit(
      [&](const auto& machine) -> Roofline {
        return [machine, memory = from_memory(program, machine)](double flops, double bytes) {
          return roofline(flops, bytes, machine, memory);
        };
      },
      target);
}

std::string print_prediction(const Program& program, const Target& target) {
  return std::visit([&](const auto& machine) { return print(predict(program, machine), machine); },
                    target);
}

}  // namespace adjit::sched
