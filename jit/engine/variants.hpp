// jit/engine/variants.hpp -- the executables of one request, each for other classes of addresses.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "jit/engine/request.hpp"
#include "jit/engine/run/executable.hpp"

namespace adjit::engine {

/// A GPU's executable serves arrays that lie as it was compiled for (alignment.hpp). Calls with
/// others are served by variants of it, of the same schedule, so that their results have the same
/// bits. Any thread.
class Variants {
 public:
  /// Executables beside the usual one that are made for the arrays that do not fit it. The one
  /// after these fits any. It bounds what one function compiles (a guess, not measured); threads at
  /// once may make a few more.
  static constexpr size_t kMostExact = 4;

  /// `request`: what `usual` was compiled of, with its schedule. `compile`: Engine::compile().
  /// `cancel`: of the call that wants it.
  using Compile =
      std::function<std::shared_ptr<Executable>(const Request& request, const CancelHook& cancel)>;
  Variants(Request request, std::shared_ptr<Executable> usual, Compile compile)
      : request_(std::move(request)), usual_(std::move(usual)), compile_(std::move(compile)) {}

  /// The executable for a call with these arrays, compiled by the first one that needs it: `usual`
  /// on a processor, and of a GPU where its arrays are the host's, or fit it. It lives as long as
  /// this.
  Executable& fitting(const void* const* inputs, void* const* outputs,
                      std::span<const bool> on_device, const CancelHook& cancel = {});
  /// Of all of them.
  void synchronize();

 private:
  struct Made {
    std::vector<size_t> unaligned;
    std::shared_ptr<Executable> executable;
  };
  Executable* find(const std::vector<size_t>& unaligned) const;
  Executable& made_for(std::vector<size_t> unaligned, const CancelHook& cancel);

  const Request request_;
  const std::shared_ptr<Executable> usual_;
  const Compile compile_;
  std::mutex mutex_;  // of what follows, not held while one is compiled
  std::vector<Made> made_;
};

}  // namespace adjit::engine
