// tests/fuzz/draw/program_draw.cpp -- random programs: traced graphs with inputs.
#include "tests/fuzz/draw/program_draw.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/operator_table.hpp"
#include "tests/fuzz/draw/inner_draw.hpp"
#include "tests/fuzz/draw/notation_draw.hpp"
#include "tests/fuzz/draw/operator_draw.hpp"
#include "tests/fuzz/draw/scope.hpp"
#include "tests/fuzz/draw/text_draw.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

// `few`: of the real numbers some are equal.
Array drawn_array(Random& random, DType dtype, std::vector<int64_t> shape, bool few) {
  Array array = Array::zeros(dtype, std::move(shape));
  for (int64_t k = 0; k < array.element_count(); ++k) {
    const double unit = static_cast<double>(random.next() >> 11) * 0x1p-53;
    array.set(k, is_float(dtype)        ? (few ? std::round(4 * unit - 2) : 4 * unit - 2)
                 : dtype == DType::Bool ? (unit < 0.5 ? 0 : 1)
                                        : static_cast<double>(random.between(-3, 8)));
  }
  return array;
}

// The sum of everything that nothing reads, so that all of it has a gradient.
std::vector<TensorId> outputs_of(Scope& scope) {
  std::vector<TensorId> unused, outputs;
  for (TensorId id : scope.available())
    if (scope.uses(id) == 0) unused.push_back(id);
  Random& random = scope.random();
  for (size_t k = 0; k < unused.size() && k < 2; ++k) {
    const TensorId id = random.pick(unused);
    if (std::ranges::find(outputs, id) == outputs.end()) outputs.push_back(id);
  }
  TensorId total;
  for (TensorId id : unused) {
    if (scope.dtype(id) != scope.real()) continue;
    const bool added = scope.add([&] {
      const TensorId one[] = {id};
      const TensorId mean = find_operator("sum").trace(scope.trace(), one, Json::object())[0];
      if (!total.valid()) return std::vector<TensorId>{mean};
      const TensorId two[] = {total, mean};
      return find_operator("add").trace(scope.trace(), two, Json::object());
    });
    if (added) total = scope.last()[0];
  }
  if (total.valid()) outputs.push_back(total);
  if (outputs.empty()) outputs.push_back(scope.available().back());
  return outputs;
}

// A product of matrices so large that a GPU computes it tile by tile: operands that are drawn one
// by one rarely have three long axes.
void draw_product(Scope& scope) {
  static const std::vector<int64_t> kSides{16, 16, 17, 32, 33, 48};
  Random& random = scope.random();
  const int64_t m = random.pick(kSides), n = random.pick(kSides), k = random.pick(kSides);
  std::vector<TensorId> operands;
  for (std::vector<int64_t> shape : {std::vector<int64_t>{m, k}, std::vector<int64_t>{k, n}}) {
    if (random.chance(20)) shape.insert(shape.begin(), 2);  // a batch
    if (!NotationDraw(scope).adapted(scope.real(), shape, -1, 1, true)) return;
    operands.push_back(scope.last()[0]);
  }
  const bool taken = scope.add(
      [&] { return find_operator("matmul").trace(scope.trace(), operands, Json::object()); });
  for (const TensorId id : operands)
    if (taken) scope.note_use(id);
}

}  // namespace

void draw_operations(Scope& scope, int count, int depth, bool while_loops) {
  Random& random = scope.random();
  // Some calls are refused, most adapt their operands.
  const size_t stages = scope.trace().graph().stages.size() + static_cast<size_t>(count);
  for (int k = 0; k < 2 * count && scope.points_left() > 0; ++k) {
    if (scope.trace().graph().stages.size() >= stages) break;
    if (scope.kinds().long_axes && random.chance(30)) {
      draw_product(scope);
      continue;
    }
    if (scope.kinds().reductions_again && random.chance(8)) {
      if (random.chance(70))
        NotationDraw(scope).reductions();
      else
        OperatorDraw(scope).calls_alike();
      continue;
    }
    const int64_t kind = random.between(1, 100);
    if (kind <= 14) {
      NotationDraw(scope).compute();
    } else if (kind <= 24) {
      NotationDraw(scope).scatter(while_loops);
    } else if (kind <= 34 && depth < 2) {
      InnerDraw(scope, depth, while_loops).draw();
    } else if (kind <= 38) {
      TextDraw(scope).draw();
    } else {
      OperatorDraw(scope).call();
    }
  }
}

FuzzProgram random_program(uint64_t seed, const ProgramOptions& options) {
  Random random(seed);
  Scope scope(random, options.points, options.kinds);
  FuzzProgram program;
  const auto add_input = [&](DType dtype, int64_t rank) {
    const bool few = options.kinds.reductions_again && random.chance(15);
    program.inputs.push_back(
        drawn_array(random, dtype, draw_shape(random, rank, options.kinds), few));
    scope.input(WideArray::of(program.inputs.back()));
  };
  for (int64_t k = random.between(2, 4); k > 0; --k)
    add_input(options.kinds.real, random.between(0, 3));
  if (random.chance(50)) add_input(DType::Int64, random.between(0, 2));
  if (random.chance(25)) add_input(DType::Bool, random.between(0, 2));
  draw_operations(
      scope, static_cast<int>(random.between(options.least_operations, options.most_operations)), 0,
      options.while_loops);
  program.graph = scope.trace().finish(outputs_of(scope));
  return program;
}

}  // namespace adjit::testing
