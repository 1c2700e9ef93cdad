// jit/engine/compile/equal_kernels.hpp -- kernels of one program whose code is the same: layers of
// a network, links of a chain. They are compiled once.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "jit/emit/kernel.hpp"

namespace adjit::engine {

/// The first kernel of a list stands for all that equal it: their modules are the same but for the
/// kernel's own symbol. Modules are compared whole, as bitcode, of which this keeps one each.
class EqualKernels {
 public:
  explicit EqualKernels(size_t count) : codes_(count) {}

  /// Shows kernel k, once, with its module as emitted: the first one, among those shown until now,
  /// that equals it; k itself if there is none before it. Thread-safe.
  size_t show(size_t k, EmittedKernel& kernel);

  /// Once all have been shown.
  size_t first_of(size_t k) const { return codes_[k]->second; }
  size_t different() const { return first_.size(); }

 private:
  using Codes = std::unordered_map<std::string, size_t>;

  std::mutex mutex_;
  Codes first_;                                  // by code
  std::vector<const Codes::value_type*> codes_;  // by kernel
};

}  // namespace adjit::engine
