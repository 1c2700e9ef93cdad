// tools/adjit-cache/report.hpp -- what doctor finds, a line each.
#pragma once

#include <ostream>
#include <string>

#include "tools/adjit-cache/exit_code.hpp"
#include "tools/adjit-cache/text.hpp"

namespace adjit::cache_tool {

/// Prints one line a check and remembers whether one found something.
class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}
  void good(const std::string& what) { out_ << "ok       " << printable(what) << '\n'; }
  void note(const std::string& what) { out_ << "note     " << printable(what) << '\n'; }
  void problem(const std::string& what) {
    out_ << "problem  " << printable(what) << '\n';
    healthy_ = false;
  }
  ExitCode verdict() const { return healthy_ ? ExitCode::Ok : ExitCode::Findings; }

 private:
  std::ostream& out_;
  bool healthy_ = true;
};

}  // namespace adjit::cache_tool
