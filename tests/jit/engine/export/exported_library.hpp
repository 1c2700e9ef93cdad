// tests/jit/engine/export/exported_library.hpp -- a library that was written, loaded without adjit.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jit/engine/export/export.hpp"
#include "tests/jit/engine/export/export_folder.hpp"

namespace adjit::testing {

class ExportedLibrary {
 public:
  explicit ExportedLibrary(std::span<const ExportedFunction> functions) {
    export_library("made", functions, folder_.path);
    handle_ = dlopen((folder_.path / "libmade.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) throw std::runtime_error(dlerror());
  }
  ~ExportedLibrary() { dlclose(handle_); }
  ExportedLibrary(const ExportedLibrary&) = delete;
  ExportedLibrary& operator=(const ExportedLibrary&) = delete;

  const std::filesystem::path& folder() const { return folder_.path; }

  template <typename Function>
  Function* found(const std::string& name) const {
    void* const function = dlsym(handle_, name.c_str());
    if (function == nullptr) throw std::runtime_error(dlerror());
    return reinterpret_cast<Function*>(function);
  }

  /// Calls a function of pointers; its status.
  int call(const std::string& name, const std::vector<void*>& arguments) const {
    std::array<void*, kMostArguments> all{};
    if (arguments.size() > all.size()) throw std::runtime_error("too many arguments");
    std::ranges::copy(arguments, all.begin());
    return call_with(found<void>(name), all, std::make_index_sequence<kMostArguments>());
  }
  std::string message(const std::string& name, int status) const {
    return found<const char*(int)>(name + "_message")(status);
  }

 private:
  static constexpr size_t kMostArguments = 24;

  // Those that the function does not take are ignored by the calling convention of x86-64.
  template <size_t... k>
  static int call_with(void* function, const std::array<void*, kMostArguments>& p,
                       std::index_sequence<k...>) {
    using Function = int (*)(decltype(static_cast<void>(k), static_cast<void*>(nullptr))...);
    return reinterpret_cast<Function>(function)(p[k]...);
  }

  ExportFolder folder_;
  void* handle_ = nullptr;
};

}  // namespace adjit::testing
