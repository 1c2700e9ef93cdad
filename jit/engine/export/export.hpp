// jit/engine/export/export.hpp -- compiled computations as a C header, an object and a shared
// library that need nothing of ours.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "jit/cpu/float_mode.hpp"
#include "jit/engine/plan/plan.hpp"

namespace adjit::engine {

/// A function of the library: the plan, and its kernels: of the CPU the objects as CompiledKernels
/// has them, of a GPU the images that hold all of them.
struct ExportedFunction {
  std::string name;                          // of the C function
  std::vector<std::string> inputs, outputs;  // names, for comments
  ExecutionPlan plan;
  FloatMode float_mode = FloatMode::FlushSubnormals;
  std::vector<std::vector<char>> objects;
  std::vector<std::string> images;  // the GPU takes the first that is for it
};

/// What kernel k of a function is called: no two functions of a program share a symbol.
std::string exported_symbol(const std::string& function, size_t kernel);

/// The C99 header and C11 source of a library: one function each, which runs the plan on the
/// calling thread, or puts it into a stream of a GPU by the CUDA driver, which it loads itself.
std::string export_header(const std::string& library, std::span<const ExportedFunction> functions);
std::string export_source(const std::string& library, std::span<const ExportedFunction> functions);

/// Writes <library>.h, .c, .o and lib<library>.so into a directory, with the C compiler that CC
/// names ("cc" otherwise). ErrorCode::Invalid for names that are no C identifiers;
/// ErrorCode::Compile where there is no compiler, where it fails (with what it says), and for
/// functions that only adjit itself has (digamma, polygamma, erfinv).
void export_library(const std::string& library, std::span<const ExportedFunction> functions,
                    const std::filesystem::path& directory);

}  // namespace adjit::engine
