// jit/engine/engine.hpp -- the only place where the steps are joined: computation in, executable
// out.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "jit/cache/memory_tier.hpp"
#include "jit/cache/store.hpp"
#include "jit/cpu/target.hpp"
#include "jit/engine/compiler.hpp"
#include "jit/engine/options.hpp"
#include "jit/engine/request.hpp"
#include "jit/engine/run/executable.hpp"

namespace adjit::engine {

/// `from_memory`: an earlier equal request made it; else its report says how this one did.
struct Compiled {
  std::shared_ptr<Executable> executable;
  bool from_memory = false;
};

/// Caches and compiler. Any thread may call anything; concurrent requests for the same
/// code share one compilation. Outlived by its executables.
class Engine {
 public:
  explicit Engine(EngineOptions options);
  ~Engine();

  /// Memory, then disk, then compilation.
  Compiled compile(const Request& request);

  /// Makes a schedule the one that later requests without a schedule get for this computation, with
  /// these layouts and on such a processor: in this process, and in the cache where that can be
  /// written. "": back to the default. ErrorCode::Schedule when it is not legal here.
  void keep_schedule(const Request& request, const std::string& schedule_json);

  cache::Key key(const Request& request) const;
  cache::Store& store() { return store_; }
  /// For the steps one by one (compiler.hpp, inspect.hpp).
  const Compiler& compiler() const { return compiler_; }
  const EngineOptions& options() const { return compiler_.options; }
  const CpuTarget& target() const { return compiler_.backends->cpu().target(); }
  int threads() const { return compiler_.backends->cpu().threads(); }

 private:
  static cache::Signature place_of(const cache::Key& key, int device);
  std::shared_ptr<Executable> load(const Request& request, const cache::Key& key,
                                   std::string* miss_reason);
  std::shared_ptr<Executable> build(const Request& request, const cache::Key& key,
                                    std::string miss_reason);
  void save(const Request& request, const cache::Key& key, const Graph& graph,
            const Executable& made, std::vector<cache::Section> code);

  cache::Store store_;
  Compiler compiler_;
  cache::MemoryTier<Executable> executables_;
};

}  // namespace adjit::engine
