// tests/fuzz/check.cpp -- whether a program's compiled value and derivatives are right.
#include "tests/fuzz/check.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>

#include "autosched/search/scheduler.hpp"
#include "autosched/search/search.hpp"
#include "runtime/diff/forward/forward.hpp"
#include "runtime/diff/reverse/reverse.hpp"
#include "tests/autosched/program_interpreter.hpp"
#include "tests/fuzz/differences.hpp"
#include "tests/fuzz/oracle/wide_interpreter.hpp"
#include "tests/fuzz/outcome.hpp"
#include "tests/fuzz/run_code.hpp"
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

// What a program computes with: its widest float input.
DType real_of(const Graph& graph) {
  DType widest = DType::BFloat16;
  for (const TensorId id : graph.inputs)
    if (const DType dtype = graph.info(id).dtype;
        is_float(dtype) && unit_of(dtype) < unit_of(widest))
      widest = dtype;
  return widest;
}

// Sums are written in other orders, products of sums as sums of products: rounding is of the size
// of what cancels, of which the error bound knows the part that the traced computation has. Both
// relative to the largest element: what is allowed beside the bound, and how large a tolerance
// tells nothing. Those of float64 leave 5 digits; of the others fewer are there.
struct Slack {
  long double allowed, telling;
};
Slack slack_of(DType real) {
  if (real == DType::Float64) return {1e-11L, 1e-5L};
  if (real == DType::Float32) return {1e-5L, 3e-2L};
  return {2 * unit_of(real), 0.3L};
}

class ProgramCheck {
 public:
  ProgramCheck(const FuzzProgram& program, uint64_t seed, FuzzEngines& engines, FuzzCounts& counts,
               const FuzzShares& shares)
      : graph_(program.graph),
        inputs_(program.inputs),
        real_(real_of(graph_)),
        turn_(seed),
        random_(seed ^ 0x5eed),
        gpu_random_(seed ^ 0x69b0),
        engines_(engines),
        engine_(engines.of(seed)),
        counts_(counts),
        shares_(shares),
        wrt_(floats(graph_, graph_.inputs)),
        outputs_(floats(graph_, graph_.outputs)) {}

  std::string operator()() {
    std::string failure = value();
    if (failure.empty()) failure = unusual("value of unusual numbers", computation_, inputs_);
    if (!failure.empty() || wrt_.empty() || outputs_.empty()) return failure;
    failure = derivatives();
    if (!failure.empty() || cotangents_.empty()) return failure;
    return unusual("gradient of unusual numbers", transformed(reverse_mode(outputs_)),
                   joined(inputs_, cotangents_));
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
    // Bounds of narrower types are far wider than what the difference itself rounds.
    if (real_ != DType::Float64) return {};
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
                      random_.chance(shares_.compiled_percent) ? by_code(request, inputs)
                                                               : by_schedule(request, inputs));
    } catch (const Error& e) {
      return what + ": error " + e.what();
    }
  }

  // NaN and infinities among the inputs leave a GPU where they leave a processor. A tile, a copy or
  // a tree of threads that reads what the computation does not would show.
  std::string unusual(const std::string& what,
                      const std::shared_ptr<const Computation>& computation,
                      std::vector<Array> inputs) {
    if (!engines_.gpus() || !gpu_random_.chance(shares_.gpu_percent)) return {};
    for (Array& array : inputs)
      if (is_float(array.dtype) && array.element_count() > 0 && gpu_random_.chance(60))
        array.set(gpu_random_.between(0, array.element_count() - 1), drawn_unusual());
    try {
      Request there, here;
      there.computation = here.computation = computation;
      const Outcome wanted =
          outcome([&] { return run_code(engine_, here, inputs, gpu_random_, counts_); });
      const Outcome found = outcome([&] { return on_gpu(there, inputs); });
      ++counts_.unusual;
      const std::string difference = first_other_kind(wanted, found);
      return difference.empty() ? difference : what + ": " + difference;
    } catch (const Error& e) {
      if (e.code() == ErrorCode::NotDifferentiable) return {};
      return what + ": error " + e.what();
    }
  }

  double drawn_unusual() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    static const std::vector<double> kUnusual{std::numeric_limits<double>::quiet_NaN(), kInf, -kInf,
                                              -0.0};
    return gpu_random_.pick(kUnusual);
  }

  std::vector<Array> by_code(Request& request, const std::vector<Array>& inputs) {
    ++counts_.compiled;
    if (engines_.gpus() && gpu_random_.chance(shares_.gpu_percent)) return on_gpu(request, inputs);
    return run_code(engine_, request, inputs, random_, counts_);
  }

  // Its kernels must keep to what GPUs allow.
  std::vector<Array> on_gpu(Request& request, const std::vector<Array>& inputs) {
    ++counts_.on_gpu;
    request.target = "cuda";
    const size_t arguments = inputs.size() + request.computation->outputs().size();
    for (size_t k = 0; k < arguments; ++k)
      if (gpu_random_.chance(10)) request.unaligned.push_back(k);
    FuzzGpus& gpus = *engines_.gpus();
    try {
      if (gpu_random_.chance(25)) take_other_answers(gpus.of(turn_).compiler(), request);
      std::vector<Array> outputs = run_code(gpus.of(turn_), request, inputs, gpu_random_, counts_);
      if (const std::string faults = gpus.faults(); !faults.empty())
        throw Error(ErrorCode::Internal, "on the GPU: " + faults);
      return outputs;
    } catch (const Error& error) {
      const std::string faults = gpus.faults();
      if (faults.empty()) throw;
      throw Error(error.code(), error.what() + std::string("; kernels: ") + faults);
    }
  }

  // A schedule with other answers to some decisions than those by default.
  void take_other_answers(const Compiler& compiler, Request& request) {
    const Target target = schedule_of(compiler, request).target;
    const Graph graph = checked_graph(compiler, request).graph;
    const Candidate drawn = random_candidates(graph, target, 1, gpu_random_.next()).back();
    request.schedule_json = program_of(graph, target, drawn).moves_json;
  }

  // As by default, or with other answers to some decisions.
  Program gpu_schedule(const Request& request) {
    static const std::vector<GpuMachine> kMachines{
        {.multiprocessors = 1, .threads = 8},
        {.multiprocessors = 1, .threads = 64},
        {.multiprocessors = 2, .threads = 256, .block_shared_bytes = 4 << 10},
        {}};
    const Target target = gpu_random_.pick(kMachines);
    const Graph graph = checked_graph(engine_.compiler(), request).graph;
    if (gpu_random_.chance(50)) {
      Program program = default_schedule(graph, target);
      refuse_fallbacks(fallbacks_of(program));
      return program;
    }
    return program_of(graph, target,
                      random_candidates(graph, target, 1, gpu_random_.next()).back());
  }

  // The loop nests that code would be made of, for a processor or for a GPU, some of so few threads
  // that each computes several results, one point after the other.
  std::vector<Array> by_schedule(Request& request, const std::vector<Array>& inputs) {
    const double start = seconds();
    for (const Array& array : inputs) request.layouts.push_back(contiguous_layout(array.shape));
    const Program program =
        random_.chance(50) ? schedule_of(engine_.compiler(), request) : gpu_schedule(request);
    ++counts_.scheduled;
    if (!std::holds_alternative<CpuMachine>(program.target))
      counts_.note_gpu_schedule(program.moves_json);
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

  std::string compared(const WideArray& wanted, const Array& found) {
    long double largest = 1;
    const Slack slack = slack_of(real_);
    const bool real = is_float(wanted.dtype);
    if (real)
      for (const Wide& v : wanted.values)
        if (std::isfinite(v.f) && std::isfinite(v.error))
          largest = std::max(largest, std::abs(v.f));
    for (size_t e = 0; e < wanted.values.size(); ++e) {
      const Wide& v = wanted.values[e];
      const double value = found.at(static_cast<int64_t>(e));
      const long double tolerance = 64 * v.error + slack.allowed * largest;
      if (!(real ? tolerance < slack.telling * largest && std::isfinite(v.f) : v.sure())) {
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
  const DType real_;
  const uint64_t turn_;
  Random random_, gpu_random_;  // the second of what is drawn for GPUs alone
  FuzzEngines& engines_;
  Engine& engine_;
  FuzzCounts& counts_;
  const FuzzShares shares_;
  std::vector<size_t> wrt_, outputs_;
  std::vector<Array> cotangents_, directions_;
  std::shared_ptr<const Computation> computation_;
  std::vector<WideArray> value_;  // where derivatives bring the value, what it is
};

}  // namespace

std::string check_program(const FuzzProgram& program, uint64_t seed, FuzzEngines& engines,
                          FuzzCounts& counts, const FuzzShares& shares) {
  ++counts.programs;
  counts.stages += static_cast<int64_t>(program.graph.stages.size());
  try {
    return ProgramCheck(program, seed, engines, counts, shares)();
  } catch (const std::exception& e) {
    return std::string("exception: ") + e.what();
  }
}

}  // namespace adjit::testing
