// jit/engine/options.hpp -- what an engine is told when it is made.
#pragma once

#include <string>

#include "jit/cache/log.hpp"
#include "jit/cache/options.hpp"
#include "jit/cpu/float_mode.hpp"
#include "runtime/process/cancellation.hpp"

namespace adjit::engine {

struct EngineOptions {
  int threads = 0;  // 0: ADJIT_NUM_THREADS, else the cores this process may use
  cache::StoreOptions store;
  cache::Log log;          // compilations at Info and Debug; never called under a lock
  bool check_nan = false;  // every stage is watched; the first that makes a NaN is an error
  /// Every plan is checked (verify_plan.hpp): ErrorCode::Internal says what is wrong. For tests.
  bool verify_plans = false;
  FloatMode float_mode = FloatMode::FlushSubnormals;  // of the kernels' arithmetic
  /// Whoever calls the engine, or a function of its compiler, constructs a Cancellable with it
  /// (runtime/process/cancellation.hpp): it is not asked otherwise. Thread-safe.
  CancelHook cancel;
  std::string target_features;  // as cpu_target() takes it; "": ADJIT_CPU, else this machine
};

}  // namespace adjit::engine
