// bindings/c/arrays.cpp -- DLPack tensors against what an executable wants.
#include "bindings/c/arrays.hpp"

#include <algorithm>

#include "bindings/c/boundary.hpp"

namespace adjit::c {
namespace {

constexpr uint8_t kBoolCode = 6;  // kDLBool, which older headers lack

std::string name_of_array(const char* role, size_t position) {
  return std::string(role) + " " + std::to_string(position);
}

std::string shape_text(const int64_t* shape, size_t rank) {
  std::string text = "(";
  for (size_t d = 0; d < rank; ++d) text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + (rank == 1 ? ",)" : ")");
}

// Whether the strides of dimensions with more than one element agree; allocates nothing.
bool lies_as(const DLTensor& tensor, const ArraySpec& spec) {
  const size_t rank = spec.shape.size();
  if (std::ranges::find(spec.shape, 0) != spec.shape.end()) return true;
  int64_t row_major = 1;
  for (size_t d = rank; d-- > 0;) {
    const int64_t stride = tensor.strides == nullptr ? row_major : tensor.strides[d];
    if (spec.shape[d] > 1 && stride != spec.strides[d]) return false;
    row_major *= spec.shape[d];
  }
  return true;
}

}  // namespace

DType dtype_of(const DLDataType& type) {
  if (type.lanes == 1) {
    const auto is = [&](int code, int bits) { return type.code == code && type.bits == bits; };
    if (is(kBoolCode, 8)) return DType::Bool;
    if (is(kDLUInt, 8)) return DType::UInt8;
    if (is(kDLUInt, 1)) return DType::Bool;
    if (is(kDLInt, 8)) return DType::Int8;
    if (is(kDLInt, 16)) return DType::Int16;
    if (is(kDLInt, 32)) return DType::Int32;
    if (is(kDLInt, 64)) return DType::Int64;
    if (is(kDLFloat, 16)) return DType::Float16;
    if (is(kDLBfloat, 16)) return DType::BFloat16;
    if (is(kDLFloat, 32)) return DType::Float32;
    if (is(kDLFloat, 64)) return DType::Float64;
  }
  throw Error(ErrorCode::DType,
              "an array has DLPack type {code " + std::to_string(type.code) + ", bits " +
                  std::to_string(type.bits) + ", lanes " + std::to_string(type.lanes) +
                  "}, which adjit does not have; convert it to a bool, integer or float type");
}

DType dtype_of(adjit_dtype dtype) {
  const int number = static_cast<int>(dtype);
  if (number < 0 || number >= kDTypeCount)
    throw Error(ErrorCode::DType, std::to_string(number) + " is not the number of a dtype");
  return static_cast<DType>(number);
}

std::span<const int64_t> shape_of(const DLTensor& tensor) {
  const std::span<const int64_t> shape = elements(tensor.shape, tensor.ndim, "shape");
  for (int64_t extent : shape)
    if (extent < 0)
      throw Error(ErrorCode::Shape, "an array has the negative extent " + std::to_string(extent));
  if (!is_countable(shape)) throw Overflow();
  return shape;
}

TensorLayout layout_of(const DLTensor& tensor) {
  const size_t rank = static_cast<size_t>(tensor.ndim);
  if (tensor.strides == nullptr) return contiguous_layout({tensor.shape, rank});
  TensorLayout layout{{tensor.strides, tensor.strides + rank}};
  // The stride of a dimension of at most one element says nothing: the row-major one keeps keys
  // equal.
  const TensorLayout plain = contiguous_layout({tensor.shape, rank});
  bool empty = false;
  for (size_t d = 0; d < rank; ++d) {
    empty |= tensor.shape[d] == 0;
    if (tensor.shape[d] <= 1) layout.strides[d] = plain.strides[d];
  }
  return empty ? plain : layout;
}

bool lies_on(const DLTensor& tensor, int device) {
  const DLDeviceType type = tensor.device.device_type;
  if (type == kDLCPU) return false;
  const bool cuda = type == kDLCUDA || type == kDLCUDAManaged;
  if (device < 0 || (!cuda && type != kDLCUDAHost))
    throw Error(ErrorCode::Device,
                "an array lies on a device (DLPack type " + std::to_string(static_cast<int>(type)) +
                    "), but this executable runs on " +
                    (device < 0 ? "the CPU: copy it to CPU memory"
                                : "cuda:" + std::to_string(device) + ": copy it there"));
  if (cuda && tensor.device.device_id != device)
    throw Error(ErrorCode::Device,
                "an array lies on cuda:" + std::to_string(tensor.device.device_id) +
                    ", but this executable runs on cuda:" + std::to_string(device) +
                    "; copy it there, or lower for its device");
  return cuda;
}

void* address_of(const DLTensor& tensor) { return address_on(tensor, -1); }

void* address_on(const DLTensor& tensor, int device) {
  static_cast<void>(lies_on(tensor, device));
  const std::span<const int64_t> shape(tensor.shape, static_cast<size_t>(tensor.ndim));
  if (tensor.data == nullptr && std::ranges::find(shape, 0) == shape.end())
    throw Error(ErrorCode::Invalid, "an array with elements has no data: its address is NULL");
  return static_cast<char*>(tensor.data) + tensor.byte_offset;
}

std::span<const bool> Places::on_device() const {
  const std::span<const bool> all(more_ ? more_.get() : few_.data(), count_);
  return std::ranges::find(all, true) == all.end() ? std::span<const bool>() : all;
}

Extent extent_of(const void* first, const ArraySpec& spec) {
  int64_t low = 0, high = 0;
  for (size_t d = 0; d < spec.shape.size(); ++d) {
    if (spec.shape[d] == 0) return {};
    const int64_t reach = (spec.shape[d] - 1) * spec.strides[d];
    (reach < 0 ? low : high) += reach;
  }
  const auto at = reinterpret_cast<uintptr_t>(first);
  const auto size = static_cast<int64_t>(size_of(spec.dtype));
  return {at + static_cast<uintptr_t>(low * size), at + static_cast<uintptr_t>((high + 1) * size)};
}

void require_counts(const ExecutionPlan& plan, int64_t inputs, int64_t outputs) {
  if (inputs == std::ssize(plan.inputs) && outputs == std::ssize(plan.outputs)) return;
  throw Error(ErrorCode::Invalid, "the executable takes " + std::to_string(plan.inputs.size()) +
                                      " inputs and " + std::to_string(plan.outputs.size()) +
                                      " outputs, not " + std::to_string(inputs) + " and " +
                                      std::to_string(outputs));
}

void require_apart(const ExecutionPlan& plan, void* const* inputs, void* const* outputs) {
  struct Placed {
    uintptr_t begin, end;
    size_t number;  // inputs first
  };
  std::vector<Placed> more;
  std::array<Placed, 64> few;  // NOLINT(cppcoreguidelines-pro-type-member-init): written below
  const size_t in = plan.inputs.size(), count = in + plan.outputs.size();
  if (count > few.size()) more.resize(count);
  Placed* const first = more.empty() ? few.data() : more.data();
  Placed* last = first;
  for (size_t k = 0; k < count; ++k) {
    const Extent extent = k < in ? extent_of(inputs[k], plan.inputs[k])
                                 : extent_of(outputs[k - in], plan.outputs[k - in]);
    if (extent.begin != extent.end) *last++ = {extent.begin, extent.end, k};
  }
  std::sort(first, last, [](const Placed& a, const Placed& b) { return a.begin < b.begin; });
  const auto name = [&](const Placed& p) {
    return p.number < in ? "input " + std::to_string(p.number)
                         : "output " + std::to_string(p.number - in);
  };
  const Placed *farthest = nullptr, *farthest_output = nullptr;  // of those that begin before
  for (const Placed* p = first; p != last; ++p) {
    const bool output = p->number >= in;
    const Placed* before = output ? farthest : farthest_output;
    if (before != nullptr && before->end > p->begin)
      throw Error(ErrorCode::Invalid, name(output ? *p : *before) + " overlaps " +
                                          name(output ? *before : *p) +
                                          "; outputs need memory of their own");
    if (farthest == nullptr || p->end > farthest->end) farthest = p;
    if (output && (farthest_output == nullptr || p->end > farthest_output->end))
      farthest_output = p;
  }
}

void check_array(const DLTensor& tensor, const ArraySpec& spec, const char* role, size_t position) {
  const DType dtype = dtype_of(tensor.dtype);
  if (dtype != spec.dtype)
    throw Error(ErrorCode::DType,
                name_of_array(role, position) + " is " + std::string(name_of(dtype)) +
                    ", but the executable was compiled for " + std::string(name_of(spec.dtype)));
  const size_t rank = shape_of(tensor).size();
  if (rank != spec.shape.size() || !std::equal(spec.shape.begin(), spec.shape.end(), tensor.shape))
    throw Error(ErrorCode::Shape, name_of_array(role, position) + " has shape " +
                                      shape_text(tensor.shape, rank) +
                                      ", but the executable was compiled for " +
                                      shape_text(spec.shape.data(), spec.shape.size()));
  if (!lies_as(tensor, spec))
    throw Error(ErrorCode::Shape,
                name_of_array(role, position) +
                    " has other strides than the executable was compiled for (in elements, " +
                    shape_text(spec.strides.data(), rank) +
                    "); lower again with this array, or copy it");
}

}  // namespace adjit::c
