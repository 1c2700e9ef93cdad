// tools/adjit-cache/main.cpp -- adjit-cache: looks into the cache of compiled computations, and
// tidies it.
//
// Exit codes: 0 ok, 1 findings, 2 usage, 3 input or output.
#include <CLI/CLI.hpp>
#include <exception>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "jit/cache/byte_size.hpp"
#include "tools/adjit-cache/age.hpp"
#include "tools/adjit-cache/commands.hpp"

namespace adjit::cache_tool {

namespace {

/// What the command line says, filled in by CLI11.
struct Arguments {
  std::string directory;
  std::string id;
  std::string other_id;
  std::string section;
  std::string max_size;
  std::string older_than;
  ListOrder order = ListOrder::Age;
  bool json = false;
  bool last = false;
  bool dry_run = false;
};

using Command = std::function<ExitCode(const cache::StoreOptions&)>;

PruneLimits limits_of(const Arguments& arguments) {
  PruneLimits limits;
  if (!arguments.max_size.empty()) {
    limits.max_bytes = cache::parse_byte_size(arguments.max_size);
    if (!limits.max_bytes)
      throw Failure(ExitCode::Usage, "--max-size takes a size such as 1073741824, 512M or 2G");
  }
  if (!arguments.older_than.empty()) {
    limits.older_than_ms = parse_age(arguments.older_than);
    if (!limits.older_than_ms)
      throw Failure(ExitCode::Usage, "--older-than takes a time such as 90s, 15m, 12h, 30d or 2w");
  }
  if (!limits.max_bytes && !limits.older_than_ms)
    throw Failure(ExitCode::Usage, "give --max-size, --older-than or both");
  return limits;
}

class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.add_option("--dir", arguments_.directory,
                    "the cache directory, instead of the environment's")
        ->type_name("DIRECTORY");
    add_inspection();
    add_comparison();
    add_maintenance();
  }
  CLI::App& app() { return app_; }
  ExitCode run() {
    const auto warn = [](cache::Level, const std::string& message) {
      std::cerr << "adjit-cache: " << message << '\n';
    };
    cache::StoreOptions options = cache::options_from_environment(warn);
    if (!arguments_.directory.empty()) options.directory = arguments_.directory;
    return command_(options);
  }

 private:
  CLI::App* add(const char* name, const char* what, Command command) {
    CLI::App* const subcommand = app_.add_subcommand(name, what);
    subcommand->callback([this, command = std::move(command)] { command_ = command; });
    return subcommand;
  }
  CLI::App* add_on_shelf(const char* name, const char* what,
                         std::function<ExitCode(const Shelf&)> command) {
    return add(name, what, [command = std::move(command)](const cache::StoreOptions& options) {
      return command(open_shelf(options.directory));
    });
  }
  CLI::Option* add_id(CLI::App* subcommand, const char* name, std::string& value) {
    return subcommand->add_option(name, value, "an entry's id, or its first digits");
  }

  void add_inspection() {
    const std::map<std::string, ListOrder> orders = {
        {"age", ListOrder::Age}, {"size", ListOrder::Size}, {"saved", ListOrder::Saved}};
    add_on_shelf("list", "all entries, one a line",
                 [this](const Shelf& shelf) { return list(shelf, arguments_.order, std::cout); })
        ->add_option("--sort", arguments_.order, "age (newest first), size or saved")
        ->transform(CLI::CheckedTransformer(orders, CLI::ignore_case))
        ->type_name("ORDER");

    CLI::App* const show_command =
        add_on_shelf("show", "what one entry was made from, at what cost, and its schedule",
                     [this](const Shelf& shelf) { return show(shelf, arguments_.id, std::cout); });
    add_id(show_command, "ID", arguments_.id)->required();

    CLI::App* const cat =
        add_on_shelf("cat", "one section of an entry, as it is stored", [this](const Shelf& shelf) {
          return print_section(shelf, arguments_.id, arguments_.section, std::cout);
        });
    CLI::App* const which = cat->add_option_group("section")->require_option(1);
    for (const char* name : {"graph", "text", "schedule", "llvm", "asm", "ptx", "sass", "object"})
      which->add_flag_callback(std::string("--") + name,
                               [this, name] { arguments_.section = name; });
    which->add_option("--section", arguments_.section, "a section by name")->type_name("NAME");
    add_id(cat, "ID", arguments_.id)->required();

    add("stats", "numbers of the whole cache", [this](const cache::StoreOptions& options) {
      return stats(open_shelf(options.directory), options.max_bytes, arguments_.json, std::cout);
    })->add_flag("--json", arguments_.json, "as JSON");
  }

  void add_comparison() {
    CLI::App* const why_command =
        add_on_shelf("why", "the key components in which two entries differ: explains a miss",
                     [this](const Shelf& shelf) {
                       if (arguments_.last) return why_last(shelf, std::cout);
                       if (arguments_.other_id.empty())
                         throw Failure(ExitCode::Usage, "give two ids, or --last");
                       return why(shelf, arguments_.id, arguments_.other_id, std::cout);
                     });
    CLI::Option* const last = why_command->add_flag(
        "--last", arguments_.last, "the entry written last against the one most like it");
    add_id(why_command, "A", arguments_.id)->excludes(last);
    add_id(why_command, "B", arguments_.other_id)->excludes(last);

    CLI::App* const diff_command =
        add_on_shelf("diff", "the steps in which two schedules differ", [this](const Shelf& shelf) {
          return diff(shelf, arguments_.id, arguments_.other_id, std::cout);
        });
    add_id(diff_command, "A", arguments_.id)->required();
    add_id(diff_command, "B", arguments_.other_id)->required();
  }

  void add_maintenance() {
    add_on_shelf("verify", "reads every entry and checks it",
                 [](const Shelf& shelf) { return verify(shelf, std::cout); });

    CLI::App* const prune_command = add_on_shelf(
        "prune", "removes the least recently used entries", [this](const Shelf& shelf) {
          return prune(shelf, limits_of(arguments_), arguments_.dry_run, std::cout);
        });
    prune_command->add_option("--max-size", arguments_.max_size, "until the rest is no larger")
        ->type_name("SIZE");
    prune_command
        ->add_option("--older-than", arguments_.older_than,
                     "those unused for this long, such as 30d")
        ->type_name("TIME");
    prune_command->add_flag("--dry-run", arguments_.dry_run, "only say what would go");

    add_on_shelf("clear", "removes every entry",
                 [](const Shelf& shelf) { return clear(shelf, std::cout); });
    add("doctor", "finds what keeps the cache, or GPUs, from working",
        [](const cache::StoreOptions& options) { return doctor(options, std::cout); });
  }

  CLI::App app_{"adjit-cache: looks into adjit's cache, and tidies it", "adjit-cache"};
  Arguments arguments_;
  Command command_;
};

ExitCode run(int argc, char** argv) {
  CommandLine line;
  try {
    line.app().parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    // Asking for help is a ParseError to CLI11, too.
    return line.app().exit(error) == 0 ? ExitCode::Ok : ExitCode::Usage;
  }
  const ExitCode code = line.run();
  std::cout.flush();
  if (!std::cout) throw Failure(ExitCode::Io, "standard output cannot be written");
  return code;
}

}  // namespace

}  // namespace adjit::cache_tool

int main(int argc, char** argv) {
  using adjit::cache_tool::ExitCode;
  try {
    return static_cast<int>(adjit::cache_tool::run(argc, argv));
  } catch (const adjit::cache_tool::Failure& failure) {
    std::cerr << "adjit-cache: " << failure.what() << '\n';
    return static_cast<int>(failure.code());
  } catch (const std::exception& error) {
    std::cerr << "adjit-cache: " << error.what() << '\n';
    return static_cast<int>(ExitCode::Io);
  }
}
