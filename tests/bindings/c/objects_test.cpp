// tests/bindings/c/objects_test.cpp -- running on arrays that objects of a known form describe.
#include <cstddef>

#include "tests/bindings/c/support.hpp"

namespace adjit_test {
namespace {

const char kClass = 0, kOther = 0, kFloat = 0, kDouble = 0;

struct Object {
  long references = 1;
  const void* kind = &kClass;
  void* data = nullptr;
  int rank = 0;
  const int64_t* shape = nullptr;
  const int64_t* strides = nullptr;
  const void* dtype = &kFloat;
  int flags = 6;
};

struct Container {
  int64_t count;
  const void* items[2];
};

constexpr int kWritable = 4;

adjit_object_form form() {
  adjit_object_form f{};
  f.struct_size = sizeof f;
  f.kind = offsetof(Object, kind);
  f.data = offsetof(Object, data);
  f.rank = offsetof(Object, rank);
  f.shape = offsetof(Object, shape);
  f.strides = offsetof(Object, strides);
  f.dtype = offsetof(Object, dtype);
  f.flags = offsetof(Object, flags);
  f.writable = kWritable;
  f.count = offsetof(Container, count);
  f.items = offsetof(Container, items);
  f.kind_value = &kClass;
  f.dtype_values[ADJIT_FLOAT32] = &kFloat;
  return f;
}

class ObjectsApi : public testing::Test {
 protected:
  ObjectsApi() {
    for (Object* o : {&in_, &out_}) {
      o->rank = 2;
      o->shape = shape_;
      o->strides = strides_;
    }
    for (size_t k = 0; k < 12; ++k) x_[k] = static_cast<float>(k);
    in_.data = x_;
    out_.data = y_;
  }

  adjit_status run() { return adjit_executable_run_objects(e_.get(), &form_, &ins_, &outs_); }

  void refused(adjit_status status, const char* part) {
    y_[11] = -1;
    EXPECT_FAILURE(run(), status, part);
    EXPECT_EQ(y_[11], -1) << part;
  }

  Context c_ = context();
  Executable e_ = compiled(lowered(c_, square()));
  adjit_object_form form_ = form();
  int64_t shape_[2] = {3, 4}, strides_[2] = {16, 4};
  float x_[24] = {}, y_[24] = {};
  Object in_, out_;
  Container ins_{1, {&in_, nullptr}}, outs_{1, {&out_, nullptr}};
};

TEST_F(ObjectsApi, Runs) {
  ADJIT_OK_OR_FAIL(run());
  for (size_t k = 0; k < 12; ++k) EXPECT_EQ(y_[k], static_cast<float>(k * k + k));
}

TEST_F(ObjectsApi, StridesOfOneElementSayNothing) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {1, 4});
  const Executable e = compiled(lowered(c_, finish(t, {apply(t, "add", {x, x})})));
  shape_[0] = 1;
  strides_[0] = -12345;
  ADJIT_OK_OR_FAIL(adjit_executable_run_objects(e.get(), &form_, &ins_, &outs_));
  EXPECT_EQ(y_[3], 6);
}

TEST_F(ObjectsApi, EmptyArraysMayLieAnyhow) {
  const Trace t = trace();
  const adjit_tensor x = input(t, {0, 4});
  const Executable e = compiled(lowered(c_, finish(t, {apply(t, "add", {x, x})})));
  shape_[0] = 0;
  strides_[1] = 77;
  in_.data = out_.data = nullptr;
  ADJIT_OK_OR_FAIL(adjit_executable_run_objects(e.get(), &form_, &ins_, &outs_));
}

TEST_F(ObjectsApi, ObjectsThatDoNotFitAreRefused) {
  in_.kind = &kOther;
  refused(ADJIT_DTYPE, "input 0 is an object of another kind");
  in_.kind = &kClass;
  out_.dtype = &kDouble;
  refused(ADJIT_DTYPE, "output 0 has another element type");
  out_.dtype = &kFloat;
  in_.rank = 1;
  refused(ADJIT_SHAPE, "input 0 has another shape");
  in_.rank = 2;
  const int64_t other[] = {4, 3};
  in_.shape = other;
  refused(ADJIT_SHAPE, "input 0 has another shape");
  in_.shape = shape_;
  const int64_t far[] = {32, 4};
  out_.strides = far;
  refused(ADJIT_SHAPE, "output 0 has another shape or other strides");
  out_.strides = strides_;
  in_.data = reinterpret_cast<char*>(x_) + 1;
  refused(ADJIT_INVALID, "input 0 is not aligned");
  in_.data = x_;
  in_.data = nullptr;
  refused(ADJIT_INVALID, "input 0 has elements and no data");
  in_.data = x_;
  out_.flags = 2;
  refused(ADJIT_INVALID, "output 0 may not be written");
  out_.flags = kWritable;
  out_.data = x_ + 11;
  refused(ADJIT_INVALID, "output 0 overlaps input 0");
  out_.data = x_ + 12;
  ADJIT_OK_OR_FAIL(run());
  EXPECT_EQ(x_[23], 132);
}

TEST_F(ObjectsApi, ArraysOfATypeThatTheFormLacks) {
  form_.dtype_values[ADJIT_FLOAT32] = nullptr;
  in_.dtype = nullptr;
  refused(ADJIT_DTYPE, "another element type");
}

TEST_F(ObjectsApi, CountsAndNullsAreChecked) {
  ins_.count = 2;
  refused(ADJIT_INVALID, "takes 1 inputs and 1 outputs, not 2 and 1");
  ins_ = {1, {nullptr, nullptr}};
  refused(ADJIT_INVALID, "input 0 is NULL");
  ins_ = {1, {&in_, nullptr}};
  outs_.count = -1;
  refused(ADJIT_INVALID, "not 1 and -1");
  outs_.count = 1;
  form_.struct_size = 4;
  refused(ADJIT_INVALID, "struct_size");
  form_ = form();
  EXPECT_FAILURE(adjit_executable_run_objects(nullptr, &form_, &ins_, &outs_), ADJIT_INVALID,
                 "executable");
  EXPECT_FAILURE(adjit_executable_run_objects(e_.get(), nullptr, &ins_, &outs_), ADJIT_INVALID,
                 "form");
  EXPECT_FAILURE(adjit_executable_run_objects(e_.get(), &form_, nullptr, &outs_), ADJIT_INVALID,
                 "inputs");
  EXPECT_FAILURE(adjit_executable_run_objects(e_.get(), &form_, &ins_, nullptr), ADJIT_INVALID,
                 "outputs");
}

}  // namespace
}  // namespace adjit_test
