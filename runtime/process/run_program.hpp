// runtime/process/run_program.hpp -- other programs: found, and run to their end.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "runtime/process/rooms.hpp"

namespace adjit::process {

struct ProgramRun {
  int status = 0;       // with which it exited; -1: it was not run, or was killed
  std::string printed;  // on both streams
  std::string failure;  // why it was not run; else empty
};

/// Without a shell; a name without a slash is looked for in PATH. It reads nothing, and what it
/// prints goes through a file of that name. Blocks; any thread.
ProgramRun run_program(const std::string& program, std::vector<std::string> arguments,
                       const std::filesystem::path& printed);

/// The path of a program in PATH that may be run.
std::optional<std::string> find_program(const std::string& name);

}  // namespace adjit::process
