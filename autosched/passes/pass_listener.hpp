// autosched/passes/pass_listener.hpp -- who is shown the program after each pass of a schedule.
#pragma once

#include <functional>
#include <string>

#include "autosched/program/program.hpp"

namespace adjit::sched {

/// Called with kStart before the first pass, and after each pass with its name; of a pass over the
/// steps of scan 'h', "h / name".
using PassListener = std::function<void(const std::string& pass, const Program& program)>;

/// What listeners get as the name of what the passes begin with.
inline constexpr const char* kStart = "start";

/// The listener of the passes over the steps of a scan; none where there is none.
inline PassListener listener_inside(const PassListener& listener, const std::string& scan) {
  if (!listener) return {};
  return [listener, scan](const std::string& pass, const Program& steps) {
    listener(scan + " / " + pass, steps);
  };
}

}  // namespace adjit::sched
