// tests/jit/emit/gpu_numbers.cpp -- what the tests of this program say of code for GPUs.
#include "tests/jit/emit/gpu_numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <sstream>
#include <utility>
#include <vector>

#include "tests/jit/emit/emitted_program.hpp"

namespace adjit::testing {
namespace {

class Printed final : public ::testing::Environment {
 public:
  void TearDown() override {
    if (std::getenv("ADJIT_GPU_NUMBERS") == nullptr) return;
    const GpuNumbers& n = gpu_numbers();
    const auto count = [](int64_t number) { return static_cast<long long>(number); };
    std::printf("emulated: %lld programs in %.1f s, %.0f a minute\n", count(n.emulated),
                n.emulated_s, 60 * static_cast<double>(n.emulated) / std::max(n.emulated_s, 1e-9));
    std::printf("races: %lld planted, %lld caught\n", count(n.planted), count(n.caught));
    std::printf(
        "assembled: %lld kernels, at most %lld registers, %lld spill, %lld use local memory\n",
        count(n.assembled), count(n.most_registers), count(n.spilling), count(n.in_local_memory));
    std::printf("accesses of global memory in their PTX: %lld, %lld of them of 16 bytes\n",
                count(n.accesses), count(n.wide_accesses));
    for (const std::string& kernel : n.kernels) std::printf("%s\n", kernel.c_str());
    for (const auto& [function, ulps] : n.ulps)
      std::printf("ulp %s: %.2f, bound %.2f\n", function.c_str(), ulps.first, ulps.second);
  }
};
const ::testing::Environment* const kPrinted =
    ::testing::AddGlobalTestEnvironment(new Printed);  // which GoogleTest deletes

int64_t count_of(const std::string& ptx, std::initializer_list<const char*> parts) {
  int64_t count = 0;
  for (const char* part : parts) count += static_cast<int64_t>(occurrences(ptx, part));
  return count;
}
int64_t accesses_in(const std::string& ptx) {
  return count_of(ptx, {"ld.global", "st.global", "cp.async.ca", "cp.async.cg"});
}
int64_t wide_accesses_in(const std::string& ptx) {
  return count_of(
      ptx, {"ld.global.v4.f32", "ld.global.nc.v4.f32", "st.global.v4.f32", "ld.global.v2.f64",
            "ld.global.nc.v2.f64", "st.global.v2.f64", "ld.global.v4.b32", "ld.global.nc.v4.b32",
            "st.global.v4.b32", "ld.global.v4.u32", "ld.global.nc.v4.u32", "st.global.v4.u32",
            "cp.async.cg"});
}

bool is_instruction(const std::string& line) {
  return line.size() > 1 && line[0] == '\t' && line[1] != '.' && line[1] != '/';
}

}  // namespace

GpuNumbers& gpu_numbers() {
  static GpuNumbers the;
  return the;
}

void note_assembled(const std::string& ptx, const std::vector<cuda::KernelFacts>& kernels) {
  GpuNumbers& n = gpu_numbers();
  const std::lock_guard lock(n.mutex);
  for (const cuda::KernelFacts& kernel : kernels) {
    ++n.assembled;
    n.most_registers = std::max<int64_t>(n.most_registers, kernel.registers);
    n.spilling += kernel.spill_bytes > 0;
    n.in_local_memory += kernel.stack_bytes > 0;
  }
  n.accesses += accesses_in(ptx);
  n.wide_accesses += wide_accesses_in(ptx);
}

void note_kernels(const std::string& program, const std::string& gpu, const std::string& ptx,
                  const std::vector<cuda::KernelFacts>& kernels) {
  note_assembled(ptx, kernels);
  GpuNumbers& n = gpu_numbers();
  const std::lock_guard lock(n.mutex);
  for (const cuda::KernelFacts& kernel : kernels) {
    const size_t begin = ptx.find(".entry " + kernel.name + "("), end = ptx.find("\n}", begin);
    const std::string text = ptx.substr(begin, end - begin);
    char line[240];
    std::snprintf(line, sizeof line, "| %s, `%s` | %s | %d | %d | %d | %lld of %lld | %.0f %% |",
                  program.c_str(), kernel.name.c_str(), gpu.c_str(), kernel.registers,
                  kernel.spill_bytes, kernel.stack_bytes,
                  static_cast<long long>(wide_accesses_in(text)),
                  static_cast<long long>(accesses_in(text)), 100 * multiply_add_share(text));
    n.kernels.emplace_back(line);
  }
}

void note_ulps(const std::string& function, double worst, double bound) {
  GpuNumbers& n = gpu_numbers();
  const std::lock_guard lock(n.mutex);
  auto& [most, of] = n.ulps[function];
  most = std::max(most, worst);
  of = bound;
}

void note_races(int64_t planted, int64_t caught) {
  GpuNumbers& n = gpu_numbers();
  const std::lock_guard lock(n.mutex);
  n.planted += planted;
  n.caught += caught;
}

double multiply_add_share(const std::string& ptx) {
  double most = 0, share = 0, all = 0, fused = 0;
  const auto close = [&] {
    if (fused > most) {
      most = fused;
      share = fused / all;
    }
    all = fused = 0;
  };
  std::istringstream lines(ptx);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$L__BB")) close();
    if (!is_instruction(line)) continue;
    ++all;
    fused += line.find("fma.rn") != std::string::npos;
  }
  close();
  return share;
}

}  // namespace adjit::testing
