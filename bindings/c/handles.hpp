// bindings/c/handles.hpp -- what stands behind the opaque handles.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "bindings/c/adjit.h"
#include "jit/engine/engine.hpp"
#include "jit/engine/variants.hpp"
#include "runtime/graph/parse/text_module.hpp"
#include "runtime/process/fork.hpp"
#include "runtime/trace/index_notation.hpp"
#include "runtime/trace/trace.hpp"

struct adjit_context {
  std::shared_ptr<adjit::engine::Engine> engine;
  std::mutex mutex;  // of info
  std::string info;
};

struct adjit_trace {
  explicit adjit_trace(const char* name) : trace(name), notation(trace) {}
  adjit::trace::Trace trace;
  adjit::trace::IndexNotation notation;
};

struct adjit_computation {
  std::shared_ptr<const adjit::engine::Computation> computation;
  mutable std::mutex mutex;  // of the texts
  mutable std::string text, stages;
};

struct adjit_text_module {
  adjit::graph::TextModule module;
  std::string definitions;
};

struct adjit_lowered {
  std::shared_ptr<adjit::engine::Engine> engine;
  adjit::engine::Request request;
  std::mutex mutex;  // of the texts
  std::string text, stages, schedule, schedule_json, explanation, cost, proposals;
};

struct adjit_executable {
  std::shared_ptr<adjit::engine::Engine> engine;
  adjit::engine::Request request;
  adjit::engine::Request inspected;  // with the schedule that it has
  std::shared_ptr<adjit::engine::Executable> executable;
  std::unique_ptr<adjit::engine::Variants> variants;  // of it, for arrays that it does not fit
  bool from_memory = false;
  std::mutex mutex;  // of the texts
  std::string report, llvm, assembly, profile;
};

namespace adjit::c {

/// A text that is kept with the handle from the first time on. Threads that ask at once may each
/// make it: nothing is locked for as long as that takes.
template <class Make>
const char* kept(std::mutex& mutex, std::string& text, Make&& make) {
  {
    const BriefLock lock(mutex);
    if (!text.empty()) return text.c_str();
  }
  std::string made = make();
  const BriefLock lock(mutex);
  if (text.empty()) text = std::move(made);
  return text.c_str();
}

/// Tensors of a trace; ErrorCode::Invalid when one is not, or the trace has ended: its tensors are
/// gone. `what` names the argument.
std::vector<TensorId> tensors(Trace& trace, int32_t count, const adjit_tensor* ids,
                              const char* what);

}  // namespace adjit::c
