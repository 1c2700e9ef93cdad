// bindings/c/handles.hpp -- what stands behind the opaque handles.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "bindings/c/adjit.h"
#include "jit/engine/engine.hpp"
#include "runtime/graph/text.hpp"
#include "runtime/trace/index_notation.hpp"
#include "runtime/trace/trace.hpp"

struct adjit_context {
  std::shared_ptr<adjit::Engine> engine;
  std::mutex mutex;  // of info
  std::string info;
};

struct adjit_trace {
  explicit adjit_trace(const char* name) : trace(name), notation(trace) {}
  adjit::Trace trace;
  adjit::IndexNotation notation;
};

struct adjit_computation {
  std::shared_ptr<const adjit::Computation> computation;
  mutable std::mutex mutex;  // of the texts
  mutable std::string text, stages;
};

struct adjit_text_module {
  adjit::TextModule module;
  std::string definitions;
};

struct adjit_lowered {
  std::shared_ptr<adjit::Engine> engine;
  adjit::Request request;
  std::mutex mutex;  // of the texts
  std::string text, stages, schedule, schedule_json, explanation, cost, proposals;
};

struct adjit_executable {
  std::shared_ptr<adjit::Engine> engine;
  adjit::Request request;
  adjit::Request inspected;  // with the schedule that it has
  std::shared_ptr<adjit::Executable> executable;
  bool from_memory = false;
  std::mutex mutex;  // of the texts
  std::string report, llvm, assembly, profile;
};
