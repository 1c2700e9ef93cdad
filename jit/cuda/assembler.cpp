// jit/cuda/assembler.cpp -- ptxas, the assembler of CUDA's toolkit, where it is installed.
#include "jit/cuda/assembler.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <system_error>
#include <utility>

#include "jit/cuda/toolkit.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/bytes_in.hpp"
#include "runtime/process/run_program.hpp"
#include "runtime/process/scratch_folder.hpp"

namespace adjit::cuda {
namespace {

namespace fs = std::filesystem;

process::ScratchFolder folder() {
  try {
    return {fs::temp_directory_path(), "adjit-ptxas"};
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::Device, std::string("no folder for the assembler's files: ") +
                                       error.what() + "; set TMPDIR to one that can be written");
  }
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file)
    throw Error(ErrorCode::Device, "the assembler's input cannot be written to " + path.string() +
                                       "; is the disk full?");
}

// From 12.8 on it takes several kernels at a time (12.6 does not know the option), and makes the
// same code of them. The option is in the cubin's notes: it names no number of threads, so that all
// machines make the same cubin.
bool takes_kernels_together(const std::string& version) {
  static const std::regex numbers(R"(^(\d+)\.(\d+))");
  std::smatch found;
  if (!std::regex_search(version, found, numbers)) return false;
  return std::pair(std::stoi(found[1]), std::stoi(found[2])) >= std::pair(12, 8);
}

// nullopt: it does not run, or says no version.
std::optional<Assembler> assembler_at(const std::string& path) {
  const process::ScratchFolder files = folder();
  const process::ProgramRun ran = process::run_program(path, {"--version"}, files / "printed");
  static const std::regex version(R"(V(\d+\.\d+\.\d+))");
  std::smatch found;
  if (ran.status != 0 || !std::regex_search(ran.printed, found, version)) return std::nullopt;
  return Assembler{path, found[1]};
}

}  // namespace

std::optional<Assembler> find_assembler() {
  if (const char* set = std::getenv("ADJIT_PTXAS"); set != nullptr && *set != '\0') {
    const std::string named = set;
    if (named == "off") return std::nullopt;
    if (std::optional<Assembler> found = assembler_at(named)) return found;
    throw Error(ErrorCode::Invalid, "ADJIT_PTXAS is '" + named +
                                        "', which is no ptxas that runs; name the program, or "
                                        "\"off\" to let the driver assemble");
  }
  for (const std::string& place : toolkit_places("ptxas"))
    if (std::optional<Assembler> found = assembler_at(place)) return found;
  return std::nullopt;
}

Assembled assemble(const Assembler& assembler, const std::string& ptx,
                   const std::string& architecture) {
  const process::ScratchFolder files = folder();
  const fs::path input = files / "kernels.ptx", output = files / "kernels.cubin";
  write(input, ptx);
  std::vector<std::string> arguments{"--verbose",    "--gpu-name",    architecture,
                                     input.string(), "--output-file", output.string()};
  if (takes_kernels_together(assembler.version))
    arguments.insert(arguments.end(), {"--split-compile", "0"});
  const process::ProgramRun ran =
      process::run_program(assembler.path, std::move(arguments), files / "printed");
  if (ran.status < 0)
    throw Error(ErrorCode::Device, assembler.path + " was not run to its end: " +
                                       (ran.failure.empty() ? "it was killed" : ran.failure));
  Assembled made{process::bytes_in(output), facts_in(ran.printed)};
  if (ran.status != 0 || made.cubin.empty())
    throw Error(ErrorCode::Compile, "ptxas " + assembler.version + " refuses the code for " +
                                        architecture + ":\n" + ran.printed);
  return made;
}

std::vector<KernelFacts> facts_in(const std::string& printed) {
  static const std::regex line(
      R"(Compiling entry function '([^']+)'|)"
      R"((\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads|)"
      R"(Used (\d+) registers|(\d+) bytes smem)");
  std::vector<KernelFacts> found;
  for (std::sregex_iterator at(printed.begin(), printed.end(), line), end; at != end; ++at) {
    const std::smatch& match = *at;
    const auto number = [&](size_t group) { return std::stoi(match[group]); };
    if (match[1].matched) found.push_back({.name = match[1]});
    if (found.empty()) continue;
    KernelFacts& kernel = found.back();
    if (match[2].matched) {
      kernel.stack_bytes = number(2);
      kernel.spill_bytes = number(3) + number(4);
    }
    if (match[5].matched) kernel.registers = number(5);
    if (match[6].matched) kernel.shared_bytes = number(6);
  }
  return found;
}

}  // namespace adjit::cuda
