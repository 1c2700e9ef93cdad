// runtime/process/run_program.cpp -- other programs: found, and run to their end.
#include "runtime/process/run_program.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "runtime/process/bytes_in.hpp"

namespace adjit::process {

ProgramRun run_program(const std::string& program, std::vector<std::string> arguments,
                       const std::filesystem::path& printed) {
  arguments.insert(arguments.begin(), program);
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, printed.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failed = posix_spawnp(&child, program.c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return {-1, "", std::strerror(failed)};
  int status = 0;
  pid_t ended = 0;
  do ended = waitpid(child, &status, 0);
  while (ended < 0 && errno == EINTR);
  if (ended < 0) {  // the process ignores how its children end
    const std::string why = std::strerror(errno);
    return {-1, bytes_in(printed), "how it ended is not known: " + why};
  }
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, bytes_in(printed), ""};
}

std::optional<std::string> find_program(const std::string& name) {
  const char* const path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::filesystem::path found = std::filesystem::path(folder) / name;
    std::error_code error;
    if (std::filesystem::is_regular_file(found, error) && access(found.c_str(), X_OK) == 0)
      return found.string();
  }
  return std::nullopt;
}

}  // namespace adjit::process
