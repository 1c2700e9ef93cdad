// tests/fuzz/check.cpp -- whether a program's compiled value and derivatives are right.
#include "tests/fuzz/check.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <optional>

#include "autosched/search/scheduler.hpp"
#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "tests/autosched/program_interpreter.hpp"
#include "tests/fuzz/differences.hpp"
#include "tests/fuzz/oracle/wide_interpreter.hpp"
#include "tests/jit/engine/run_compiled.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string number(long double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17Lg", value);
  return text;
}

std::vector<size_t> floats(const Graph& graph, const std::vector<TensorId>& tensors) {
  std::vector<size_t> positions;
  for (size_t k = 0; k < tensors.size(); ++k)
    if (is_float(graph.info(tensors[k]).dtype)) positions.push_back(k);
  return positions;
}

long double inner_product(std::span<const WideArray> a, std::span<const Array> b) {
  long double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    for (size_t e = 0; e < a[k].values.size(); ++e)
      sum += a[k].values[e].f * b[k].at(static_cast<int64_t>(e));
  return sum;
}
long double inner_size(std::span<const WideArray> a, std::span<const Array> b) {
  long double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    for (size_t e = 0; e < a[k].values.size(); ++e)
      sum += std::abs(a[k].values[e].f * b[k].at(static_cast<int64_t>(e)));
  return sum;
}

// The error that long double makes in <a, b>: bounds are of double, with 11 bits less.
long double rounding(std::span<const WideArray> a, std::span<const Array> b) {
  long double sum = 0;
  for (size_t k = 0; k < a.size(); ++k)
    for (size_t e = 0; e < a[k].values.size(); ++e)
      if (std::isfinite(a[k].values[e].error))
        sum += a[k].values[e].error * std::abs(b[k].at(static_cast<int64_t>(e)));
  return 0x1p-11L * sum;
}

std::vector<WideArray> wide_inputs(const std::vector<Array>& a, const std::vector<Array>& b = {}) {
  std::vector<WideArray> all;
  for (const Array& array : a) all.push_back(WideArray::of(array));
  for (const Array& array : b) all.push_back(WideArray::of(array));
  return all;
}

template <class T>
std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// An array as a caller may hold it: rows behind gaps, dimensions in another order, or backwards.
struct Laid {
  TensorLayout layout;
  std::vector<std::byte> bytes;
  size_t first = 0;  // byte of element 0
};
Laid laid_out(const Array& array, Random& random) {
  const size_t rank = array.shape.size(), size = size_of(array.dtype);
  Laid laid{contiguous_layout(array.shape), array.bytes, 0};
  if (rank == 0 || array.bytes.empty() || random.chance(50)) return laid;
  std::vector<size_t> order(rank);
  for (size_t d = 0; d < rank; ++d) order[d] = d;
  if (random.chance(50)) std::swap(order[0], order[rank - 1]);
  int64_t stride = random.chance(40) ? 2 : 1, lowest = 0;
  for (size_t k = rank; k-- > 0;) {
    const size_t d = order[k];
    const bool backwards = random.chance(25);
    laid.layout.strides[d] = backwards ? -stride : stride;
    if (backwards) lowest += stride * (array.shape[d] - 1);
    stride = stride * array.shape[d] + random.between(0, 1);
  }
  laid.bytes.assign(static_cast<size_t>(stride + 1) * size, std::byte{0x5a});
  laid.first = static_cast<size_t>(lowest) * size;
  for (int64_t e = 0; e < array.element_count(); ++e) {
    int64_t at = lowest, rest = e;
    for (size_t d = rank; d-- > 0;) {
      at += rest % array.shape[d] * laid.layout.strides[d];
      rest /= array.shape[d];
    }
    std::memcpy(laid.bytes.data() + static_cast<size_t>(at) * size,
                array.bytes.data() + static_cast<size_t>(e) * size, size);
  }
  return laid;
}

class ProgramCheck {
 public:
  ProgramCheck(const FuzzProgram& program, uint64_t seed, FuzzEngines& engines, FuzzCounts& counts,
               int compiled_percent)
      : graph_(program.graph),
        inputs_(program.inputs),
        random_(seed ^ 0x5eed),
        engine_(engines.of(seed)),
        counts_(counts),
        compiled_percent_(compiled_percent),
        wrt_(floats(graph_, graph_.inputs)),
        outputs_(floats(graph_, graph_.outputs)) {}

  std::string operator()() {
    const std::string failure = value();
    if (!failure.empty() || wrt_.empty() || outputs_.empty()) return failure;
    return derivatives();
  }

 private:
  std::string value() {
    computation_ = std::make_shared<const Computation>(graph_);
    const std::vector<WideArray> wanted = run_wide(graph_, wide_inputs(inputs_));
    std::string failure = compared("interpreter", wanted, interpret(graph_, inputs_));
    if (!failure.empty()) return failure;
    // Most often the value comes beside a derivative.
    if (!wrt_.empty() && !outputs_.empty() && random_.chance(60)) {
      value_ = wanted;
      return {};
    }
    return compiled("value", computation_, inputs_, wanted);
  }

  std::string derivatives() {
    const std::optional<Graph> reverse =
        derived([&] { return vjp(graph_, {.wrt = wrt_, .outputs = outputs_, .clean = false}); });
    const std::optional<Graph> forward =
        derived([&] { return jvp(graph_, {.wrt = wrt_, .clean = false}); });
    // A gradient by hand has no forward mode, a loop of unknown length no reverse mode.
    cotangents_ = like(graph_, graph_.outputs, outputs_);
    directions_ = like(graph_, graph_.inputs, wrt_);
    if (!reverse && !forward) return {};
    ++counts_.derivatives;
    Differences differences = along(graph_, {}, outputs_, cotangents_);
    std::string failure = forward ? tangent(*forward, differences) : std::string();
    if (failure.empty() && reverse) failure = gradient(*reverse, differences);
    if (failure.empty() && reverse) failure = second_order(*reverse);
    return failure;
  }

  template <class Derive>
  static std::optional<Graph> derived(Derive&& derive) {
    try {
      return derive();
    } catch (const Error& e) {
      if (e.code() != ErrorCode::NotDifferentiable) throw;
      return std::nullopt;
    }
  }

  std::string gradient(const Graph& reverse, Differences& differences) {
    const std::vector<WideArray> wanted = run_wide(reverse, wide_inputs(inputs_, cotangents_));
    const std::string failure = agrees("gradient by differences", wanted, directions_, differences);
    if (!failure.empty()) return failure;
    Transformation transformation = reverse_mode(outputs_);
    transformation.keep = !value_.empty();
    return compiled("gradient", transformed(transformation), joined(inputs_, cotangents_),
                    joined(value_, wanted));
  }

  std::string tangent(const Graph& forward, Differences& differences) {
    const std::vector<WideArray> wanted = run_wide(forward, wide_inputs(inputs_, directions_));
    const std::string failure = agrees("tangent by differences", wanted, cotangents_, differences);
    if (!failure.empty() || !random_.chance(40)) return failure;
    Transformation transformation{.kind = Transformation::Kind::Jvp, .wrt = wrt_};
    transformation.keep = !value_.empty();
    return compiled("tangent", transformed(transformation), joined(inputs_, directions_),
                    joined(value_, wanted));
  }

  // Of the gradient, in either mode.
  std::string second_order(const Graph& reverse) {
    std::vector<size_t> gradients(wrt_.size());
    for (size_t k = 0; k < gradients.size(); ++k) gradients[k] = k;
    bool reverse_again = random_.chance(50);
    std::optional<Graph> second;
    if (!reverse_again)
      second = derived([&] { return jvp(reverse, {.wrt = wrt_, .clean = false}); });
    if (!second) {
      reverse_again = true;
      second = derived(
          [&] { return vjp(reverse, {.wrt = wrt_, .outputs = gradients, .clean = false}); });
    }
    if (!second) return {};
    const std::vector<Array> weights = like(graph_, graph_.inputs, wrt_);
    Differences differences = along(reverse, cotangents_, gradients, weights);
    const std::vector<Array> all =
        joined(joined(inputs_, cotangents_), reverse_again ? weights : directions_);
    const std::vector<WideArray> wanted = run_wide(*second, wide_inputs(all));
    const std::string failure = agrees("second derivative by differences", wanted,
                                       reverse_again ? directions_ : weights, differences);
    if (!failure.empty() || !random_.chance(60)) return failure;
    const auto first = transformed(reverse_mode(outputs_));
    const Transformation again =
        reverse_again ? reverse_mode(gradients)
                      : Transformation{.kind = Transformation::Kind::Jvp, .wrt = wrt_};
    return compiled("second derivative", Computation::transformed(*first, again), all, wanted);
  }

  Transformation reverse_mode(std::vector<size_t> outputs) const {
    return {.kind = Transformation::Kind::Vjp, .wrt = wrt_, .outputs = std::move(outputs)};
  }

  std::shared_ptr<const Computation> transformed(Transformation transformation) const {
    return Computation::transformed(*computation_, std::move(transformation));
  }

  // Random arrays of the types of these tensors: magnitudes from 1/2 to 1, either sign.
  std::vector<Array> like(const Graph& graph, const std::vector<TensorId>& tensors,
                          const std::vector<size_t>& positions) {
    std::vector<Array> arrays;
    for (size_t p : positions) {
      const TensorInfo& info = graph.info(tensors[p]);
      Array array = Array::zeros(info.dtype, info.shape);
      for (int64_t e = 0; e < array.element_count(); ++e)
        array.set(
            e, static_cast<double>(random_.between(64, 128)) / (random_.chance(50) ? 128 : -128));
      arrays.push_back(std::move(array));
    }
    return arrays;
  }

  std::vector<WideArray> run_wide(const Graph& graph, const std::vector<WideArray>& inputs) {
    const double start = seconds();
    std::vector<WideArray> results = WideInterpreter().run(graph, inputs);
    counts_.wide_s += seconds() - start;
    return results;
  }

  /// <weights, outputs> along the directions, on the piece of the function where the inputs lie.
  Differences along(const Graph& graph, const std::vector<Array>& more,
                    const std::vector<size_t>& outputs, const std::vector<Array>& weights) {
    const std::vector<WideArray> base = wide_inputs(inputs_, more);
    WideInterpreter interpreter;
    interpreter.take_decisions_as_sure();
    interpreter.run(graph, base);
    const uint64_t piece = interpreter.decisions().number();
    return Differences([=, this, &graph](long double step) mutable -> std::optional<Sample> {
      const double start = seconds();
      std::vector<WideArray> moved = base;
      for (size_t k = 0; k < wrt_.size(); ++k)
        for (size_t e = 0; e < moved[wrt_[k]].values.size(); ++e)
          moved[wrt_[k]].values[e].f += step * directions_[k].at(static_cast<int64_t>(e));
      interpreter.forget_decisions();
      interpreter.repeat_stopped();
      const std::vector<WideArray> all = interpreter.run(graph, moved);
      counts_.wide_s += seconds() - start;
      if (interpreter.decisions().number() != piece) return std::nullopt;
      std::vector<WideArray> chosen;
      for (size_t k : outputs) chosen.push_back(all[k]);
      return Sample{inner_product(chosen, weights), rounding(chosen, weights)};
    });
  }

  std::string agrees(const std::string& what, const std::vector<WideArray>& derivative,
                     const std::vector<Array>& weights, Differences& differences) {
    const long double derived = inner_product(derivative, weights);
    if (!std::isfinite(derived)) return {};
    const long double tolerance =
        1e-7L * inner_size(derivative, weights) + 1e-9L + rounding(derivative, weights);
    switch (differences.judge(derived, tolerance)) {
      case Verdict::Kink: ++counts_.kinks; return {};
      case Verdict::Unsettled: ++counts_.unsettled; return {};
      case Verdict::Agrees: ++counts_.differences; return {};
      case Verdict::Differs: break;
    }
    return what + ": derived " + number(derived) + ", differences give " +
           number(differences.best().value) + " (to " + number(differences.best().error) + ")";
  }

  std::string compiled(const std::string& what,
                       const std::shared_ptr<const Computation>& computation,
                       const std::vector<Array>& inputs, const std::vector<WideArray>& wanted) {
    try {
      Request request;
      request.computation = computation;
      return compared(what, wanted,
                      random_.chance(compiled_percent_) ? by_code(request, inputs)
                                                        : by_schedule(request, inputs));
    } catch (const Error& e) {
      return what + ": error " + e.what();
    }
  }

  std::vector<Array> by_code(Request& request, const std::vector<Array>& inputs) {
    const double start = seconds();
    ++counts_.compiled;
    std::vector<Laid> laid;
    std::vector<const void*> in;
    for (const Array& array : inputs) laid.push_back(laid_out(array, random_));
    for (const Laid& l : laid) {
      request.layouts.push_back(l.layout);
      in.push_back(l.bytes.data() + l.first);
    }
    const std::shared_ptr<Executable> executable = engine_.compile(request).executable;
    const double ready = seconds();
    counts_.compile_s += ready - start;
    const CompileReport& report = executable->report();
    counts_.schedule_s += (report.derive_ms + report.schedule_ms) / 1000;
    std::vector<Array> outputs;
    for (const ArraySpec& spec : executable->plan().outputs) {
      outputs.push_back(Array::zeros(spec.dtype, spec.shape));
      std::ranges::fill(outputs.back().bytes, std::byte{0x5a});
    }
    std::vector<void*> out;
    for (Array& array : outputs) out.push_back(array.bytes.data());
    executable->run(in.data(), out.data());
    return outputs;
  }

  // The loop nests that code would be made of, for a processor or for a GPU of so few threads that
  // each computes several results, one point after the other.
  std::vector<Array> by_schedule(Request& request, const std::vector<Array>& inputs) {
    const double start = seconds();
    for (const Array& array : inputs) request.layouts.push_back(contiguous_layout(array.shape));
    const Program program = random_.chance(50)
                                ? schedule_of(engine_.compiler(), request)
                                : default_schedule(checked_graph(engine_.compiler(), request).graph,
                                                   GpuMachine{.multiprocessors = 1, .threads = 8});
    ++counts_.scheduled;
    const double ready = seconds();
    counts_.schedule_s += ready - start;
    std::vector<Array> outputs = interpret(program, inputs);
    // Checks of indices stand behind the computation's own results.
    outputs.resize(request.computation->outputs().size());
    counts_.literal_s += seconds() - ready;
    return outputs;
  }

  std::string compared(const std::string& what, const std::vector<WideArray>& wanted,
                       const std::vector<Array>& found) {
    if (wanted.size() != found.size()) return what + ": another number of results";
    for (size_t k = 0; k < wanted.size(); ++k) {
      if (wanted[k].shape != found[k].shape || wanted[k].dtype != found[k].dtype)
        return what + ": result " + std::to_string(k) + " has another type";
      const std::string difference = compared(wanted[k], found[k]);
      if (!difference.empty()) return what + ": result " + std::to_string(k) + difference;
    }
    return {};
  }

  // Sums are written in other orders, products of sums as sums of products: rounding is of the size
  // of what cancels, of which the error bound knows the part that the traced computation has.
  std::string compared(const WideArray& wanted, const Array& found) {
    long double largest = 1;
    const bool real = is_float(wanted.dtype);
    if (real)
      for (const Wide& v : wanted.values)
        if (std::isfinite(v.f) && std::isfinite(v.error))
          largest = std::max(largest, std::abs(v.f));
    for (size_t e = 0; e < wanted.values.size(); ++e) {
      const Wide& v = wanted.values[e];
      const double value = found.at(static_cast<int64_t>(e));
      const long double tolerance = 64 * v.error + 1e-11L * largest;
      if (!(real ? tolerance < 1e-5L * largest && std::isfinite(v.f) : v.sure())) {
        ++counts_.unsure;
        continue;
      }
      ++counts_.judged;
      const long double exact = real ? v.f : static_cast<long double>(v.i);
      if (std::abs(value - exact) <= (real ? tolerance : 0)) continue;
      return ", element " + std::to_string(e) + ": " + number(value) + " instead of " +
             number(exact) + " (to " + number(tolerance) + ")";
    }
    return {};
  }

  const Graph& graph_;
  const std::vector<Array>& inputs_;
  Random random_;
  Engine& engine_;
  FuzzCounts& counts_;
  int compiled_percent_;
  std::vector<size_t> wrt_, outputs_;
  std::vector<Array> cotangents_, directions_;
  std::shared_ptr<const Computation> computation_;
  std::vector<WideArray> value_;  // where derivatives bring the value, what it is
};

}  // namespace

FuzzEngines::FuzzEngines() {
  for (const char* features : {"", "x86-64-v3"})
    for (const int threads : {1, 2})
      for (const FloatMode mode : {FloatMode::FlushSubnormals, FloatMode::KeepSubnormals}) {
        EngineOptions options = memory_only(threads, features);
        options.float_mode = mode;
        try {
          engines_.push_back(std::make_unique<Engine>(options));
        } catch (const Error&) {
          if (engines_.empty()) throw;  // else this processor has no AVX2
        }
      }
}

std::string FuzzCounts::text() const {
  const auto n = [](int64_t count) { return static_cast<long long>(count); };
  char text[600];
  std::snprintf(
      text, sizeof text,
      "%lld programs of %.1f stages, %lld with derivatives; %lld computations compiled, %lld "
      "scheduled and run literally; %lld elements judged, %lld unsure; %lld differences, "
      "left out %lld at kinks and %lld that do not settle; seconds: drawing %.1f, "
      "wide %.1f, "
      "scheduling %.1f, "
      "literally %.1f, compiling %.1f",
      n(programs),
      static_cast<double>(stages) / static_cast<double>(std::max<int64_t>(programs, 1)),
      n(derivatives), n(compiled), n(scheduled), n(judged), n(unsure), n(differences), n(kinks),
      n(unsettled), draw_s, wide_s, schedule_s, literal_s, compile_s);
  return text;
}

std::string check_program(const FuzzProgram& program, uint64_t seed, FuzzEngines& engines,
                          FuzzCounts& counts, int compiled_percent) {
  ++counts.programs;
  counts.stages += static_cast<int64_t>(program.graph.stages.size());
  try {
    return ProgramCheck(program, seed, engines, counts, compiled_percent)();
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

}  // namespace adjit::testing
