// tests/autosched/program_interpreter.cpp -- nests, loops and points as they stand.
#include "tests/autosched/program_interpreter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>

#include "autosched/analysis/shared_buffers.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/segment_loop.hpp"
#include "autosched/program/threads.hpp"
#include "autosched/program/winners.hpp"
#include "runtime/graph/interpret/accumulator.hpp"
#include "runtime/graph/interpret/evaluator.hpp"
#include "tests/autosched/thread_memory.hpp"

namespace adjit::sched {
namespace {

class ProgramInterpreter {
 public:
  ProgramInterpreter(const Program& program, uint32_t seed)
      : program_(program), graph_(program.graph), seed_(seed), random_(seed) {}

  std::vector<Array> operator()(std::span<const Array> inputs) {
    arrays_.assign(graph_.tensors.size(), {});
    pointers_.assign(graph_.tensors.size(), nullptr);
    for (size_t t = 0; t < arrays_.size(); ++t) {
      const TensorInfo& info = graph_.tensors[t];
      arrays_[t] = Array::zeros(info.dtype, info.shape);
      pointers_[t] = &arrays_[t];
      poison(TensorId{static_cast<uint32_t>(t)});
    }
    for (size_t k = 0; k < inputs.size(); ++k) arrays_[graph_.inputs[k].value] = inputs[k];
    for (const ConstantData& c : graph_.constants) arrays_[c.tensor.value].bytes = c.bytes;
    buffer_ = shared_buffers(program_);
    sharing_.assign(arrays_.size(), {});
    for (uint32_t a = 0; a < buffer_.size(); ++a)
      for (uint32_t b = 0; b < buffer_.size(); ++b)
        if (buffer_[a] == buffer_[b]) sharing_[a].push_back(b);
    for (const Kernel& kernel : program_.kernels) {
      variables_.assign(kernel.variable_count, 0);
      own_.assign(arrays_.size(), false);
      memory_.reset();
      if (is_block_kernel(kernel)) memory_.emplace();
      if (kernel.steps)
        run_scan(graph_.stages[kernel.root.stage], *kernel.steps);
      else
        run(kernel.root, root_run_by(kernel));
    }
    std::vector<Array> outputs;
    for (TensorId id : graph_.outputs) outputs.push_back(arrays_[id.value]);
    return outputs;
  }
  int64_t visited() const { return visited_; }

 private:
  // State of one execution of a nest: accumulators per output point of its region.
  struct Execution {
    const Nest& nest;
    const Stage& stage;
    RunBy by;
    PointEvaluator bodies;
    std::vector<int64_t> base;        // of the region
    std::vector<Accumulator> points;  // row-major over the output spans, then the reducers
    std::vector<int64_t> visits;      // per point of all axes' spans
    // Of a block's threads:
    bool keeps = true;                // accumulators stay with the threads until the end
    size_t reducers = 1;              // the trips of Thread loops that reduce
    std::vector<int64_t> trips = {};  // of the current thread, per loop
    size_t reducer = 0;               // the current thread's
    int64_t storer = 0;               // who stores what it reduces
    std::vector<std::optional<int64_t>> writers = {};  // per output point
    std::optional<PointEvaluator> segment =
        {};  // where it begins and ends, of a loop over it alone
    size_t segment_axis = 0;
  };

  void poison(TensorId id) {
    Array& array = arrays_[id.value];
    const double value = is_float(array.dtype) ? std::numeric_limits<double>::quiet_NaN() : 99;
    for (int64_t k = 0; k < array.element_count(); ++k) array.set(k, value);
  }

  // An element of a tensor, and with it of all that lie in its buffer.
  void put(TensorId id, int64_t position, Scalar value) {
    for (uint32_t t : sharing_[id.value])
      store_element(
          arrays_[t].bytes.data() + static_cast<size_t>(position) * size_of(arrays_[t].dtype),
          arrays_[t].dtype, value);
  }

  void put_all(TensorId id, const Array& value) {
    for (int64_t k = 0; k < value.element_count(); ++k)
      put(id, k,
          load_element(value.bytes.data() + static_cast<size_t>(k) * size_of(value.dtype),
                       value.dtype));
  }

  // Step by step, as the scan means it; where the plan keeps carries and slices is not looked at.
  void run_scan(const Stage& stage, const Program& steps) {
    const Scan& scan = *stage.scan;
    std::vector<Array> carries, rows;
    for (size_t k = 0; k < stage.operands.size(); ++k)
      (k < scan.carries ? carries : rows).push_back(arrays_[stage.operands[k].value]);
    for (int64_t step = 0; scan.conditional ? carries.back().at(0) != 0 : step < scan.trips;
         ++step) {
      const int64_t t = scan.reverse ? scan.trips - 1 - step : step;
      std::vector<Array> inputs = carries;
      for (size_t k = 0; k < rows.size(); ++k)
        inputs.push_back(k < scan.scanned ? row_of(rows[k], t) : rows[k]);
      std::vector<Array> outputs = interpret(steps, inputs, nullptr, seed_);
      for (size_t k = 0; k < scan.carries; ++k) carries[k] = std::move(outputs[k]);
      for (size_t k = scan.carries; k < scan.carries + scan.stacked; ++k)
        for (int64_t e = 0; e < outputs[k].element_count(); ++e)
          put(stage.results[k], t * outputs[k].element_count() + e,
              load_element(
                  outputs[k].bytes.data() + static_cast<size_t>(e) * size_of(outputs[k].dtype),
                  outputs[k].dtype));
    }
    for (size_t k = 0; k < scan.carries; ++k) put_all(stage.results[k], carries[k]);
  }

  static Array row_of(const Array& array, int64_t t) {
    Array row = Array::zeros(array.dtype, {array.shape.begin() + 1, array.shape.end()});
    const auto first = array.bytes.begin() + static_cast<std::ptrdiff_t>(row.bytes.size()) *
                                                 static_cast<std::ptrdiff_t>(t);
    std::copy_n(first, row.bytes.size(), row.bytes.begin());
    return row;
  }

  static int64_t linear(std::span<const int64_t> at, std::span<const int64_t> extents) {
    int64_t position = 0;
    for (size_t k = 0; k < at.size(); ++k) position = position * extents[k] + at[k];
    return position;
  }

  void run(const Nest& nest, RunBy by) {
    const Stage& stage = graph_.stages[nest.stage];
    std::vector<ExprId> roots = stage.bodies;
    roots.insert(roots.end(), stage.target.begin(), stage.target.end());
    Execution e{nest, stage, by, PointEvaluator(graph_, roots, pointers_), {}, {}, {}};
    int64_t outputs = 1, all = 1;
    for (size_t a = 0; a < nest.spans.size(); ++a) {
      e.base.push_back(evaluate(nest.axis_base[a], variables_));
      all *= nest.spans[a];
      if (a < stage.domain.output_rank) outputs *= nest.spans[a];
    }
    for (const Loop& loop_ : nest.loops)
      if (loop_.kind == LoopKind::Thread && loop_.axis >= stage.domain.output_rank)
        e.reducers *= static_cast<size_t>(loop_.trips);
    for (int64_t k = 0; k < outputs * static_cast<int64_t>(e.reducers); ++k)
      e.points.emplace_back(graph_, stage).reset();
    e.visits.assign(static_cast<size_t>(all), 0);
    e.writers.resize(static_cast<size_t>(outputs));
    e.keeps = keeps_accumulators(stage, nest);
    for (TensorId id : stage.results) {
      if (program_.scopes[id.value] != Scope::Local) continue;
      poison(id);
      own_[id.value] = by == RunBy::Thread;
    }
    if (const auto segments = segments_of(graph_.pool, stage);
        segments && segment_loop(graph_, nest, *segments)) {
      const ExprId bounds[] = {segments->begin, segments->end};
      e.segment.emplace(graph_, bounds, pointers_);
      e.segment_axis = segments->axis;
    }
    loop(e, 0);
    if (stage.kind != StageKind::Scatter && !running_of(graph_, stage)) store(e);
  }

  void loop(Execution& e, size_t l) {
    const size_t tile = tile_begin(e.nest);
    for (const Nest::Attached& attached : e.nest.attached)
      if (attached.depth == l && l <= tile) run(e, attached);
    if (e.by == RunBy::Block && l == first_thread_loop(e.nest)) return run_threads(e, l);
    iterate(e, l);
  }

  void iterate(Execution& e, size_t l) {
    if (l == e.nest.loops.size()) return point(e);
    const Loop& loop_ = e.nest.loops[l];
    const bool backwards =
        loop_.kind == LoopKind::Parallel && loop_.axis < e.stage.domain.output_rank;
    const bool threads = loop_.kind == LoopKind::Thread;
    if (threads && e.by == RunBy::Thread) throw std::logic_error("one thread runs a thread loop");
    for (int64_t trip = 0; trip < loop_.trips; ++trip) {
      if (threads && trip != e.trips[l]) continue;
      if (loop_.kind == LoopKind::Parallel && memory_) memory_->barrier();  // another block
      variables_[loop_.variable] = (backwards ? loop_.trips - 1 - trip : trip) * loop_.step;
      if (inside(e, loop_.axis)) loop(e, l + 1);
    }
    variables_[loop_.variable] = 0;
  }

  void run(const Execution& host, const Nest::Attached& attached) {
    if (!memory_) return run(attached.nest, RunBy::Thread);
    if (host.by == RunBy::Block && lies_between_threads(host.nest, attached.depth))
      throw std::logic_error("a nest is attached between two thread loops");
    const RunBy by = attached_run_by(host.by, host.nest, attached.depth);
    if (by == RunBy::Block) memory_->barrier();
    run(attached.nest, by);
    if (by == RunBy::Block) memory_->barrier();
  }

  // Each thread's part of the loops from l on, one after the other, in any order.
  void run_threads(Execution& e, size_t l) {
    std::vector<int64_t> order(static_cast<size_t>(threads_of(e.nest)));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    for (const int64_t thread : order) {
      thread_ = thread;
      bind_thread(e, thread);
      iterate(e, l);
    }
    thread_ = 0;
  }

  // Threads are numbered row by row; those of a reduction among themselves, too.
  void bind_thread(Execution& e, int64_t thread) {
    e.trips.assign(e.nest.loops.size(), 0);
    e.reducer = 0;
    e.storer = thread;
    size_t reducers = 1;
    int64_t threads = 1;
    for (size_t l = e.nest.loops.size(); l-- > 0;) {
      const Loop& loop_ = e.nest.loops[l];
      if (loop_.kind != LoopKind::Thread) continue;
      const int64_t trip = thread / threads % loop_.trips;
      e.trips[l] = trip;
      if (loop_.axis >= e.stage.domain.output_rank) {
        e.reducer += static_cast<size_t>(trip) * reducers;
        reducers *= static_cast<size_t>(loop_.trips);
        e.storer -= trip * threads;
      }
      threads *= loop_.trips;
    }
  }

  // Whether all that a point of the results adds up stays with its threads until the end: from its
  // first loop over a reduction axis in, there are only such loops and those of threads.
  static bool keeps_accumulators(const Stage& stage, const Nest& nest) {
    bool reduces = false;
    for (size_t l = 0; l < tile_begin(nest); ++l) {
      const Loop& loop_ = nest.loops[l];
      const bool reduction = loop_.axis >= stage.domain.output_rank;
      if (reduction && loop_.kind == LoopKind::Parallel) return false;
      if (reduces && !reduction && loop_.kind != LoopKind::Thread) return false;
      reduces |= reduction;
    }
    return true;
  }

  // Who writes the result's point that a thread adds to: what is not kept is in memory.
  void add_writer(Execution& e, size_t output) {
    const int64_t writer = e.by == RunBy::Block && e.keeps ? e.storer : thread_;
    std::optional<int64_t>& known = e.writers[output];
    if (known && *known != writer)
      throw std::logic_error("threads " + std::to_string(*known) + " and " +
                             std::to_string(writer) + " update one element of '" +
                             stage_name(graph_, e.stage) + "'");
    known = writer;
  }

  void record_reads(const Execution& e) {
    for (const auto& [id, element] : e.bodies.elements_read())
      memory_->read(buffer_[id.value], graph_.info(id).name, element, thread_, own_[id.value]);
  }

  // Position of an axis within its span, by all its loops (those not entered yet are at 0).
  int64_t offset(const Execution& e, size_t axis) const {
    int64_t at = 0;
    for (const Loop& loop_ : e.nest.loops)
      if (loop_.axis == axis) at += variables_[loop_.variable];
    return at;
  }
  bool inside(const Execution& e, size_t axis) const {
    return offset(e, axis) < e.nest.spans[axis];
  }

  void point(Execution& e) {
    std::vector<int64_t> at, relative;
    for (size_t a = 0; a < e.base.size(); ++a) {
      relative.push_back(offset(e, a));
      at.push_back(e.base[a] + relative.back());
      if (relative.back() >= e.nest.spans[a]) return;
      if (at.back() < 0 || at.back() >= e.stage.domain.extents[a]) return;
    }
    if (++e.visits[static_cast<size_t>(linear(relative, e.nest.spans))] > 1)
      throw std::logic_error("a point is visited twice");
    ++visited_;
    if (const Running* running = running_of(graph_, e.stage)) return run_on(e, *running, at);
    const auto output = static_cast<size_t>(
        linear(std::span(relative).first(e.stage.domain.output_rank), e.nest.spans));
    if (memory_) add_writer(e, output);
    if (!e.stage.domain.contains(at) || is_outside_segment(e, at)) return;
    e.bodies.move_to(at);
    if (memory_) record_reads(e);
    if (e.stage.kind == StageKind::Scatter) return write(e);
    Accumulator& value = e.points[output * e.reducers + e.reducer];
    if (e.reducers > 1 && tells_order(graph_, e.stage)) {
      const Scalar candidate[] = {e.bodies.value(0), e.bodies.value(1)};
      take_winner(e.stage, value, candidate);
    } else {
      value.add(e.bodies);
    }
  }

  // A loop over a segment visits no point outside of it: what it would read may be out of range.
  static bool is_outside_segment(Execution& e, std::span<const int64_t> at) {
    if (!e.segment) return false;
    e.segment->move_to(at);
    return at[e.segment_axis] < e.segment->value(0).i ||
           at[e.segment_axis] >= e.segment->value(1).i;
  }

  // The better value, whenever it comes; of equal ones that with the smaller second component.
  void take_winner(const Stage& stage, Accumulator& to, std::span<const Scalar> candidate) const {
    const bool most = stage.combiner.kind == CombinerKind::ArgMax;
    const Scalar best = to.value(0), value = candidate[0];
    bool better, equal;
    if (is_float(graph_.pool.dtype(stage.bodies[0]))) {
      const bool a = std::isnan(best.f), b = std::isnan(value.f);
      better = !a && (b || (most ? value.f > best.f : value.f < best.f));
      equal = a ? b : value.f == best.f;
    } else {
      better = most ? value.i > best.i : value.i < best.i;
      equal = value.i == best.i;
    }
    if (to.empty() || better || (equal && candidate[1].i < to.value(1).i)) to.take(candidate);
  }

  // A point of a running reduction: its loops are serial, so points along the axis come in order
  // (from the back, the loop counts from the end). Taken by its definition here.
  void run_on(Execution& e, const Running& running, std::vector<int64_t> at) {
    const int64_t extent = e.stage.domain.extents[running.axis];
    int64_t& moving = at[running.axis];
    if (running.reverse) moving = extent - 1 - moving;
    const int64_t here = moving, skipped = running.exclusive ? 1 : 0;
    Accumulator value(graph_, e.stage);
    value.reset();
    for (moving = running.reverse ? here + skipped : 0;
         moving < (running.reverse ? extent : here + 1 - skipped); ++moving) {
      e.bodies.move_to(at);
      if (memory_) record_reads(e);
      value.add(e.bodies);
    }
    moving = here;
    for (size_t k = 0; k < e.stage.results.size(); ++k) {
      const TensorId id = e.stage.results[k];
      const int64_t element = linear(at, arrays_[id.value].shape);
      put(id, element, value.value(k));
      if (memory_)
        memory_->write(buffer_[id.value], graph_.info(id).name, element, thread_, own_[id.value]);
    }
  }

  // A point of a lowered scatter: no negative coordinate, then all are in range.
  void write(Execution& e) {
    Array& array = arrays_[e.stage.results[0].value];
    std::vector<int64_t> target;
    for (size_t d = 0; d < e.stage.target.size(); ++d) {
      target.push_back(e.bodies.value(1 + d).i);
      if (target.back() < 0) return;
    }
    for (size_t d = 0; d < target.size(); ++d)
      if (target[d] >= array.shape[d]) throw std::logic_error("a scatter leaves its result");
    const int64_t position = linear(target, array.shape);
    Accumulator& value = e.points[0];
    value.set(
        0, load_element(array.bytes.data() + static_cast<size_t>(position) * size_of(array.dtype),
                        array.dtype));
    value.add(e.bodies);
    put(e.stage.results[0], position, value.value(0));
  }

  // What the threads of a reduction have, combined by a tree, in the first of them.
  Accumulator& combined(Execution& e, size_t output) const {
    const std::span<Accumulator> parts =
        std::span(e.points).subspan(output * e.reducers, e.reducers);
    for (size_t distance = std::bit_ceil(e.reducers) / 2; distance > 0; distance /= 2)
      for (size_t k = 0; k < distance && k + distance < parts.size(); ++k)
        add(e.stage, parts[k], parts[k + distance]);
    return parts[0];
  }

  void add(const Stage& stage, Accumulator& to, const Accumulator& part) const {
    if (tells_order(graph_, stage)) {
      const Scalar winner[] = {part.value(0), part.value(1)};
      if (!part.empty()) take_winner(stage, to, winner);
      return;
    }
    for (size_t k = 0; k < stage.results.size(); ++k) {
      const Scalar values[] = {to.value(k), part.value(k)};
      const DType dtype = accumulator_of(graph_.pool.dtype(stage.bodies[k]));
      to.set(k, apply(operation_of(stage.combiner.kind), dtype, dtype, values));
    }
  }

  static Op operation_of(CombinerKind kind) {
    switch (kind) {
      case CombinerKind::Sum: return Op::Add;
      case CombinerKind::Product: return Op::Mul;
      case CombinerKind::Max: return Op::Max;
      case CombinerKind::Min: return Op::Min;
      case CombinerKind::Any: return Op::Or;
      case CombinerKind::All: return Op::And;
      default: throw std::logic_error("threads reduce what has no partial results");
    }
  }

  void store(Execution& e) {
    const size_t rank = e.stage.domain.output_rank;
    std::vector<int64_t> at(rank, 0);
    for (size_t output = 0; output < e.writers.size(); ++output) {
      const Accumulator& values = combined(e, output);
      bool valid = true;
      std::vector<int64_t> absolute;
      for (size_t a = 0; a < rank; ++a) {
        absolute.push_back(e.base[a] + at[a]);
        valid = valid && absolute[a] >= 0 && absolute[a] < e.stage.domain.extents[a];
      }
      for (size_t k = 0; valid && k < e.stage.results.size(); ++k) {
        const TensorId id = e.stage.results[k];
        const int64_t element = linear(absolute, arrays_[id.value].shape);
        put(id, element, values.value(k));
        if (memory_)
          memory_->write(buffer_[id.value], graph_.info(id).name, element,
                         e.writers[output].value_or(thread_), own_[id.value]);
      }
      for (size_t a = rank; a-- > 0;) {
        if (++at[a] < e.nest.spans[a]) break;
        at[a] = 0;
      }
    }
  }

  const Program& program_;
  const LoweredGraph& graph_;
  std::vector<Array> arrays_;
  std::vector<const Array*> pointers_;
  std::vector<uint32_t> buffer_;                // per tensor: which others share it
  std::vector<std::vector<uint32_t>> sharing_;  // per tensor: those in its buffer, itself too
  std::vector<int64_t> variables_;
  int64_t visited_ = 0;
  const uint32_t seed_;
  std::mt19937 random_;                          // the order of a block's threads
  std::optional<testing::ThreadMemory> memory_;  // of a block kernel
  std::vector<bool> own_;                        // per tensor: each thread has its own
  int64_t thread_ = 0;
};

}  // namespace

std::vector<Array> interpret(const Program& program, std::span<const Array> inputs,
                             int64_t* visited, uint32_t seed) {
  ProgramInterpreter run(program, seed);
  std::vector<Array> outputs = run(inputs);
  if (visited) *visited = run.visited();
  return outputs;
}

}  // namespace adjit::sched
