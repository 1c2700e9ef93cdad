// runtime/trace/ops/spatial/window.cpp -- sliding windows from attributes.
#include "runtime/trace/ops/spatial/window.hpp"

#include "runtime/process/json.hpp"

namespace adjit::trace {
namespace {

void set_padding(const OperatorCall& call, std::vector<SlidingWindow>& windows) {
  const Json* padding = call.attributes().find("padding");
  if (!padding) return;
  if (padding->is_string()) {
    const std::string mode = padding->get<std::string>();
    if (mode == "valid") return;
    if (mode != "same")
      throw Error(ErrorCode::Invalid,
                  "padding is an int, ints, 'same' or 'valid', not '" + mode + "'");
    for (SlidingWindow& w : windows) {
      if (w.stride != 1)
        throw Error(ErrorCode::Invalid, "padding='same' needs stride 1; give the padding as ints");
      const int64_t total = Exact(w.dilation) * (w.kernel - 1);
      w.before = total / 2;
      w.behind = total - w.before;
    }
    return;
  }
  if (padding->is_array() && !padding->empty() && (*padding)[0].is_array()) {
    if (padding->size() != windows.size())
      throw Error(ErrorCode::Invalid, "padding needs a pair per spatial dimension");
    for (size_t k = 0; k < windows.size(); ++k) {
      const Json& pair = (*padding)[k];
      const bool fits = pair.is_array() && pair.size() == 2;
      const std::optional<int64_t> before = fits ? integer_of(pair[0]) : std::nullopt;
      const std::optional<int64_t> behind = fits ? integer_of(pair[1]) : std::nullopt;
      if (!before || !behind) throw Error(ErrorCode::Invalid, "padding holds pairs of ints");
      windows[k].before = *before;
      windows[k].behind = *behind;
    }
    return;
  }
  const Shape both = call.attributes().repeated("padding", windows.size(), 0);
  for (size_t k = 0; k < windows.size(); ++k) windows[k].before = windows[k].behind = both[k];
}

}  // namespace

std::vector<SlidingWindow> windows_of(const OperatorCall& call, const Shape& inputs,
                                      const Shape& kernels, const Shape& default_strides,
                                      bool ceil_mode) {
  const size_t count = inputs.size();
  const Shape strides = call.attributes().has("stride")
                            ? call.attributes().repeated("stride", count, 1)
                            : default_strides;
  const Shape dilations = call.attributes().repeated("dilation", count, 1);
  std::vector<SlidingWindow> windows(count);
  for (size_t k = 0; k < count; ++k) {
    if (kernels[k] < 1 || strides[k] < 1 || dilations[k] < 1)
      throw Error(ErrorCode::Invalid, "kernel extents, strides and dilations must be at least 1");
    windows[k] = {inputs[k], 0, kernels[k], strides[k], dilations[k], 0, 0};
  }
  set_padding(call, windows);
  for (SlidingWindow& w : windows) {
    if (w.before < 0 || w.behind < 0)
      throw Error(ErrorCode::Invalid, "padding must not be negative");
    const Exact reach =
        Exact(w.dilation) * (w.kernel - 1);  // from a window's first tap to its last
    const Exact room = Exact(w.input) + w.before + w.behind - reach - 1;
    w.output = Exact(ceil_mode ? ceil_div(room, w.stride) : floor_div(room, w.stride)) + 1;
    if (w.output < 1)
      fail_shape(call, "a window of " + std::to_string(w.kernel) + " (dilation " +
                           std::to_string(w.dilation) + ") exceeds the extent " +
                           std::to_string(w.input) + " padded by " + std::to_string(w.before) +
                           " and " + std::to_string(w.behind));
    // A last window that would start in the padding behind does not count.
    if (ceil_mode && Exact(w.output - 1) * w.stride >= w.input + w.before) --w.output;
    static_cast<void>(Exact(w.output) * w.stride + reach);  // every position fits
  }
  return windows;
}

}  // namespace adjit::trace
