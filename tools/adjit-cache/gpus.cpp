// tools/adjit-cache/gpus.cpp -- what a GPU's code needs on this machine.
#include "tools/adjit-cache/gpus.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "jit/cache/byte_size.hpp"
#include "jit/cuda/assembler.hpp"
#include "jit/cuda/device.hpp"
#include "jit/cuda/installed.hpp"
#include "jit/cuda/result.hpp"
#include "jit/cuda/toolkit.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/run_program.hpp"
#include "runtime/process/scratch_folder.hpp"
#include "tools/adjit-cache/exit_code.hpp"

namespace adjit::cache_tool {
namespace {

using expr::Error;

std::string in_words(int capability) {
  return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const std::string& part : parts) all += (all.empty() ? "" : ", ") + part;
  return all;
}

void describe_driver(const cuda::Driver& driver, Report& report) {
  int version = 0;
  cuda::require(driver, driver.version(&version), "cuDriverGetVersion");
  report.good("the CUDA driver '" + driver.library + "' is that of CUDA " +
              std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10));
}

std::set<int> examine_devices(const cuda::Driver& driver, Report& report) {
  std::set<int> capabilities;
  for (const cuda::DeviceFacts& gpu : cuda::devices(driver)) {
    const std::string name = "cuda:" + std::to_string(gpu.ordinal) + " is " + gpu.name +
                             ", compute capability " + in_words(gpu.capability) + ", " +
                             cache::format_byte_size(static_cast<uint64_t>(gpu.memory_bytes));
    if (gpu.capability < cuda::kLeastCapability) {
      report.note(name + "; adjit needs " + in_words(cuda::kLeastCapability) + " or later");
      continue;
    }
    report.good(name);
    if (!gpu.memory_pools)
      report.note("cuda:" + std::to_string(gpu.ordinal) +
                  " has no memory pools: first calls and new streams wait for the whole GPU");
    capabilities.insert(gpu.capability);
  }
  return capabilities;
}

void examine_assembler(Report& report) {
  try {
    if (const std::optional<cuda::Assembler> found = cuda::find_assembler())
      report.good("ptxas " + found->version + " at '" + found->path + "' assembles kernels");
    else
      report.note("no ptxas: the driver assembles kernels, one after the other");
  } catch (const Error& error) {
    report.problem(error.what());
  }
}

std::optional<std::string> find_tool(const std::string& name) {
  for (const std::string& place : cuda::toolkit_places(name))
    if (std::filesystem::exists(place)) return place;
  return std::nullopt;
}

}  // namespace

std::set<int> examine_gpus(Report& report) {
  const std::vector<std::string> installed = cuda::installed_gpus();
  try {
    const cuda::Driver driver = cuda::load_driver(cuda::driver_library());
    cuda::require(driver, driver.init(0), "cuInit");
    describe_driver(driver, report);
    std::set<int> capabilities = examine_devices(driver, report);
    examine_assembler(report);
    return capabilities;
  } catch (const Error& error) {
    // The driver's own words for "none".
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    const bool hidden = visible != nullptr && (*visible == '\0' || *visible == '-');
    if (installed.empty() || hidden)
      report.note(std::string("no GPU: ") + error.what());
    else
      report.problem("there is " + joined(installed) + ", but " + error.what());
    return {};
  }
}

void examine_gpu_entries(const Shelf& shelf, const std::set<int>& here, Report& report) {
  std::map<std::string, int> others;  // by capability
  uint64_t bytes = 0;
  int count = 0;
  for (const cache::EntryFile& file : shelf.inventory.entries) {
    const cache::EntryRead read = glance_at(shelf, file.id);
    if (!read.entry) continue;
    const std::vector<cache::Component>& components = read.entry->key.components;
    const auto sm = std::ranges::find(components, "sm", &cache::Component::name);
    if (sm == components.end()) continue;
    const auto runs = [&](int capability) { return std::to_string(capability) == sm->value; };
    if (std::ranges::any_of(here, runs)) continue;
    ++others["sm_" + sm->value];
    ++count;
    bytes += file.size;
  }
  if (count == 0) return;
  std::vector<std::string> parts;
  for (const auto& [name, number] : others) parts.push_back(name + ": " + std::to_string(number));
  report.note(std::to_string(count) + " entries, " + cache::format_byte_size(bytes) +
              ", are for GPUs that are not here (" + joined(parts) +
              "); what nobody uses goes by adjit-cache prune --older-than 30d");
}

std::string disassembled(const std::string& cubin) {
  const process::ScratchFolder folder(std::filesystem::temp_directory_path(), "adjit-cubin");
  const std::filesystem::path file = folder / "kernels.cubin";
  std::ofstream(file, std::ios::binary) << cubin;
  std::optional<std::string> program = find_tool("nvdisasm");
  std::vector<std::string> arguments{file.string()};
  if (!program) {
    program = find_tool("cuobjdump");
    arguments.insert(arguments.begin(), "-sass");
  }
  if (!program)
    throw Failure(
        ExitCode::Findings,
        "neither nvdisasm nor cuobjdump is found, which come with CUDA's toolkit; without "
        "them: cat --section cubin");
  const process::ProgramRun ran = process::run_program(*program, arguments, folder / "printed");
  if (ran.status != 0)
    throw Failure(ExitCode::Findings, *program + " failed: " + ran.failure + ran.printed);
  return ran.printed;
}

}  // namespace adjit::cache_tool
