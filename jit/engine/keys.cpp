// jit/engine/keys.cpp -- the components of keys, by name.
#include "jit/engine/keys.hpp"

#include <llvm/Config/llvm-config.h>

#include <iterator>
#include <string>
#include <utility>

#include "jit/engine/alignment.hpp"

namespace adjit::engine {

extern const char kCodeRevision[];  // the build writes it: cmake/code_revision.cmake

namespace {

std::string layouts_text(const Request& request) {
  std::string text;
  for (size_t k = 0; k < request.layouts.size(); ++k) {
    if (request.layouts[k] == contiguous_layout(request.computation->inputs()[k].shape)) continue;
    text += std::to_string(k) + ":";
    for (int64_t stride : request.layouts[k].strides) text += std::to_string(stride) + ",";
    text += ";";
  }
  return text;
}

void add_all(cache::Key& key, Components components) {
  key.components.insert(key.components.end(), std::make_move_iterator(components.begin()),
                        std::make_move_iterator(components.end()));
}

}  // namespace

const char* llvm_version() { return LLVM_VERSION_STRING; }

cache::Key code_key(const Request& request, Components machine, bool check_nan) {
  cache::Key key;
  key.add("adjit", std::string(ADJIT_VERSION) + "/" + kCodeRevision)
      .add("graph", request.computation->base_hash())
      .add("transformations", request.computation->transformations())
      .add("strides", layouts_text(request));
  if (!is_for_cpu(request)) key.add("alignment", alignment_text(request));
  key.add("schedule", request.schedule_json.empty() ? "default" : "given " + request.schedule_json);
  add_all(key, std::move(machine));
  key.add("llvm", llvm_version());
  if (check_nan) key.add("checks", "nan");
  if (request.memory_budget > 0) key.add("memory budget", std::to_string(request.memory_budget));
  return key;
}

cache::Key kept_schedule_key(const Request& request, Components machine) {
  cache::Key key;
  key.add("kept schedule", "1")
      .add("graph", request.computation->base_hash())
      .add("transformations", request.computation->transformations())
      .add("strides", layouts_text(request));
  add_all(key, std::move(machine));
  return key;
}

}  // namespace adjit::engine
