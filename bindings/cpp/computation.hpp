// adjit/computation.hpp -- finished computations: derived, lowered, compiled, run.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "array.hpp"

// Handles share: a copy is the same object, and the last one frees it. All of this file may be used
// by any number of threads at once.
namespace adjit::inline cpp {

namespace detail {

template <class Handle, class Make>
std::shared_ptr<Handle> made(void (*destroy)(Handle*), Make&& make) {
  Handle* raw = nullptr;
  check(make(&raw));
  return std::shared_ptr<Handle>(raw, destroy);
}

/// What a function with one string result says of a handle.
template <class Handle>
std::string text(adjit_status (*function)(Handle*, const char**),
                 std::remove_const_t<Handle>* handle) {
  const char* result = nullptr;
  check(function(handle, &result));
  return result;
}

template <class Sized>
int32_t count(const Sized& list) {
  return static_cast<int32_t>(list.size());
}

inline const char* or_null(const std::string& text) {
  return text.empty() ? nullptr : text.c_str();
}

/// The tensors of views and their addresses, which stay right when the pair is moved.
template <class Pointer, class Views>
std::pair<std::vector<DLTensor>, std::vector<Pointer>> tensors_of(const Views& views) {
  std::pair<std::vector<DLTensor>, std::vector<Pointer>> made;
  for (const ConstView& view : views) made.first.push_back(view.tensor());
  for (DLTensor& tensor : made.first) made.second.push_back(&tensor);
  return made;
}

using Log = std::function<void(adjit_log_level, std::string_view)>;

}  // namespace detail

inline std::string version() { return adjit_version(); }

struct ContextOptions {
  int threads = 0;  ///< 0: ADJIT_NUM_THREADS, else the cores there are
  /// Empty: the environment (ADJIT_CACHE_DIR, XDG_CACHE_HOME, HOME).
  std::string cache_directory = {};
  std::string cache_mode = {};  ///< "off", "ro", "rw"; empty: the environment (ADJIT_CACHE)
  /// "native", "x86-64-v2", "x86-64-v3", ...; empty: the environment (ADJIT_CPU), else native.
  std::string target_features = {};
  /// Called from any thread; what it throws is dropped. Empty: standard error.
  detail::Log log = {};
  /// Whether runs name the first stage and index that made a NaN (InvalidError); none: the
  /// environment (ADJIT_CHECK_NAN).
  std::optional<bool> check_nan = {};
  /// Whether subnormal numbers are computed with, or count as zeros; none: the environment
  /// (ADJIT_SUBNORMALS), else zeros.
  std::optional<bool> keep_subnormals = {};
};

/// Caches, threads, compiler. Touches no file and starts no thread before something is compiled.
class Context {
 public:
  explicit Context(const ContextOptions& options = {})
      : log_(options.log ? std::make_shared<const detail::Log>(options.log) : nullptr),
        handle_(detail::made<adjit_context>(adjit_context_destroy, [&](adjit_context** made) {
          adjit_context_options o{};
          o.struct_size = sizeof o;
          o.num_threads = options.threads;
          o.cache_directory = detail::or_null(options.cache_directory);
          o.cache_mode = detail::or_null(options.cache_mode);
          o.target_features = detail::or_null(options.target_features);
          if (options.check_nan) o.check_nan = *options.check_nan ? 1 : -1;
          if (options.keep_subnormals) o.keep_subnormals = *options.keep_subnormals ? 1 : -1;
          if (log_) {
            o.log = forward_log;
            o.log_user = const_cast<detail::Log*>(log_.get());
          }
          return adjit_context_create(&o, made);
        })) {}

  /// Blocks until what is queued for the disk cache is written.
  void flush() const { detail::check(adjit_context_flush(get())); }
  /// JSON: version, build, llvm, target, threads, subnormals, gpus, cache.
  std::string info() const { return detail::text(adjit_context_info, get()); }
  adjit_context* get() const { return handle_.get(); }

 private:
  friend class Computation;
  static void forward_log(void* user, adjit_log_level level, const char* message) {
    try {
      (*static_cast<const detail::Log*>(user))(level, message);
    } catch (...) {  // must not enter the library; NOLINT(bugprone-empty-catch)
    }
  }

  std::shared_ptr<const detail::Log> log_;  // outlives the library's use of it: see Executable
  std::shared_ptr<adjit_context> handle_;
};

/// Name, element type and shape of an input or output.
struct TensorSpec {
  std::string name = {};
  DType dtype = DType::Float32;
  Shape shape = {};
};

/// Machine code for one computation, one layout of its inputs, one target.
class Executable {
 public:
  /// Runs on the calling thread and the context's threads; returns when done. Views must have the
  /// shapes, dtypes and strides that were lowered (ShapeError, DTypeError), outputs row-major and
  /// apart from everything else (InvalidError). BoundsError: an index that the data tells is out of
  /// range.
  void run(const std::vector<ConstView>& inputs, const std::vector<View>& outputs) const {
    const auto [in, in_addresses] = detail::tensors_of<const DLTensor*>(inputs);
    const auto [out, out_addresses] = detail::tensors_of<DLTensor*>(outputs);
    run(std::span(in_addresses), std::span(out_addresses));
  }
  /// The same on DLPack tensors; allocates nothing once warm.
  void run(std::span<const DLTensor* const> inputs, std::span<DLTensor* const> outputs) const {
    detail::check(adjit_executable_run(get(), detail::count(inputs), inputs.data(),
                                       detail::count(outputs), outputs.data()));
  }
  /// The same from bare addresses of element 0, laid out as lowered: no check at all.
  void run_raw(std::span<const void* const> inputs, std::span<void* const> outputs) const {
    detail::check(adjit_executable_run_raw(get(), inputs.data(), outputs.data()));
  }
  /// The same with results in arrays of their own.
  std::vector<Array> call(const std::vector<ConstView>& inputs) const {
    std::vector<Array> results;
    for (const TensorSpec& output : *outputs_) results.emplace_back(output.dtype, output.shape);
    run(inputs, std::vector<View>(results.begin(), results.end()));
    return results;
  }
  template <std::convertible_to<ConstView>... Inputs>
  std::vector<Array> operator()(const Inputs&... inputs) const {
    return call({ConstView(inputs)...});
  }

  /// JSON, one object a kernel: symbol, stages, calls, microseconds, tasks, parallel, flops, bytes.
  std::string profile(const std::vector<ConstView>& inputs, const std::vector<View>& outputs,
                      int repeats = 3) const {
    const auto [in, in_addresses] = detail::tensors_of<const DLTensor*>(inputs);
    const auto [out, out_addresses] = detail::tensors_of<DLTensor*>(outputs);
    const char* json = nullptr;
    detail::check(adjit_executable_profile(get(), detail::count(in), in_addresses.data(),
                                           detail::count(out), out_addresses.data(), repeats,
                                           &json));
    return json;
  }
  /// JSON: cache ("memory", "disk", "miss"), miss_reason, times, kernels, workspace_bytes, key, id.
  std::string report() const { return detail::text(adjit_executable_report, get()); }
  std::string llvm() const { return detail::text(adjit_executable_llvm, get()); }
  std::string assembly() const { return detail::text(adjit_executable_assembly, get()); }
  /// Of a GPU; DeviceError of the CPU.
  std::string ptx() const { return detail::text(adjit_executable_ptx, get()); }
  /// Waits for calls on a GPU and raises what they could not.
  void synchronize() const { detail::check(adjit_executable_synchronize(get())); }
  adjit_executable* get() const { return handle_.get(); }

 private:
  friend class Lowered;
  Executable(std::shared_ptr<adjit_executable> handle,
             std::shared_ptr<const std::vector<TensorSpec>> outputs,
             std::shared_ptr<const detail::Log> log)
      : log_(std::move(log)), outputs_(std::move(outputs)), handle_(std::move(handle)) {}

  std::shared_ptr<const detail::Log> log_;
  std::shared_ptr<const std::vector<TensorSpec>> outputs_;
  std::shared_ptr<adjit_executable> handle_;
};

struct LowerOptions {
  std::string target = {};         ///< empty or "cpu"
  std::string title = {};          ///< what adjit-cache lists; empty: the computation's name
  std::string schedule_json = {};  ///< a schedule in place of the default one
  int64_t memory_budget = 0;       ///< bytes of workspace that a run may take; 0: no bound
};

/// A computation for one target and one layout of its inputs. Nothing is done before it is asked.
class Lowered {
 public:
  /// The computation after derivation and clean-up, in text notation.
  std::string text() const { return detail::text(adjit_lowered_text, get()); }
  /// JSON, one object a stage: name, shape, dtype, flops, bytes, iterations.
  std::string stages() const { return detail::text(adjit_lowered_stages, get()); }
  /// The chosen loop nests, readable; schedule_json is what LowerOptions takes.
  std::string schedule() const { return detail::text(adjit_lowered_schedule, get()); }
  std::string schedule_json() const { return detail::text(adjit_lowered_schedule_json, get()); }
  /// From memory, from disk, or compiled. Blocks while another thread compiles the same.
  Executable compile() const {
    return {detail::made<adjit_executable>(
                adjit_executable_destroy,
                [&](adjit_executable** made) { return adjit_lowered_compile(get(), made); }),
            outputs_, log_};
  }
  adjit_lowered* get() const { return handle_.get(); }

 private:
  friend class Computation;
  Lowered(std::shared_ptr<adjit_lowered> handle,
          std::shared_ptr<const std::vector<TensorSpec>> outputs,
          std::shared_ptr<const detail::Log> log)
      : log_(std::move(log)), outputs_(std::move(outputs)), handle_(std::move(handle)) {}

  std::shared_ptr<const detail::Log> log_;
  std::shared_ptr<const std::vector<TensorSpec>> outputs_;
  std::shared_ptr<adjit_lowered> handle_;
};

/// A finished computation, forward or derived; immutable. Transformations take results of
/// transformations, and derive when something is first asked of them.
class Computation {
 public:
  using Positions = std::vector<int32_t>;
  /// The position of a batch dimension; none for what all elements share.
  using BatchAxes = std::vector<std::optional<int32_t>>;

  std::vector<TensorSpec> inputs() const { return specs(false); }
  std::vector<TensorSpec> outputs() const { return specs(true); }
  /// In text notation.
  std::string text() const { return detail::text(adjit_computation_text, get()); }
  /// JSON, one object a stage: name, shape, dtype, flops, bytes, iterations, lines.
  std::string stages() const { return detail::text(adjit_computation_stages, get()); }

  /// Gradients of a one-element output, seeded with 1. Outputs: [the value,] one gradient per wrt.
  Computation gradient(const Positions& wrt, int32_t output = 0, bool keep_value = false) const {
    return derived([&](adjit_computation** made) {
      return adjit_computation_gradient(get(), detail::count(wrt), wrt.data(), output, keep_value,
                                        made);
    });
  }
  /// Reverse mode. Inputs: these, then one cotangent per listed output. Outputs: [these,] one
  /// gradient per wrt.
  Computation vjp(const Positions& wrt, const Positions& outputs, bool keep_outputs = false) const {
    return derived([&](adjit_computation** made) {
      return adjit_computation_vjp(get(), detail::count(wrt), wrt.data(), detail::count(outputs),
                                   outputs.data(), keep_outputs, made);
    });
  }
  /// Forward mode. Inputs: these, then one tangent per wrt. Outputs: [these,] one tangent per float
  /// output.
  Computation jvp(const Positions& wrt, bool keep_outputs = false) const {
    return derived([&](adjit_computation** made) {
      return adjit_computation_jvp(get(), detail::count(wrt), wrt.data(), keep_outputs, made);
    });
  }
  /// The computation on each of `size` elements.
  Computation vmap(const BatchAxes& in_axes, int64_t size, const BatchAxes& out_axes) const {
    const Positions in = numbers(in_axes), out = numbers(out_axes);
    return derived([&](adjit_computation** made) {
      return adjit_computation_vmap(get(), detail::count(in), in.data(), size, detail::count(out),
                                    out.data(), made);
    });
  }
  /// Cuts a vjp with keep_outputs in two: (primals -> results, residuals) and (residuals,
  /// cotangents
  /// -> gradients). `memory_budget`: bytes of residuals, none for no bound.
  std::pair<Computation, Computation> partition(int32_t primals, int32_t results,
                                                std::optional<int64_t> memory_budget = {}) const {
    adjit_computation *forward = nullptr, *backward = nullptr;
    detail::check(adjit_computation_partition(get(), primals, results, memory_budget.value_or(-1),
                                              &forward, &backward));
    return {Computation(owned(forward)), Computation(owned(backward))};
  }

  /// Fixes target and the layout of the inputs (only their shapes, dtypes and strides are looked
  /// at); without inputs all of them are row-major.
  Lowered lower(const Context& context, const std::vector<ConstView>& inputs = {},
                const LowerOptions& options = {}) const {
    const auto [tensors, addresses] = detail::tensors_of<const DLTensor*>(inputs);
    adjit_lower_options o{};
    o.struct_size = sizeof o;
    o.target = detail::or_null(options.target);
    o.title = detail::or_null(options.title);
    o.schedule_json = detail::or_null(options.schedule_json);
    o.memory_budget = options.memory_budget;
    return {detail::made<adjit_lowered>(adjit_lowered_destroy,
                                        [&, &where = addresses](adjit_lowered** made) {
                                          return adjit_computation_lower(
                                              context.get(), get(), detail::count(where),
                                              where.empty() ? nullptr : where.data(), &o, made);
                                        }),
            std::make_shared<const std::vector<TensorSpec>>(outputs()), context.log_};
  }
  /// lower(...).compile()
  Executable compile(const Context& context, const std::vector<ConstView>& inputs = {},
                     const LowerOptions& options = {}) const {
    return lower(context, inputs, options).compile();
  }

  /// Takes over a handle of the C interface.
  static Computation adopt(adjit_computation* handle) { return Computation(owned(handle)); }
  adjit_computation* get() const { return handle_.get(); }

 private:
  explicit Computation(std::shared_ptr<adjit_computation> handle) : handle_(std::move(handle)) {}

  static std::shared_ptr<adjit_computation> owned(adjit_computation* handle) {
    return {handle, adjit_computation_destroy};
  }
  template <class Make>
  static Computation derived(Make&& make) {
    return Computation(detail::made<adjit_computation>(adjit_computation_destroy, make));
  }
  static Positions numbers(const BatchAxes& axes) {
    Positions list;
    for (const std::optional<int32_t>& axis : axes) list.push_back(axis.value_or(ADJIT_NO_AXIS));
    return list;
  }
  std::vector<TensorSpec> specs(bool of_outputs) const {
    int32_t inputs = 0, outputs = 0;
    detail::check(adjit_computation_counts(get(), &inputs, &outputs));
    std::vector<TensorSpec> list;
    for (int32_t k = 0; k < (of_outputs ? outputs : inputs); ++k) {
      adjit_dtype dtype = ADJIT_BOOL;
      int32_t rank = 0;
      const int64_t* shape = nullptr;
      const char* name = nullptr;
      detail::check(adjit_computation_tensor(get(), of_outputs, k, &dtype, &rank, &shape, &name));
      list.push_back({name, static_cast<DType>(dtype), Shape(shape, shape + rank)});
    }
    return list;
  }

  std::shared_ptr<adjit_computation> handle_;
};

/// Writes <name>.h, .c, .o and lib<name>.so into a directory: one C function per lowered
/// computation, for its target, which needs no adjit. Runs the C compiler that CC names;
/// CompileError where there is none.
inline void export_library(const std::string& name,
                           const std::vector<std::pair<std::string, Lowered>>& functions,
                           const std::string& directory) {
  std::vector<adjit_lowered*> handles;
  std::vector<const char*> names;
  for (const auto& [function, lowered] : functions) {
    handles.push_back(lowered.get());
    names.push_back(function.c_str());
  }
  detail::check(adjit_lowered_export(name.c_str(), detail::count(functions), handles.data(),
                                     names.data(), directory.c_str()));
}

/// Parsed text notation. ParseError names line and column and shows the place.
class TextModule {
 public:
  explicit TextModule(const std::string& source, const std::string& file_name = "<text>")
      : handle_(detail::made<adjit_text_module>(
            adjit_text_module_destroy, [&](adjit_text_module** made) {
              return adjit_text_module_create(source.c_str(), file_name.c_str(), made);
            })) {}

  /// JSON: [{"name", "inputs", "outputs"}].
  std::string definitions() const { return detail::text(adjit_text_module_definitions, get()); }
  /// One definition for inputs of these dtypes and shapes (their names are not looked at).
  Computation instantiate(const std::string& name, const std::vector<TensorSpec>& inputs) const {
    std::vector<adjit_dtype> dtypes;
    std::vector<int32_t> ranks;
    Shape extents;
    for (const TensorSpec& input : inputs) {
      dtypes.push_back(static_cast<adjit_dtype>(input.dtype));
      ranks.push_back(detail::count(input.shape));
      extents.insert(extents.end(), input.shape.begin(), input.shape.end());
    }
    extents.push_back(0);  // scalars only: there must be an address, if no extent
    adjit_computation* made = nullptr;
    detail::check(adjit_text_module_instantiate(get(), name.c_str(), detail::count(inputs),
                                                dtypes.data(), ranks.data(), extents.data(),
                                                &made));
    return Computation::adopt(made);
  }
  adjit_text_module* get() const { return handle_.get(); }

 private:
  std::shared_ptr<adjit_text_module> handle_;
};

}  // namespace adjit::inline cpp
