// tests/bindings/c/computation_test.cpp -- text notation, descriptions, derivatives, partitions.
#include <algorithm>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

constexpr const char* kSource =
    "def matmul(float(M, K) A, float(K, N) B) -> (C) { C(m, n) +=! A(m, k) * B(k, n) }\n"
    "def total(float(N) x) -> (s) { s() +=! x(i) * x(i) }\n";

TextModule module() {
  adjit_text_module* made = nullptr;
  EXPECT_EQ(adjit_text_module_create(kSource, "two.tc", &made), ADJIT_OK)
      << adjit_last_error_message();
  return TextModule(made);
}

Computation total(int64_t n) {
  const adjit_dtype dtype = ADJIT_FLOAT32;
  const int32_t rank = 1;
  adjit_computation* made = nullptr;
  EXPECT_EQ(adjit_text_module_instantiate(module().get(), "total", 1, &dtype, &rank, &n, &made),
            ADJIT_OK)
      << adjit_last_error_message();
  return Computation(made);
}

std::vector<std::vector<float>> run(const Computation& f, std::vector<Floats*> inputs,
                                    std::vector<Floats*> outputs) {
  const Context c = context();
  const Executable e = compiled(lowered(c, f));
  std::vector<const DLTensor*> in;
  std::vector<DLTensor*> out;
  for (Floats* a : inputs) in.push_back(&a->tensor);
  for (Floats* a : outputs) out.push_back(&a->tensor);
  EXPECT_EQ(adjit_executable_run(e.get(), static_cast<int32_t>(in.size()), in.data(),
                                 static_cast<int32_t>(out.size()), out.data()),
            ADJIT_OK)
      << adjit_last_error_message();
  std::vector<std::vector<float>> results;
  for (Floats* a : outputs) results.push_back(a->data);
  return results;
}

TEST(TextApi, ListsItsDefinitions) {
  const TextModule m = module();
  const char* json = nullptr;
  ADJIT_OK_OR_FAIL(adjit_text_module_definitions(m.get(), &json));
  for (const char* name : {"\"matmul\"", "\"total\"", "\"A\"", "\"C\"", "\"dtypes\":[8,8]"})
    EXPECT_NE(std::string(json).find(name), std::string::npos) << json;
}

TEST(TextApi, InstantiatesForShapes) {
  const TextModule m = module();
  const adjit_dtype dtypes[] = {ADJIT_FLOAT32, ADJIT_FLOAT32};
  const int32_t ranks[] = {2, 2};
  const int64_t shapes[] = {3, 4, 4, 5};
  adjit_computation* made = nullptr;
  ADJIT_OK_OR_FAIL(
      adjit_text_module_instantiate(m.get(), "matmul", 2, dtypes, ranks, shapes, &made));
  const Computation f(made);
  int32_t inputs = 0, outputs = 0, rank = 0;
  ADJIT_OK_OR_FAIL(adjit_computation_counts(f.get(), &inputs, &outputs));
  EXPECT_EQ(inputs, 2);
  EXPECT_EQ(outputs, 1);
  adjit_dtype dtype = ADJIT_BOOL;
  const int64_t* shape = nullptr;
  const char* name = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_tensor(f.get(), 1, 0, &dtype, &rank, &shape, &name));
  EXPECT_STREQ(name, "C");
  EXPECT_EQ(std::vector<int64_t>(shape, shape + rank), (std::vector<int64_t>{3, 5}));
  ADJIT_OK_OR_FAIL(adjit_computation_tensor(f.get(), 0, 1, &dtype, &rank, &shape, nullptr));
  EXPECT_EQ(std::vector<int64_t>(shape, shape + rank), (std::vector<int64_t>{4, 5}));
}

TEST(TextApi, MistakesAreShownWhereTheyAre) {
  adjit_text_module* made = untouched<adjit_text_module>();
  EXPECT_FAILURE(
      adjit_text_module_create("def f(float(N) x) -> (y) {\n  y(i) = x(i) +\n}", "model.tc", &made),
      ADJIT_PARSE, "model.tc:3");
  EXPECT_NE(std::string(adjit_last_error_message()).find('^'), std::string::npos);
  EXPECT_FAILURE(adjit_text_module_create("\xff\xfe", nullptr, &made), ADJIT_PARSE, "");
  EXPECT_EQ(made, untouched<adjit_text_module>());
  // Nothing at all is a module without definitions, or an error; never a crash.
  adjit_text_module* empty = nullptr;
  if (adjit_text_module_create("", nullptr, &empty) == ADJIT_OK) adjit_text_module_destroy(empty);
}

TEST(TextApi, NullAndNonsenseAreRefused) {
  const TextModule m = module();
  adjit_text_module* made = untouched<adjit_text_module>();
  adjit_computation* f = untouched<adjit_computation>();
  const char* json = untouched<char>();
  const adjit_dtype dtypes[] = {ADJIT_FLOAT32, ADJIT_FLOAT32};
  const adjit_dtype other[] = {static_cast<adjit_dtype>(14), ADJIT_FLOAT32};
  const int32_t ranks[] = {2, 2}, wrong_ranks[] = {2, 1}, negative[] = {2, -1};
  const int64_t shapes[] = {3, 4, 5, 5}, bad[] = {3, -4, -4, 5};
  EXPECT_FAILURE(adjit_text_module_create(nullptr, "f", &made), ADJIT_INVALID, "source");
  EXPECT_FAILURE(adjit_text_module_create(kSource, "f", nullptr), ADJIT_INVALID, "module");
  EXPECT_FAILURE(adjit_text_module_definitions(nullptr, &json), ADJIT_INVALID, "module");
  EXPECT_FAILURE(adjit_text_module_definitions(m.get(), nullptr), ADJIT_INVALID, "json");
  const auto instantiate = [&](adjit_text_module* module, const char* name, int32_t count,
                               const adjit_dtype* types, const int32_t* r, const int64_t* s) {
    return adjit_text_module_instantiate(module, name, count, types, r, s, &f);
  };
  EXPECT_FAILURE(instantiate(nullptr, "matmul", 2, dtypes, ranks, shapes), ADJIT_INVALID, "module");
  EXPECT_FAILURE(instantiate(m.get(), nullptr, 2, dtypes, ranks, shapes), ADJIT_INVALID, "name");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, nullptr, ranks, shapes), ADJIT_INVALID,
                 "dtypes");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, dtypes, nullptr, shapes), ADJIT_INVALID,
                 "ranks");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, dtypes, ranks, nullptr), ADJIT_INVALID,
                 "shapes");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", -1, dtypes, ranks, shapes), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, dtypes, negative, shapes), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, dtypes, wrong_ranks, shapes), ADJIT_SHAPE, "B");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, dtypes, ranks, shapes), ADJIT_SHAPE, "K");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, dtypes, ranks, bad), ADJIT_SHAPE, "-4");
  EXPECT_FAILURE(instantiate(m.get(), "matmul", 2, other, ranks, shapes), ADJIT_DTYPE, "14");
  EXPECT_NE(instantiate(m.get(), "matmul", 1, dtypes, ranks, shapes), ADJIT_OK);
  EXPECT_NE(instantiate(m.get(), "matrix", 2, dtypes, ranks, shapes), ADJIT_OK);
  EXPECT_FAILURE(
      adjit_text_module_instantiate(m.get(), "matmul", 2, dtypes, ranks, shapes, nullptr),
      ADJIT_INVALID, "computation");
  EXPECT_EQ(f, untouched<adjit_computation>());
  EXPECT_EQ(made, untouched<adjit_text_module>());
  EXPECT_EQ(json, untouched<char>());
  adjit_text_module_destroy(nullptr);
}

TEST(ComputationApi, TextReadsBackToTheSame) {
  const Computation f = square();
  const char *text = nullptr, *again = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_text(f.get(), &text));
  ADJIT_OK_OR_FAIL(adjit_computation_text(f.get(), &again));
  EXPECT_EQ(text, again) << "the string belongs to the computation";
  adjit_text_module* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_text_module_create(text, nullptr, &made));
  adjit_text_module_destroy(made);
}

TEST(ComputationApi, Gradients) {
  const Computation f = total(5);
  const int32_t wrt[] = {0};
  adjit_computation* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_gradient(f.get(), 1, wrt, 0, 1, &made));
  const Computation g(made);
  Floats x({5}, 1), s({}), dx({5});
  const auto results = run(g, {&x}, {&s, &dx});
  EXPECT_EQ(results[0][0], 1 + 4 + 9 + 16 + 25);
  EXPECT_EQ(results[1], (std::vector<float>{2, 4, 6, 8, 10}));
}

TEST(ComputationApi, VjpsWithAndWithoutTheOutputs) {
  const Computation f = square();
  const int32_t wrt[] = {0}, outputs[] = {0};
  for (const bool keep : {false, true}) {
    adjit_computation* made = nullptr;
    ADJIT_OK_OR_FAIL(adjit_computation_vjp(f.get(), 1, wrt, 1, outputs, keep, &made));
    const Computation g(made);
    int32_t in = 0, out = 0;
    ADJIT_OK_OR_FAIL(adjit_computation_counts(g.get(), &in, &out));
    EXPECT_EQ(in, 2);
    EXPECT_EQ(out, keep ? 2 : 1);
    Floats x({3, 4}), dy({3, 4}, 10), y({3, 4}), dx({3, 4});
    const auto results =
        run(g, {&x, &dy}, keep ? std::vector<Floats*>{&y, &dx} : std::vector<Floats*>{&dx});
    EXPECT_EQ(results.back()[3], (2 * 3 + 1) * 13);
    if (keep) {
      EXPECT_EQ(results[0][3], 12);
    }
  }
}

TEST(ComputationApi, APartitionComputesTheSameInTwoSteps) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {6});
  const Computation f = finish(t, {apply(t, "tanh", {apply(t, "exp", {x})})});
  const int32_t zero = 0;
  adjit_computation* made = nullptr;
  ADJIT_OK_OR_FAIL(adjit_computation_vjp(f.get(), 1, &zero, 1, &zero, 1, &made));
  const Computation joint(made);
  Floats a({6}, -3), dy({6}, 1), y({6}), dx({6});
  const auto whole = run(joint, {&a, &dy}, {&y, &dx});
  for (int64_t budget : {int64_t{-1}, int64_t{0}, int64_t{1} << 20}) {
    adjit_computation *front = nullptr, *back = nullptr;
    ADJIT_OK_OR_FAIL(adjit_computation_partition(joint.get(), 1, 1, budget, &front, &back));
    const Computation forward(front), backward(back);
    int32_t in = 0, out = 0;
    ADJIT_OK_OR_FAIL(adjit_computation_counts(forward.get(), &in, &out));
    EXPECT_EQ(in, 1);
    std::vector<std::unique_ptr<Floats>> residuals;
    std::vector<Floats*> forward_out{&y}, backward_in;
    for (int32_t k = 1; k < out; ++k) {
      adjit_dtype dtype = ADJIT_BOOL;
      int32_t rank = 0;
      const int64_t* shape = nullptr;
      ADJIT_OK_OR_FAIL(
          adjit_computation_tensor(forward.get(), 1, k, &dtype, &rank, &shape, nullptr));
      ASSERT_EQ(dtype, ADJIT_FLOAT32);
      residuals.push_back(std::make_unique<Floats>(std::vector<int64_t>(shape, shape + rank)));
      forward_out.push_back(residuals.back().get());
      backward_in.push_back(residuals.back().get());
    }
    const auto first = run(forward, {&a}, forward_out);
    EXPECT_EQ(first[0], whole[0]);
    backward_in.push_back(&dy);
    std::fill(dx.data.begin(), dx.data.end(), 0.0f);
    const auto second = run(backward, backward_in, {&dx});
    for (size_t k = 0; k < 6; ++k) EXPECT_NEAR(second[0][k], whole[1][k], 1e-6);
  }
}

TEST(ComputationApi, PositionsThatAreNoneAreRefused) {
  const Computation f = square();
  adjit_computation* g = untouched<adjit_computation>();
  const int32_t zero[] = {0, 0}, one[] = {1}, negative[] = {-1};
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), 1, one, 1, zero, 0, &g), ADJIT_INVALID, "input 1");
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), 1, zero, 1, one, 0, &g), ADJIT_INVALID, "output 1");
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), 1, negative, 1, zero, 0, &g), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), -1, zero, 1, zero, 0, &g), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), 1, nullptr, 1, zero, 0, &g), ADJIT_INVALID,
                 "input");
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), 1, zero, 1, nullptr, 0, &g), ADJIT_INVALID,
                 "output");
  EXPECT_FAILURE(adjit_computation_vjp(nullptr, 1, zero, 1, zero, 0, &g), ADJIT_INVALID,
                 "computation");
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), 1, zero, 1, zero, 0, nullptr), ADJIT_INVALID,
                 "result");
  EXPECT_FAILURE(adjit_computation_gradient(f.get(), 1, zero, 0, 0, &g), ADJIT_SHAPE, "12");
  EXPECT_FAILURE(adjit_computation_gradient(f.get(), 1, zero, 3, 0, &g), ADJIT_INVALID, "output 3");
  EXPECT_FAILURE(adjit_computation_gradient(f.get(), 1, zero, -3, 0, &g), ADJIT_INVALID, "-3");
  EXPECT_FAILURE(adjit_computation_gradient(nullptr, 1, zero, 0, 0, &g), ADJIT_INVALID,
                 "computation");
  EXPECT_FAILURE(adjit_computation_gradient(f.get(), 1, zero, 0, 0, nullptr), ADJIT_INVALID,
                 "result");
  adjit_computation* b = untouched<adjit_computation>();
  EXPECT_FAILURE(adjit_computation_partition(nullptr, 1, 1, -1, &g, &b), ADJIT_INVALID, "joint");
  EXPECT_FAILURE(adjit_computation_partition(f.get(), -1, 1, -1, &g, &b), ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_computation_partition(f.get(), 1, 1, -1, nullptr, &b), ADJIT_INVALID,
                 "forward");
  EXPECT_FAILURE(adjit_computation_partition(f.get(), 1, 1, -1, &g, nullptr), ADJIT_INVALID,
                 "backward");
  EXPECT_NE(adjit_computation_partition(f.get(), 5, 1, -1, &g, &b), ADJIT_OK);
  EXPECT_NE(adjit_computation_partition(f.get(), 1, 5, -1, &g, &b), ADJIT_OK);
  EXPECT_EQ(g, untouched<adjit_computation>());
  EXPECT_EQ(b, untouched<adjit_computation>());
}

TEST(ComputationApi, IntegersHaveNoGradient) {
  const Trace t = trace();
  const adjit_tensor n = input(t, {4}, ADJIT_INT32);
  const Computation f = finish(t, {apply(t, "multiply", {n, n})});
  const int32_t zero = 0;
  adjit_computation* g = untouched<adjit_computation>();
  EXPECT_FAILURE(adjit_computation_vjp(f.get(), 1, &zero, 1, &zero, 0, &g),
                 ADJIT_NOT_DIFFERENTIABLE, "int32");
  EXPECT_EQ(g, untouched<adjit_computation>());
}

TEST(ComputationApi, DescriptionsRefuseNullAndTouchNothing) {
  const Computation f = square();
  int32_t inputs = 77, outputs = 77, rank = 77;
  adjit_dtype dtype = ADJIT_BFLOAT16;
  const int64_t* shape = untouched<const int64_t>();
  const char *name = untouched<char>(), *text = untouched<char>();
  EXPECT_FAILURE(adjit_computation_counts(nullptr, &inputs, &outputs), ADJIT_INVALID,
                 "computation");
  EXPECT_FAILURE(adjit_computation_counts(f.get(), nullptr, &outputs), ADJIT_INVALID, "inputs");
  EXPECT_FAILURE(adjit_computation_counts(f.get(), &inputs, nullptr), ADJIT_INVALID, "outputs");
  EXPECT_FAILURE(adjit_computation_tensor(nullptr, 0, 0, &dtype, &rank, &shape, &name),
                 ADJIT_INVALID, "computation");
  EXPECT_FAILURE(adjit_computation_tensor(f.get(), 0, 1, &dtype, &rank, &shape, &name),
                 ADJIT_INVALID, "1");
  EXPECT_FAILURE(adjit_computation_tensor(f.get(), 1, -1, &dtype, &rank, &shape, &name),
                 ADJIT_INVALID, "-1");
  EXPECT_FAILURE(adjit_computation_tensor(f.get(), 0, 0, nullptr, &rank, &shape, &name),
                 ADJIT_INVALID, "dtype");
  EXPECT_FAILURE(adjit_computation_tensor(f.get(), 0, 0, &dtype, nullptr, &shape, &name),
                 ADJIT_INVALID, "rank");
  EXPECT_FAILURE(adjit_computation_tensor(f.get(), 0, 0, &dtype, &rank, nullptr, &name),
                 ADJIT_INVALID, "shape");
  EXPECT_FAILURE(adjit_computation_text(nullptr, &text), ADJIT_INVALID, "computation");
  EXPECT_FAILURE(adjit_computation_text(f.get(), nullptr), ADJIT_INVALID, "text");
  EXPECT_FAILURE(adjit_computation_stages(nullptr, &text), ADJIT_INVALID, "computation");
  EXPECT_FAILURE(adjit_computation_stages(f.get(), nullptr), ADJIT_INVALID, "json");
  EXPECT_EQ(inputs, 77);
  EXPECT_EQ(outputs, 77);
  EXPECT_EQ(rank, 77);
  EXPECT_EQ(dtype, ADJIT_BFLOAT16);
  EXPECT_EQ(shape, untouched<const int64_t>());
  EXPECT_EQ(name, untouched<char>());
  EXPECT_EQ(text, untouched<char>());
  adjit_computation_destroy(nullptr);
}

}  // namespace
}  // namespace adjit_test
