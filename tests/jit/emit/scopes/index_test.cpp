// tests/jit/emit/scopes/index_test.cpp -- which index arithmetic disappears, and that what is left
// is right: random forms against plain integers.
#include "jit/emit/scopes/index.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "tests/jit/emit/emitted_function.hpp"
#include "tests/jit/emit/emitted_program.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/graph/random_graph.hpp"

namespace adjit::testing {
namespace {

// An emitter in a function of its own, with trips as arguments.
struct Bench {
  llvm::LLVMContext context;
  llvm::Module module{"index", context};
  llvm::IRBuilder<> builder{context};
  llvm::Function* function;
  Scopes scopes{builder};
  KernelVariables variables;
  IndexEmitter index{builder, scopes, variables};

  explicit Bench(size_t loop_variables)
      : function(llvm::Function::Create(
            llvm::FunctionType::get(
                llvm::Type::getVoidTy(context),
                {llvm::Type::getInt64Ty(context), llvm::Type::getInt64Ty(context)}, false),
            llvm::GlobalValue::ExternalLinkage, "f", module)),
        variables(loop_variables) {
    builder.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", function));
    scopes.push(nullptr);
  }
  llvm::Value* trip(unsigned k) { return function->getArg(k); }
  size_t instructions() const { return function->getInstructionCount(); }
};

Affine variable(size_t k, int64_t scale = 1, int64_t constant = 0) {
  return Affine::variable(k, scale, constant);
}

TEST(Index, ATileOfItsDivisorDividesAway) {
  Bench b(2);
  b.index.bind_scalar(0, b.trip(0), {0, 9}, 32);
  b.variables.bind_lanes(1, 32);
  const Affine i = b.variables.resolve(variable(0) + variable(1));
  EXPECT_EQ(i, variable(0, 32) + variable(1));
  EXPECT_EQ(b.index.floor_div(i, 32), variable(0));
  EXPECT_EQ(i - b.index.floor_div(i, 32) * 32, variable(1));  // i % 32
  EXPECT_EQ(b.index.floor_div(i + Affine(64), 32), variable(0) + Affine(2));
  EXPECT_EQ(b.index.floor_div(i, 64).size(), 3u) << "32 t + v over 64 is not affine";
  EXPECT_EQ(b.variables.lane_stride(b.index.floor_div(i, 16)), std::nullopt)
      << "two values of v // 16 in one vector";
}

TEST(Index, EqualDivisionsAreOneVariableUntilTheirScopeEnds) {
  Bench b(2);
  b.index.bind_scalar(0, b.trip(0), {0, 99}, 1);
  const Affine i = b.variables.resolve(variable(0));
  const Affine q = b.index.floor_div(i, 7);
  EXPECT_EQ(b.index.floor_div(i, 7), q);
  EXPECT_NE(b.index.floor_div(i, 9), q);
  b.scopes.push_here();
  b.index.bind_scalar(1, b.trip(1), {0, 99}, 1);
  const Affine j = b.variables.resolve(variable(1));
  const Affine r = b.index.floor_div(j, 7);
  EXPECT_EQ(b.index.floor_div(i, 7), q) << "the outer scope is still open";
  b.scopes.pop();
  b.scopes.push_here();
  b.index.bind_scalar(1, b.trip(1), {0, 99}, 1);
  EXPECT_NE(b.index.floor_div(b.variables.resolve(variable(1)), 7), r)
      << "its value is out of scope";
}

TEST(Index, AVariableBoundAgainKeepsItsDivisionsInside) {
  Bench b(1);
  b.index.bind_scalar(0, b.trip(0), {0, 99}, 1);
  const Affine q = b.index.floor_div(b.variables.resolve(variable(0)), 7);
  EXPECT_EQ(b.variables.depth(q), 0u);
  b.scopes.push_here();
  b.index.bind_scalar(0, b.trip(0), {0, 99}, 1);
  EXPECT_EQ(b.variables.depth(b.index.floor_div(b.variables.resolve(variable(0)), 7)), 1u);
}

TEST(Index, ConditionsThatRangesDecideAreConstants) {
  Bench b(2);
  b.index.bind_scalar(0, b.trip(0), {0, 9}, 1);
  b.variables.bind_lanes(1, 8);
  const Affine i = b.variables.resolve(variable(0) - variable(1));
  const size_t before = b.instructions();
  EXPECT_EQ(b.index.at_least_zero(i + Affine(7)), b.builder.getTrue());
  EXPECT_EQ(b.index.at_least_zero(i - Affine(10)), b.builder.getFalse());
  EXPECT_EQ(b.index.equals_zero(i + Affine(8)), b.builder.getFalse());
  EXPECT_EQ(b.index.equals_zero(b.variables.resolve(Affine())), b.builder.getTrue());
  EXPECT_EQ(b.instructions(), before) << "nothing was worth an instruction";
  EXPECT_TRUE(b.index.at_least_zero(i + Affine(6))->getType()->isVectorTy());
  EXPECT_FALSE(
      b.index.at_least_zero(b.variables.resolve(variable(0) - Affine(1)))->getType()->isVectorTy());
}

TEST(Index, SumsOfOuterLoopsAreComputedOnceInTheirLoop) {
  Bench b(2);
  b.index.bind_scalar(0, b.trip(0), {0, 9}, 1);
  b.scopes.push_here();
  b.index.bind_scalar(1, b.trip(1), {0, 9}, 1);
  const Affine i = b.variables.resolve(variable(0, 6) + variable(1, 2));
  EXPECT_EQ(b.variables.depth(i), 1u);
  llvm::Value* first = b.index.scalar(i);
  const size_t before = b.instructions();
  EXPECT_EQ(b.index.scalar(i), first);
  EXPECT_EQ(b.instructions(), before);
  auto* sum = llvm::cast<llvm::Instruction>(first);
  auto* outer = llvm::cast<llvm::Instruction>(sum->getOperand(0));
  EXPECT_EQ(outer->getParent(), &b.function->getEntryBlock()) << "6 i belongs to the outer scope";
  EXPECT_NE(sum->getParent(), outer->getParent());
}

// A resolved form, and what it is at a point: trips of the scalars, and a lane.
struct Form {
  Affine affine;
  std::function<int64_t(const std::vector<int64_t>&, int64_t)> value;
};

// Variables of every kind, and forms over them with divisions of forms.
class RandomForms {
 public:
  static constexpr size_t kScalars = 3, kFixed = 2;
  static constexpr int64_t kTrips = 7;
  // Six times a quotient of nine of it, over all variables, fits 64 bits.
  static constexpr int64_t kFar = int64_t{1} << 43;

  RandomForms(uint64_t seed, unsigned lanes) : random_(seed), lanes_(lanes) {
    for (size_t k = 0; k < kScalars; ++k)
      steps_.push_back(random_.pick(std::vector<int64_t>{1, 1, 2, 4, 8, 12, 16, 32}));
    for (size_t k = 0; k < kFixed; ++k) fixed_.push_back(random_.between(0, 40));
  }

  void bind(KernelVariables& variables, IndexEmitter& index, Scopes& scopes,
            const std::vector<llvm::Value*>& trips) {
    variables.bind_lanes(kScalars + kFixed, lanes_);
    for (size_t k = 0; k < kScalars; ++k) {
      if (k > 0) scopes.push_here();
      index.bind_scalar(k, trips[k], {0, kTrips - 1}, steps_[k]);
    }
    for (size_t k = 0; k < kFixed; ++k) variables.bind_fixed(kScalars + k, fixed_[k]);
  }

  Form affine(const KernelVariables& variables) {
    const int64_t unit =
        random_.chance(90) ? 1 : random_.pick(std::vector<int64_t>{int64_t{1} << 32, kFar});
    Affine form(random_.between(-40, 40));
    for (size_t k = 0; k <= kScalars + kFixed; ++k)
      if (random_.chance(50)) form.set_coefficient(k, random_.between(-9, 9) * unit);
    const auto value = [form, this](const std::vector<int64_t>& trips, int64_t lane) {
      std::vector<int64_t> point;
      for (size_t k = 0; k < kScalars; ++k) point.push_back(steps_[k] * trips[k]);
      point.insert(point.end(), fixed_.begin(), fixed_.end());
      point.push_back(lane);
      return evaluate(form, point);
    };
    return {variables.resolve(form), value};
  }

  Form divided(IndexEmitter& index, const Form& a) {
    const int64_t divisor =
        random_.chance(85) ? random_.between(2, 35)
                           : random_.pick(std::vector<int64_t>{int64_t{3} << 31, 3 * kFar,
                                                               (int64_t{1} << 62) - 1, INT64_MAX});
    return {index.floor_div(a.affine, divisor),
            [a, divisor](const std::vector<int64_t>& trips, int64_t lane) {
              return floor_div(a.value(trips, lane), divisor);
            }};
  }

  Form any(const KernelVariables& variables, IndexEmitter& index) {
    Form form = affine(variables);
    for (int64_t n = random_.between(0, 3); n > 0; --n) {
      const Form q = divided(index, form);
      const int64_t scale = random_.between(-6, 6);
      const Form other = affine(variables);
      form = {other.affine + q.affine * scale,
              [q, scale, other](const std::vector<int64_t>& trips, int64_t lane) {
                return other.value(trips, lane) + scale * q.value(trips, lane);
              }};
    }
    return form;
  }

  unsigned lanes() const { return lanes_; }
  Random& random() { return random_; }

 private:
  Random random_;
  unsigned lanes_;
  std::vector<int64_t> steps_, fixed_;
};

struct EmittedForms {
  std::vector<Form> forms;
  std::vector<Interval> ranges;
  std::vector<std::optional<int64_t>> strides;
  std::vector<bool> in_lanes;
};

// Stores, per form: its value in each lane, whether it is >= 0, whether it is 0.
void emit_forms(RandomForms& random, size_t count, bool narrow, llvm::IRBuilder<>& b,
                llvm::Function& function, EmittedForms& out) {
  Scopes scopes(b);
  scopes.push(nullptr);
  KernelVariables variables(RandomForms::kScalars + RandomForms::kFixed + 1);
  IndexEmitter index(b, scopes, variables, narrow);
  llvm::Value* source = pointer_argument(b, function, 0);
  llvm::Value* target = pointer_argument(b, function, 1);
  std::vector<llvm::Value*> trips;
  for (size_t k = 0; k < RandomForms::kScalars; ++k)
    trips.push_back(b.CreateAlignedLoad(b.getInt64Ty(),
                                        b.CreateInBoundsGEP(b.getInt64Ty(), source, b.getInt64(k)),
                                        llvm::Align(8)));
  if (narrow)
    for (llvm::Value*& trip : trips) trip = b.CreateTrunc(trip, b.getInt32Ty());
  random.bind(variables, index, scopes, trips);
  auto* wide = llvm::FixedVectorType::get(b.getInt64Ty(), random.lanes());
  size_t row = 0;
  const auto store = [&](llvm::Value* value, bool is_signed) {
    if (!value->getType()->isVectorTy()) value = b.CreateVectorSplat(random.lanes(), value);
    value = is_signed ? b.CreateSExt(value, wide) : b.CreateZExt(value, wide);
    llvm::Value* at =
        b.CreateInBoundsGEP(b.getInt64Ty(), target, b.getInt64(row++ * random.lanes()));
    b.CreateAlignedStore(value, at, llvm::Align(8));
  };
  for (size_t k = 0; k < count; ++k) {
    const Form form = random.any(variables, index);
    out.forms.push_back(form);
    out.ranges.push_back(variables.range(form.affine));
    out.strides.push_back(variables.lane_stride(form.affine));
    out.in_lanes.push_back(variables.in_lanes(form.affine));
    store(variables.in_lanes(form.affine) ? index.vector(form.affine) : index.scalar(form.affine),
          true);
    store(index.at_least_zero(form.affine), false);
    store(index.equals_zero(form.affine), false);
  }
  while (scopes.depth() > 0) scopes.pop();
}

void check_forms(const EmittedForms& e, const std::vector<int64_t>& trips,
                 const std::vector<int64_t>& values, unsigned lanes) {
  for (size_t k = 0; k < e.forms.size(); ++k)
    for (unsigned lane = 0; lane < lanes; ++lane) {
      const int64_t expected = e.forms[k].value(trips, lane);
      const size_t at = 3 * k * lanes + lane;
      ASSERT_EQ(values[at], expected) << "form " << k << ", lane " << lane;
      ASSERT_EQ(values[at + lanes], expected >= 0) << "form " << k << " >= 0, lane " << lane;
      ASSERT_EQ(values[at + 2 * lanes], expected == 0) << "form " << k << " == 0, lane " << lane;
      ASSERT_LE(e.ranges[k].lo, expected);
      ASSERT_GE(e.ranges[k].hi, expected);
      if (e.strides[k]) {
        ASSERT_EQ(expected - e.forms[k].value(trips, 0), *e.strides[k] * lane) << "form " << k;
      }
      if (!e.in_lanes[k]) {
        ASSERT_EQ(expected, e.forms[k].value(trips, 0)) << "form " << k;
      }
    }
}

// As they are for a CPU, and in 32 bits where these hold them.
TEST(Index, RandomFormsWithDivisionsAgainstIntegers) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    const bool narrow = seed > 12;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomForms random(seed, 4u << seed % 3);
    constexpr size_t kForms = 40;
    EmittedForms emission;
    const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
      emit_forms(random, kForms, narrow, b, f, emission);
    });
    std::vector<int64_t> values(3 * kForms * random.lanes());
    for (int point = 0; point < 40; ++point) {
      std::vector<int64_t> trips;
      for (size_t k = 0; k < RandomForms::kScalars; ++k)
        trips.push_back(random.random().between(0, RandomForms::kTrips - 1));
      void* pointers[] = {trips.data(), values.data()};
      function(pointers);
      check_forms(emission, trips, values, random.lanes());
      if (::testing::Test::HasFatalFailure()) return;
    }
  }
}

TEST(Index, NarrowNumbersAreWidenedOnceAndWideOnesStay) {
  Bench b(2);
  IndexEmitter index(b.builder, b.scopes, b.variables, true);
  llvm::Value* trip = b.builder.CreateTrunc(b.trip(0), b.builder.getInt32Ty());
  index.bind_scalar(0, trip, {0, 99}, 1);
  index.bind_scalar(1, b.trip(1), {0, int64_t{1} << 40}, 1);
  const Affine near = b.variables.resolve(variable(0, 7, -3)), far = near * (int64_t{1} << 30);
  EXPECT_TRUE(index.number(near)->getType()->isIntegerTy(32));
  llvm::Value* wide = index.scalar(near);
  EXPECT_TRUE(wide->getType()->isIntegerTy(64));
  EXPECT_EQ(index.scalar(near), wide);
  EXPECT_TRUE(index.number(far)->getType()->isIntegerTy(64));
  EXPECT_TRUE(index.number(near + variable(1))->getType()->isIntegerTy(64));
}

TEST(Index, AddressesAreElementsFromThePointer) {
  const EmittedFunction function([&](llvm::IRBuilder<>& b, llvm::Function& f) {
    Scopes scopes(b);
    scopes.push(nullptr);
    KernelVariables variables(3);
    IndexEmitter index(b, scopes, variables);
    llvm::Value* memory = pointer_argument(b, f, 0);
    index.bind_scalar(0, f.getArg(1), {0, 3}, 2);
    scopes.push_here();
    index.bind_scalar(1, f.getArg(2), {0, 5}, 1);
    variables.bind_lanes(2, 4);  // count as lane 0
    const Affine at = variables.resolve(variable(0, 10) - variable(1, 3) + variable(2, 5, 40));
    llvm::Value* address = index.address(memory, 0, b.getInt16Ty(), at);
    b.CreateAlignedStore(b.getInt16(77), address, llvm::Align(2));
    EXPECT_EQ(index.address(memory, 0, b.getInt16Ty(), at - Affine(40)),
              index.address(memory, 0, b.getInt16Ty(), at - Affine(40)));
    scopes.pop();
  });
  std::vector<int16_t> memory(200, 0);
  void* pointers[] = {memory.data()};
  function(pointers, 3, 4);
  for (size_t k = 0; k < memory.size(); ++k)
    EXPECT_EQ(memory[k], k == 10 * 6 - 3 * 4 + 40 ? 77 : 0) << k;
}

}  // namespace
}  // namespace adjit::testing
