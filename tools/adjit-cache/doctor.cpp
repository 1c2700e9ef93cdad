// tools/adjit-cache/doctor.cpp -- what would keep the cache, and GPUs, from working.
#include <sys/statvfs.h>
#include <unistd.h>

#include "jit/cache/byte_size.hpp"
#include "tools/adjit-cache/commands.hpp"
#include "tools/adjit-cache/gpus.hpp"
#include "tools/adjit-cache/report.hpp"

namespace adjit::cache_tool {

namespace {

using cache::format_byte_size;

void examine_mode(const cache::StoreOptions& options, Report& report) {
  switch (options.mode) {
    case cache::Mode::Off: return report.note("the cache is off: ADJIT_CACHE=off");
    case cache::Mode::ReadOnly: return report.note("the cache is read only: ADJIT_CACHE=ro");
    case cache::Mode::ReadWrite: return report.good("the cache reads and writes");
  }
}

void examine_space(const Shelf& shelf, uint64_t max_bytes, Report& report) {
  struct statvfs space{};
  if (fstatvfs(shelf.handle(), &space) != 0) return;
  const uint64_t available = uint64_t{space.f_bavail} * space.f_frsize;
  const uint64_t used = shelf.inventory.entry_bytes();
  if (available == 0)
    report.problem("its file system is full");
  else if (max_bytes > used && available < max_bytes - used)
    report.note("its file system has " + format_byte_size(available) +
                " left, less than the cache may yet grow");
  else
    report.good("its file system has " + format_byte_size(available) + " left");
  if ((space.f_flag & ST_RDONLY) != 0)
    report.problem("its file system is mounted read only");
  else if (faccessat(shelf.handle(), ".", W_OK, AT_EACCESS) != 0)
    report.problem("it is not writable for us");
}

void examine_contents(const Shelf& shelf, uint64_t max_bytes, Report& report) {
  uint64_t damaged = 0;
  for (const cache::EntryFile& file : shelf.inventory.entries)
    damaged += look_at(shelf, file.id).fault == cache::Fault::Content;
  const std::string count = std::to_string(shelf.inventory.entries.size()) + " entries";
  if (damaged != 0)
    report.problem(std::to_string(damaged) + " of " + count +
                   " are damaged; run: adjit-cache verify (each goes when it is next asked for)");
  else
    report.good(count + ", none damaged");
  const uint64_t bytes = shelf.inventory.entry_bytes();
  if (max_bytes != 0 && bytes > max_bytes)
    report.note(format_byte_size(bytes) + " exceed the limit of " + format_byte_size(max_bytes) +
                "; the next entry written evicts");
  if (!shelf.inventory.temporaries.empty())
    report.note(std::to_string(shelf.inventory.temporaries.size()) +
                " files are being written, or were left by writers that died");
  for (const std::string& name : shelf.inventory.strangers)
    report.note("'" + name + "' is not the cache's");
}

void examine_directory(const cache::StoreOptions& options, const std::set<int>& gpus,
                       Report& report) {
  try {
    const Shelf shelf = open_shelf(options.directory);
    if (shelf.directory.absent)
      return report.note("'" + options.directory.string() +
                         "' does not exist yet; it is made by the first entry");
    report.good("'" + options.directory.string() + "' is ours and private");
    examine_space(shelf, options.max_bytes, report);
    examine_contents(shelf, options.max_bytes, report);
    examine_gpu_entries(shelf, gpus, report);
  } catch (const Failure& failure) {
    report.problem(failure.what());
  }
}

void examine_shared(const cache::StoreOptions& options, Report& report) {
  if (options.shared_directory.empty()) return;
  const cache::Directory shared = cache::open_directory(
      cache::real_file_system(), options.shared_directory, cache::Sharing::Shared);
  const std::string name = "the shared '" + options.shared_directory.string() + "'";
  if (shared.absent)
    report.problem(name + " does not exist");
  else if (!shared)
    report.problem(shared.refusal);
  else
    report.good(name + " can be read");
}

}  // namespace

ExitCode doctor(const cache::StoreOptions& options, std::ostream& out) {
  Report report(out);
  const std::set<int> gpus = examine_gpus(report);
  examine_mode(options, report);
  examine_directory(options, gpus, report);
  examine_shared(options, report);
  return report.verdict();
}

}  // namespace adjit::cache_tool
