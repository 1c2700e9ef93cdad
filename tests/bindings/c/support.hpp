// tests/bindings/c/support.hpp -- handles that destroy themselves, arrays as DLTensors, and what a
// failed call must look like.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "bindings/c/adjit.h"

namespace adjit_test {

template <auto Destroy>
struct Destroyer {
  template <class T>
  void operator()(T* handle) const {
    Destroy(handle);
  }
};
using Context = std::unique_ptr<adjit_context, Destroyer<adjit_context_destroy>>;
using Trace = std::unique_ptr<adjit_trace, Destroyer<adjit_trace_destroy>>;
using Computation = std::unique_ptr<adjit_computation, Destroyer<adjit_computation_destroy>>;
using TextModule = std::unique_ptr<adjit_text_module, Destroyer<adjit_text_module_destroy>>;
using Lowered = std::unique_ptr<adjit_lowered, Destroyer<adjit_lowered_destroy>>;
using Executable = std::unique_ptr<adjit_executable, Destroyer<adjit_executable_destroy>>;

/// A value no call may write: out-parameters start as it.
template <class T>
T* untouched() {
  return reinterpret_cast<T*>(uintptr_t{0x5a5a5a5a});  // NOLINT(performance-no-int-to-ptr)
}
inline constexpr uint32_t kUntouched = 0x5a5a5a5a;

#define ADJIT_OK_OR_FAIL(call) ASSERT_EQ(call, ADJIT_OK) << adjit_last_error_message()

/// The call fails with this status and a message that says this much.
inline void expect_failure(adjit_status got, adjit_status wanted, const char* part,
                           const char* call) {
  EXPECT_STREQ(adjit_status_name(got), adjit_status_name(wanted)) << call;
  EXPECT_NE(std::string(adjit_last_error_message()).find(part), std::string::npos)
      << call << ": " << adjit_last_error_message();
}
#define EXPECT_FAILURE(call, status, part) ::adjit_test::expect_failure(call, status, part, #call)

/// A row-major array of floats, or a view with other strides.
struct Floats {
  std::vector<int64_t> shape, strides;
  std::vector<float> data;
  DLTensor tensor{};

  explicit Floats(std::vector<int64_t> extents, float first = 0) : shape(std::move(extents)) {
    size_t count = 1;
    for (int64_t n : shape) count *= static_cast<size_t>(n);
    for (size_t k = 0; k < count; ++k) data.push_back(first + static_cast<float>(k));
    tensor.data = data.data();
    tensor.device = {kDLCPU, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = {kDLFloat, 32, 1};
    tensor.shape = shape.data();
  }
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;

  /// Elements lie at first + sum of index * stride from here on.
  void view(size_t first, std::vector<int64_t> steps) {
    strides = std::move(steps);
    tensor.data = data.data() + first;
    tensor.strides = strides.data();
  }
};

inline Trace trace(const char* name = "f") {
  adjit_trace* made = nullptr;
  EXPECT_EQ(adjit_trace_create(name, &made), ADJIT_OK);
  return Trace(made);
}

inline adjit_tensor input(const Trace& t, std::vector<int64_t> shape,
                          adjit_dtype dtype = ADJIT_FLOAT32) {
  adjit_tensor made = ADJIT_NONE;
  EXPECT_EQ(adjit_trace_input(t.get(), "x", dtype, static_cast<int32_t>(shape.size()), shape.data(),
                              0, &made),
            ADJIT_OK)
      << adjit_last_error_message();
  return made;
}

inline adjit_tensor apply(const Trace& t, const char* name, std::vector<adjit_tensor> inputs,
                          const char* attributes = nullptr) {
  adjit_tensor made = ADJIT_NONE;
  int32_t count = 1;
  EXPECT_EQ(adjit_trace_operator(t.get(), name, static_cast<int32_t>(inputs.size()), inputs.data(),
                                 attributes, &count, &made),
            ADJIT_OK)
      << adjit_last_error_message();
  return made;
}

inline Computation finish(const Trace& t, std::vector<adjit_tensor> outputs) {
  adjit_computation* made = nullptr;
  EXPECT_EQ(
      adjit_trace_finish(t.get(), static_cast<int32_t>(outputs.size()), outputs.data(), &made),
      ADJIT_OK)
      << adjit_last_error_message();
  return Computation(made);
}

/// y = x * x + x over (3, 4).
inline Computation square() {
  const Trace t = trace("square");
  const adjit_tensor x = input(t, {3, 4});
  return finish(t, {apply(t, "add", {apply(t, "multiply", {x, x}), x})});
}

/// Without a disk cache, on two threads.
inline Context context() {
  adjit_context_options options{};
  options.struct_size = sizeof options;
  options.num_threads = 2;
  options.cache_mode = "off";
  adjit_context* made = nullptr;
  EXPECT_EQ(adjit_context_create(&options, &made), ADJIT_OK) << adjit_last_error_message();
  return Context(made);
}

inline Lowered lowered(const Context& c, const Computation& f,
                       std::vector<const DLTensor*> inputs = {}) {
  adjit_lowered* made = nullptr;
  EXPECT_EQ(adjit_computation_lower(c.get(), f.get(), static_cast<int32_t>(inputs.size()),
                                    inputs.empty() ? nullptr : inputs.data(), nullptr, &made),
            ADJIT_OK)
      << adjit_last_error_message();
  return Lowered(made);
}

inline Executable compiled(const Lowered& l) {
  adjit_executable* made = nullptr;
  EXPECT_EQ(adjit_lowered_compile(l.get(), &made), ADJIT_OK) << adjit_last_error_message();
  return Executable(made);
}

/// square(), compiled for row-major arrays.
struct Ready {
  Context c = context();
  Computation f = square();
  Executable e = compiled(lowered(c, f));

  adjit_status run(const DLTensor* in, DLTensor* out) {
    const DLTensor* inputs[] = {in};
    DLTensor* outputs[] = {out};
    return adjit_executable_run(e.get(), 1, inputs, 1, outputs);
  }
};

/// A directory that goes with the test.
struct ScratchDirectory {
  std::filesystem::path path;
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "adjit-c-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no directory " + pattern);
    path = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
};

}  // namespace adjit_test
