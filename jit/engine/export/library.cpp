// jit/engine/export/library.cpp -- files, and the system's C compiler.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "jit/engine/export/export.hpp"
#include "runtime/expr/error.hpp"
#include "runtime/process/run_program.hpp"
#include "runtime/process/scratch_folder.hpp"

namespace adjit::engine {
namespace {

namespace fs = std::filesystem;

// What neither C nor C++, which may include the header, lets a function be called: keywords of C11,
// 6.4.1, but for those that begin with _; those that C++20 has besides; a program's main function;
// macros of headers.
constexpr std::string_view kTakenNames =
    " auto break case char const continue default do double else enum extern float for goto if "
    "inline int long register restrict return short signed sizeof static struct switch "
    "typedef union unsigned void volatile while alignas alignof and and_eq asm bitand bitor "
    "bool catch char8_t char16_t char32_t class co_await co_return co_yield compl concept "
    "const_cast consteval constexpr constinit decltype delete dynamic_cast explicit export "
    "false friend mutable namespace new noexcept not not_eq nullptr operator or or_eq private "
    "protected public reinterpret_cast requires static_assert static_cast template this "
    "thread_local throw true try typeid typename using virtual wchar_t xor xor_eq main NULL "
    "errno ";

void require_identifier(const std::string& name) {
  const bool right =
      !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
      std::ranges::all_of(
          name, [](unsigned char c) { return c < 0x80 && (std::isalnum(c) || c == '_'); }) &&
      kTakenNames.find(" " + name + " ") == std::string_view::npos;
  if (!right)
    throw Error(ErrorCode::Invalid,
                "export: '" + name +
                    "' is no C identifier that C and C++ leave free; name the library and its "
                    "functions with letters, digits and _");
}

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.flush())
    throw Error(ErrorCode::Invalid,
                "export: cannot write " + path.string() + ": " + std::strerror(errno));
}

// For intermediate files.
process::ScratchFolder scratch_in(const fs::path& directory) {
  try {
    return {directory, "adjit-export"};
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::Invalid, std::string("export: cannot make a folder: ") + error.what());
  }
}

std::string compiler() {
  const char* named = std::getenv("CC");
  return named != nullptr && *named != '\0' ? named : "cc";
}

// ErrorCode::Compile with what the compiler said when it fails.
void compile(std::vector<std::string> arguments, const fs::path& said) {
  const std::string program = compiler();
  const process::ProgramRun ran = process::run_program(program, std::move(arguments), said);
  if (!ran.failure.empty())
    throw Error(ErrorCode::Compile, "export needs a C compiler, and '" + program +
                                        "' cannot be run (" + ran.failure +
                                        "); install one, or set CC to its path");
  if (ran.status != 0)
    throw Error(ErrorCode::Compile,
                "export: the C compiler '" + program + "' failed: " + ran.printed.substr(0, 2000));
}

}  // namespace

void export_library(const std::string& library, std::span<const ExportedFunction> functions,
                    const fs::path& directory) {
  require_identifier(library);
  for (const ExportedFunction& f : functions) {
    require_identifier(f.name);
    if (std::ranges::count(functions, f.name, &ExportedFunction::name) > 1)
      throw Error(ErrorCode::Invalid, "export: two functions are named '" + f.name + "'");
  }
  const std::string source = export_source(library, functions);
  std::error_code error;
  fs::create_directories(directory, error);
  const process::ScratchFolder scratch = scratch_in(directory);
  const fs::path header = directory / (library + ".h"), c = directory / (library + ".c");
  write(header, export_header(library, functions));
  write(c, source);

  const fs::path said = scratch / "said", part = scratch / "plan.o";
  compile({"-std=c11", "-O2", "-fPIC", "-fvisibility=default", "-c", c, "-o", part}, said);
  std::vector<std::string> parts{part};
  for (const ExportedFunction& f : functions)
    for (size_t k = 0; k < f.objects.size(); ++k) {
      if (f.objects[k].empty()) continue;  // an earlier one's code
      parts.push_back(scratch / (f.name + "-" + std::to_string(k) + ".o"));
      write(parts.back(), {f.objects[k].data(), f.objects[k].size()});
    }
  const fs::path whole = directory / (library + ".o");
  std::vector<std::string> relocatable{"-r", "-nostdlib", "-o", whole};
  relocatable.insert(relocatable.end(), parts.begin(), parts.end());
  compile(relocatable, said);
  compile(
      {"-shared", "-Wl,-z,defs", "-Wl,-z,noexecstack", "-o", directory / ("lib" + library + ".so"),
       whole, "-Wl,--as-needed", "-lm", "-ldl", "-lpthread"},
      said);
}

}  // namespace adjit::engine
