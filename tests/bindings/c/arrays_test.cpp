// tests/bindings/c/arrays_test.cpp -- arrays against what an executable was compiled for: types,
// shapes, strides, devices, memory of their own.
#include <array>
#include <memory>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

struct TypeName {
  uint8_t code, bits;
  adjit_dtype dtype;
};
constexpr uint8_t kBool = 6;  // kDLBool, which older headers lack
constexpr TypeName kTypeNames[] = {
    {kBool, 8, ADJIT_BOOL},        {kDLUInt, 1, ADJIT_BOOL},      {kDLUInt, 8, ADJIT_UINT8},
    {kDLInt, 8, ADJIT_INT8},       {kDLInt, 16, ADJIT_INT16},     {kDLInt, 32, ADJIT_INT32},
    {kDLInt, 64, ADJIT_INT64},     {kDLFloat, 16, ADJIT_FLOAT16}, {kDLBfloat, 16, ADJIT_BFLOAT16},
    {kDLFloat, 32, ADJIT_FLOAT32}, {kDLFloat, 64, ADJIT_FLOAT64},
};

TEST(Arrays, EveryElementTypeIsKnownByItsDLPackNumber) {
  const Trace t = trace();
  const std::array<uint64_t, 2> bytes{};
  const int64_t two = 2;
  for (const TypeName& type : kTypeNames) {
    DLTensor array{};
    array.data = const_cast<uint64_t*>(bytes.data());
    array.device = {kDLCPU, 0};
    array.ndim = 1;
    array.shape = const_cast<int64_t*>(&two);
    array.dtype = {type.code, type.bits, 1};
    adjit_tensor constant = ADJIT_NONE;
    ADJIT_OK_OR_FAIL(adjit_trace_constant(t.get(), "c", &array, &constant));
    adjit_dtype dtype{};
    int32_t rank = 0;
    const int64_t* shape = nullptr;
    ADJIT_OK_OR_FAIL(adjit_trace_tensor_info(t.get(), constant, &dtype, &rank, &shape));
    EXPECT_EQ(dtype, type.dtype) << int{type.code} << ", " << int{type.bits} << " bits";
  }
}

TEST(Arrays, ThoseThatDoNotFitAreRefusedByName) {
  Ready r;
  const auto refused = [&](adjit_status status, const char* part, const auto& damage) {
    Floats in({3, 4}), out({3, 4}, 7);
    damage(in, out);
    EXPECT_FAILURE(r.run(&in.tensor, &out.tensor), status, part);
    EXPECT_EQ(out.data[5], 12) << "no result was written";
  };
  refused(ADJIT_SHAPE, "input 0", [](Floats& in, Floats&) { in.shape[1] = 3; });
  refused(ADJIT_SHAPE, "(4, 3)",
          [](Floats& in, Floats&) { in.shape = {4, 3}, in.tensor.shape = in.shape.data(); });
  refused(ADJIT_SHAPE, "input 0", [](Floats& in, Floats&) { in.tensor.ndim = 1; });
  refused(ADJIT_INVALID, "-2", [](Floats& in, Floats&) { in.tensor.ndim = -2; });
  refused(ADJIT_SHAPE, "output 0", [](Floats&, Floats& out) { out.shape[0] = 2; });
  refused(ADJIT_SHAPE, "strides", [](Floats& in, Floats&) { in.view(0, {1, 3}); });
  refused(ADJIT_SHAPE, "strides", [](Floats&, Floats& out) { out.view(0, {1, 3}); });
  refused(ADJIT_SHAPE, "strides", [](Floats&, Floats& out) { out.view(11, {-4, -1}); });
  refused(ADJIT_DTYPE, "float64", [](Floats& in, Floats&) { in.tensor.dtype.bits = 64; });
  refused(ADJIT_DTYPE, "int32", [](Floats&, Floats& out) { out.tensor.dtype.code = kDLInt; });
  refused(ADJIT_DTYPE, "lanes 2", [](Floats& in, Floats&) { in.tensor.dtype.lanes = 2; });
  refused(ADJIT_DEVICE, "CPU", [](Floats& in, Floats&) { in.tensor.device.device_type = kDLCUDA; });
  refused(ADJIT_DEVICE, "CPU",
          [](Floats&, Floats& out) { out.tensor.device.device_type = kDLCUDA; });
  refused(ADJIT_INVALID, "NULL", [](Floats& in, Floats&) { in.tensor.data = nullptr; });
  refused(ADJIT_INVALID, "NULL", [](Floats& in, Floats&) { in.tensor.shape = nullptr; });
}

TEST(Arrays, AConstantOfWhatIsNoArrayIsRefused) {
  const Trace t = trace();
  adjit_tensor tensor = kUntouched;
  const auto refused = [&](adjit_status status, const char* part, const auto& damage) {
    Floats data({2, 3});
    damage(data);
    EXPECT_FAILURE(adjit_trace_constant(t.get(), "c", &data.tensor, &tensor), status, part);
  };
  refused(ADJIT_DTYPE, "bits 17", [](Floats& f) { f.tensor.dtype.bits = 17; });
  refused(ADJIT_DTYPE, "lanes 4", [](Floats& f) { f.tensor.dtype.lanes = 4; });
  refused(ADJIT_DTYPE, "code 5", [](Floats& f) { f.tensor.dtype.code = kDLComplex; });
  refused(ADJIT_DEVICE, "CPU", [](Floats& f) { f.tensor.device.device_type = kDLCUDA; });
  refused(ADJIT_INVALID, "NULL", [](Floats& f) { f.tensor.data = nullptr; });
  refused(ADJIT_INVALID, "shape", [](Floats& f) { f.tensor.shape = nullptr; });
  refused(ADJIT_INVALID, "-1", [](Floats& f) { f.tensor.ndim = -1; });
  refused(ADJIT_SHAPE, "-3", [](Floats& f) { f.shape[1] = -3; });
  EXPECT_EQ(tensor, kUntouched);
  Floats nothing({0, 3});
  nothing.tensor.data = nullptr;
  ADJIT_OK_OR_FAIL(adjit_trace_constant(t.get(), "c", &nothing.tensor, &tensor));
}

TEST(Arrays, TheFirstElementLiesAtTheOffset) {
  Ready r;
  Floats in({20}), out({3, 4});
  const int64_t shape[] = {3, 4};
  DLTensor inside = in.tensor;
  inside.ndim = 2;
  inside.shape = const_cast<int64_t*>(shape);
  inside.byte_offset = 5 * sizeof(float);
  ADJIT_OK_OR_FAIL(r.run(&inside, &out.tensor));
  EXPECT_EQ(out.data[0], 30);
}

TEST(Arrays, AnyStrideOfASingleElementFits) {
  const Context c = context();
  const Trace t = trace();
  const Computation f = finish(t, {apply(t, "negative", {input(t, {1, 4, 1})})});
  const Executable e = compiled(lowered(c, f));
  Floats in({1, 4, 1}), out({1, 4, 1});
  in.view(0, {999, 1, -7});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
  EXPECT_EQ(out.data[3], -3);
}

TEST(Arrays, AnOutputThatOverlapsAnInputIsRefused) {
  Ready r;
  Floats memory({24});
  const int64_t shape[] = {3, 4};
  const auto at = [&](size_t first) {
    DLTensor view = memory.tensor;
    view.ndim = 2;
    view.shape = const_cast<int64_t*>(shape);
    view.data = memory.data.data() + first;
    return view;
  };
  for (size_t first : {0, 1, 11, 12}) {
    DLTensor in = at(first), out = at(12);
    if (first == 0) {
      EXPECT_EQ(r.run(&in, &out), ADJIT_OK) << "side by side: " << adjit_last_error_message();
      continue;
    }
    const float before = memory.data[12];
    EXPECT_FAILURE(r.run(&in, &out), ADJIT_INVALID, "output 0 overlaps input 0");
    EXPECT_FAILURE(r.run(&out, &in), ADJIT_INVALID, "output 0 overlaps input 0");
    EXPECT_EQ(memory.data[12], before);
  }
}

// From the lowest to the highest element, whichever is the first.
TEST(Arrays, AnInputWithNegativeStridesReachesDownFromItsFirstElement) {
  const Context c = context();
  Floats memory({24});
  const int64_t shape[] = {3, 4}, backwards[] = {-4, -1};
  const auto at = [&](size_t first, const int64_t* strides) {
    DLTensor view = memory.tensor;
    view.ndim = 2;
    view.shape = const_cast<int64_t*>(shape);
    view.strides = const_cast<int64_t*>(strides);
    view.data = memory.data.data() + first;
    return view;
  };
  DLTensor in = at(23, backwards);
  const Executable e = compiled(lowered(c, square(), {&in}));
  const auto run = [&](size_t first) {
    DLTensor out = at(first, nullptr);
    const DLTensor* inputs[] = {&in};
    DLTensor* outputs[] = {&out};
    return adjit_executable_run(e.get(), 1, inputs, 1, outputs);
  };
  EXPECT_FAILURE(run(1), ADJIT_INVALID, "output 0 overlaps input 0");
  EXPECT_FAILURE(run(12), ADJIT_INVALID, "output 0 overlaps input 0");
  ADJIT_OK_OR_FAIL(run(0));
  EXPECT_EQ(memory.data[0], 23 * 23 + 23);
}

TEST(Arrays, EmptyArraysOverlapNothing) {
  const Context c = context();
  const Trace t = trace();
  const Executable e = compiled(lowered(c, finish(t, {apply(t, "exp", {input(t, {0, 3})})})));
  Floats in({0, 3}), out({0, 3});
  in.tensor.data = out.tensor.data = nullptr;
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* outputs[] = {&out.tensor};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 1, outputs));
}

TEST(Arrays, OutputsThatOverlapEachOtherAreRefused) {
  const Context c = context();
  const Trace t = trace();
  const adjit_tensor x = input(t, {8});
  const Computation f =
      finish(t, {apply(t, "exp", {x}), apply(t, "negative", {x}), apply(t, "abs", {x})});
  const Executable e = compiled(lowered(c, f));
  Floats in({8}), a({8}), b({8}), d({8});
  const DLTensor* inputs[] = {&in.tensor};
  DLTensor* apart[] = {&a.tensor, &b.tensor, &d.tensor};
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 1, inputs, 3, apart));
  DLTensor* twice[] = {&a.tensor, &b.tensor, &a.tensor};
  EXPECT_FAILURE(adjit_executable_run(e.get(), 1, inputs, 3, twice), ADJIT_INVALID, "overlaps");
}

// More arrays than the call keeps on its stack.
TEST(Arrays, MoreThanTheStackHoldsAreCheckedAndRun) {
  const Context c = context();
  const Trace t = trace();
  std::vector<adjit_tensor> xs, ys;
  for (int k = 0; k < 50; ++k) xs.push_back(input(t, {2}));
  for (int k = 0; k < 50; ++k)
    ys.push_back(apply(t, "add", {xs[static_cast<size_t>(k)], xs[static_cast<size_t>(49 - k)]}));
  const Executable e = compiled(lowered(c, finish(t, ys)));
  std::vector<std::unique_ptr<Floats>> arrays;
  std::vector<const DLTensor*> inputs;
  std::vector<DLTensor*> outputs;
  for (int k = 0; k < 100; ++k)
    arrays.push_back(std::make_unique<Floats>(std::vector<int64_t>{2}, static_cast<float>(k)));
  for (size_t k = 0; k < 50; ++k) inputs.push_back(&arrays[k]->tensor);
  for (size_t k = 50; k < 100; ++k) outputs.push_back(&arrays[k]->tensor);
  ADJIT_OK_OR_FAIL(adjit_executable_run(e.get(), 50, inputs.data(), 50, outputs.data()));
  for (size_t k = 50; k < 100; ++k) EXPECT_EQ(arrays[k]->data[1], 49 + 2);
  outputs[49] = &arrays[3]->tensor;
  EXPECT_FAILURE(adjit_executable_run(e.get(), 50, inputs.data(), 50, outputs.data()),
                 ADJIT_INVALID, "output 49 overlaps input 3");
}

}  // namespace
}  // namespace adjit_test
