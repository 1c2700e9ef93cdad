// bindings/c/objects.cpp -- running on arrays that are objects of a known form.
#include <algorithm>
#include <cstring>

#include "bindings/c/arrays.hpp"
#include "bindings/c/boundary.hpp"
#include "bindings/c/handles.hpp"

namespace adjit::c {
namespace {

template <class T>
T field(const void* object, ptrdiff_t offset) {
  T value;
  std::memcpy(static_cast<void*>(&value), static_cast<const char*>(object) + offset, sizeof value);
  return value;
}

// Whether an object's array has this shape, and these strides where there is more than one element.
bool lies_as(const adjit_object_form& form, const void* object, const ArraySpec& spec) {
  const size_t rank = spec.shape.size();
  if (field<int>(object, form.rank) != static_cast<int>(rank)) return false;
  const auto* shape = field<const int64_t*>(object, form.shape);
  if (!std::equal(spec.shape.begin(), spec.shape.end(), shape)) return false;
  if (std::ranges::find(spec.shape, 0) != spec.shape.end()) return true;
  const auto* strides = field<const int64_t*>(object, form.strides);
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  for (size_t d = 0; d < rank; ++d)
    if (spec.shape[d] > 1 && strides[d] != spec.strides[d] * size) return false;
  return true;
}

// The address of element 0, once the object is one that the specification fits.
void* checked_address(const adjit_object_form& form, const void* object, const ArraySpec& spec,
                      const char* role, size_t position) {
  const auto refuse = [&](ErrorCode code, const char* why) {
    return Error(code, std::string(role) + " " + std::to_string(position) + " " + why);
  };
  if (object == nullptr) throw refuse(ErrorCode::Invalid, "is NULL");
  if (field<const void*>(object, form.kind) != form.kind_value)
    throw refuse(ErrorCode::DType, "is an object of another kind than the form says");
  const void* const dtype = form.dtype_values[static_cast<size_t>(spec.dtype)];
  if (dtype == nullptr || field<const void*>(object, form.dtype) != dtype)
    throw refuse(ErrorCode::DType, "has another element type than the executable was compiled for");
  if (!lies_as(form, object, spec))
    throw refuse(ErrorCode::Shape,
                 "has another shape or other strides than the executable was compiled for; lower "
                 "again with this array, or copy it");
  auto* const address = field<void*>(object, form.data);
  if (address == nullptr && std::ranges::find(spec.shape, 0) == spec.shape.end())
    throw refuse(ErrorCode::Invalid, "has elements and no data");
  if (reinterpret_cast<uintptr_t>(address) % size_of(spec.dtype) != 0)
    throw refuse(ErrorCode::Invalid, "is not aligned to the size of its elements; copy it");
  return address;
}

// A container's objects.
class Container {
 public:
  Container(const adjit_object_form& form, const void* container, const char* name)
      : count_(field<int64_t>(&required(static_cast<const char*>(container), name), form.count)),
        items_(static_cast<const char*>(container) + form.items) {}
  int64_t count() const { return count_; }
  const void* operator[](size_t k) const {
    return field<const void*>(items_, static_cast<ptrdiff_t>(k * sizeof(void*)));
  }

 private:
  int64_t count_;
  const char* items_;
};

}  // namespace
}  // namespace adjit::c

using namespace adjit::c;  // NOLINT

extern "C" {

adjit_status adjit_executable_run_objects(adjit_executable* executable,
                                          const adjit_object_form* form, const void* inputs,
                                          const void* outputs) {
  return status_of([&] {
    adjit::engine::Executable& e = *required(executable, "executable").executable;
    const adjit_object_form& given = required(form, "form");
    if (given.struct_size < sizeof given)
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                               "struct_size of the form is not set");
    const adjit::engine::ExecutionPlan& plan = e.plan();
    const Container of_inputs(given, inputs, "inputs"), of_outputs(given, outputs, "outputs");
    require_counts(plan, of_inputs.count(), of_outputs.count());
    Addresses in(plan.inputs.size()), out(plan.outputs.size());
    for (size_t k = 0; k < plan.inputs.size(); ++k)
      in.data()[k] = checked_address(given, of_inputs[k], plan.inputs[k], "input", k);
    for (size_t k = 0; k < plan.outputs.size(); ++k) {
      out.data()[k] = checked_address(given, of_outputs[k], plan.outputs[k], "output", k);
      if ((field<int>(of_outputs[k], given.flags) & given.writable) != given.writable)
        throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                                 "output " + std::to_string(k) + " may not be written");
    }
    require_apart(plan, in.data(), out.data());
    e.run(in.data(), out.data(), {.cancel = executable->engine->options().cancel});
  });
}

}  // extern "C"
