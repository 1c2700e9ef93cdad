// jit/cpu/machine.cpp -- processors by name.
#include "jit/cpu/machine.hpp"

#include <algorithm>

namespace adjit::cpu {
namespace {

constexpr int64_t kKilo = 1 << 10, kMega = 1 << 20;

// Sources: the vendors' optimisation guides; GHz is a usual all-core clock under wide vectors.
// Memory is a server's share for two cores.
struct Row {
  const char* name;
  int64_t l1, l2, l3;
  double ghz;
  int fma_bits, load_bits;
  double l2_bytes, l3_bytes;  // per cycle
};
constexpr Row kRows[] = {
    {"haswell", 32 * kKilo, 256 * kKilo, 16 * kMega, 3.0, 512, 512, 32, 10},
    {"broadwell", 32 * kKilo, 256 * kKilo, 16 * kMega, 2.8, 512, 512, 32, 10},
    {"skylake-avx512", 32 * kKilo, 1 * kMega, 16 * kMega, 2.7, 1024, 1024, 40, 8},
    {"cascadelake", 32 * kKilo, 1 * kMega, 16 * kMega, 2.8, 1024, 1024, 40, 8},
    {"cooperlake", 32 * kKilo, 1 * kMega, 16 * kMega, 2.8, 1024, 1024, 40, 8},
    {"icelake-server", 48 * kKilo, 1280 * kKilo, 24 * kMega, 2.8, 1024, 1024, 40, 8},
    {"sapphirerapids", 48 * kKilo, 2 * kMega, 32 * kMega, 3.0, 1024, 1024, 40, 8},
    {"emeraldrapids", 48 * kKilo, 2 * kMega, 32 * kMega, 3.0, 1024, 1024, 40, 8},
    {"graniterapids", 48 * kKilo, 2 * kMega, 32 * kMega, 3.0, 1024, 1024, 40, 8},
    {"znver2", 32 * kKilo, 512 * kKilo, 16 * kMega, 3.3, 512, 512, 32, 14},
    {"znver3", 32 * kKilo, 512 * kKilo, 32 * kMega, 3.5, 512, 512, 32, 14},
    {"znver4", 32 * kKilo, 1 * kMega, 32 * kMega, 3.7, 512, 512, 32, 12},
    {"znver5", 48 * kKilo, 1 * kMega, 32 * kMega, 4.0, 1024, 1024, 50, 14},
};

}  // namespace

CpuMachine machine_of(const CpuTarget& cpu, int cores) {
  CpuMachine machine;
  machine.cores = cores;
  machine.vector_bits = cpu.vector.vector_bits;
  machine.bfloat16_pairs = cpu.vector.avx512bf16;
  const Row* row = std::ranges::find(kRows, std::string_view(cpu.cpu), &Row::name);
  if (row != std::end(kRows)) {
    machine.l1_bytes = row->l1;
    machine.l2_bytes = row->l2;
    machine.l3_bytes = row->l3;
    machine.ghz = row->ghz;
    machine.fma_bits = row->fma_bits;
    machine.load_bits = row->load_bits;
    machine.l2_bytes_per_cycle = row->l2_bytes;
    machine.l3_bytes_per_cycle = row->l3_bytes;
  }
  // With narrower vectors than the processor has; without FMA a multiply-add is two instructions.
  machine.fma_bits = std::min(machine.fma_bits, 2 * machine.vector_bits / (cpu.vector.fma ? 1 : 2));
  machine.load_bits = std::min(machine.load_bits, 2 * machine.vector_bits);
  return machine;
}

std::vector<std::string_view> known_machines() {
  std::vector<std::string_view> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

}  // namespace adjit::cpu
