// tests/schedules/graphs.hpp -- the graphs whose schedules are recorded, and the machines.
#pragma once

#include <string>

#include "jit/cpu/target.hpp"
#include "runtime/graph/graph.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {

/// None has to be the one that this runs on.
struct Machine {
  const char* name;
  const char* cpu;  // a row of jit/cpu/machine.cpp
  const char* features;
  int cores;
};
inline constexpr const char* kAvx2 = "+sse4.1,+avx,+avx2,+fma,+f16c";
inline constexpr const char* kAvx512 =
    "+sse4.1,+avx,+avx2,+fma,+f16c,+avx512f,+avx512vl,+avx512dq,+avx512bf16";
inline constexpr Machine kMachines[] = {
    {"256 bits, 1 core", "znver3", kAvx2, 1},
    {"256 bits, 2 cores", "znver3", kAvx2, 2},
    {"512 bits, 1 core", "sapphirerapids", kAvx512, 1},
    {"512 bits, 2 cores", "sapphirerapids", kAvx512, 2},
};
CpuTarget cpu_of(const Machine& machine);

/// The graph of a file in text notation, or of "program_7": the final graph of the gradient of the
/// random program of seed 7 (its value where it has no gradient). Throws Error.
Graph graph_of(const std::string& source);
/// "softmax" of "build/schedules/softmax.txt".
std::string name_of(const std::string& source);

}  // namespace adjit::testing
