// tests/runtime/trace/operator_examples.cpp -- the table of examples.
#include "tests/runtime/trace/operator_examples.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

using Shape = std::vector<int64_t>;

ExampleInput real(Shape shape, double low = -2, double high = 2) {
  return {DType::Float64, std::move(shape), low, high};
}
ExampleInput whole(Shape shape, double low, double high) {
  return {DType::Int64, std::move(shape), low, high};
}
ExampleInput truth(Shape shape) { return {DType::Bool, std::move(shape), 0, 1}; }

constexpr bool kRough = false;

std::vector<OperatorExample> elementwise() {
  std::vector<OperatorExample> all;
  for (const char* name :
       {"negative", "exp",         "exp2",        "expm1",         "sin",
        "cos",      "sinh",        "cosh",        "tanh",          "asinh",
        "atan",     "sigmoid",     "erf",         "erfc",          "square",
        "positive", "nn.sigmoid",  "nn.tanh",     "nn.gelu",       "nn.silu",
        "nn.mish",  "nn.softplus", "nn.softsign", "nn.logsigmoid", "nn.tanhshrink"})
    all.push_back({name, {real({2, 3})}});
  for (const char* name :
       {"abs", "nn.relu", "nn.relu6", "nn.leaky_relu", "nn.elu", "nn.celu", "nn.selu",
        "nn.hardtanh", "nn.hardsigmoid", "nn.hardswish", "nn.hardshrink", "nn.softshrink"})
    all.push_back({name, {real({2, 3}, 0.1, 0.45)}});
  for (const char* name :
       {"log", "log2", "log10", "log1p", "sqrt", "rsqrt", "reciprocal", "acosh", "lgamma"})
    all.push_back({name, {real({2, 3}, 1.2, 3)}});
  for (const char* name : {"tan", "asin", "acos", "atanh", "erfinv"})
    all.push_back({name, {real({2, 3}, -0.8, 0.8)}});
  for (const char* name : {"sign", "floor", "ceil", "trunc", "round", "isnan", "isinf", "isfinite"})
    all.push_back({name, {real({2, 3})}, "{}", kRough});
  all.push_back({"digamma", {real({2, 3}, 1.2, 3)}, "{}", kRough});
  all.push_back({"logical_not", {truth({4})}, "{}", kRough});
  all.push_back({"bitwise_invert", {whole({4}, -9, 9)}, "{}", kRough});
  all.push_back({"astype", {real({4})}, R"({"dtype": "float32"})", kRough});
  all.push_back({"stop_gradient", {real({4})}, "{}", kRough});
  all.push_back({"nn.gelu", {real({4})}, R"({"approximate": "tanh"})"});
  all.push_back({"nn.threshold", {real({4}, 0.5, 1)}, R"({"threshold": 0.1, "value": 2.0})"});
  all.push_back({"nn.prelu", {real({2, 3, 2}, -1, -0.1), real({3})}});
  all.push_back({"nn.glu", {real({2, 6})}});
  return all;
}

std::vector<OperatorExample> binary() {
  std::vector<OperatorExample> all;
  for (const char* name : {"add", "subtract", "multiply", "logaddexp", "logaddexp2"})
    all.push_back({name, {real({2, 3}), real({3})}});
  for (const char* name : {"divide", "pow", "atan2", "hypot", "xlogy"})
    all.push_back({name, {real({2, 1}, 0.5, 2), real({3}, 0.5, 2)}});
  for (const char* name : {"minimum", "maximum"})
    all.push_back({name, {real({2, 3}, 0, 1), real({3}, 1.5, 2)}});
  for (const char* name : {"remainder", "fmod"})
    all.push_back({name, {real({2, 3}, 1.1, 1.9), real({3}, 1.0, 1.05)}});
  for (const char* name : {"floor_divide", "copysign", "equal", "not_equal", "less", "less_equal",
                           "greater", "greater_equal"})
    all.push_back({name, {real({2, 3}, 1.1, 1.9), real({3}, 1.0, 1.05)}, "{}", kRough});
  for (const char* name : {"logical_and", "logical_or", "logical_xor"})
    all.push_back({name, {truth({2, 3}), truth({3})}, "{}", kRough});
  for (const char* name :
       {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift"})
    all.push_back({name, {whole({2, 3}, 0, 9), whole({3}, 0, 3)}, "{}", kRough});
  all.push_back({"add", {real({2, 3})}, R"({"scalars": [null, 2.5]})"});
  all.push_back({"pow", {real({4}, 0.5, 2)}, R"({"scalars": [null, 2]})"});
  all.push_back({"where", {truth({2, 3}), real({2, 3}), real({3})}});
  all.push_back(
      {"masked_fill", {real({2, 3}), truth({2, 3})}, R"({"scalars": [null, null, 0.5]})"});
  all.push_back({"clip", {real({5}, 0.1, 0.9)}, R"({"scalars": [null, 0.0, 1.0]})"});
  all.push_back({"lerp", {real({2, 3}), real({3}), real({2, 1})}});
  all.push_back({"addcmul", {real({2, 3}), real({3}), real({2, 1})}, R"({"value": 0.5})"});
  return all;
}

std::vector<OperatorExample> reductions() {
  std::vector<OperatorExample> all;
  for (const char* name :
       {"sum", "prod", "max", "min", "mean", "var", "std", "logsumexp", "linalg.vector_norm"})
    all.push_back({name, {real({2, 3, 4}, 0.2, 2)}, R"({"axis": [0, -1]})"});
  all.push_back({"sum", {real({2, 3})}});
  all.push_back({"var", {real({2, 3})}, R"({"axis": 1, "correction": 1.0, "keepdims": true})"});
  for (const char* name : {"any", "all", "count_nonzero"})
    all.push_back({name, {truth({2, 3})}, R"({"axis": 1})", kRough});
  for (const char* name : {"argmax", "argmin"})
    all.push_back({name, {real({2, 3})}, R"({"axis": 1})", kRough});
  for (const char* name : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"})
    all.push_back({name, {real({2, 4}, 0.2, 2)}, R"({"axis": 1})"});
  return all;
}

std::vector<OperatorExample> contractions() {
  return {
      {"matmul", {real({2, 3, 4}), real({4, 2})}},
      {"matmul", {real({3}), real({3})}},
      {"tensordot", {real({2, 3, 4}), real({3, 4, 2})}},
      {"tensordot", {real({2, 3}), real({4, 2})}, R"({"axes": [[0], [1]]})"},
      {"einsum", {real({2, 3}), real({3, 4}), real({4})}, R"({"subscripts": "ij,jk,k->i"})"},
      {"einsum", {real({3, 3})}, R"({"subscripts": "ii->i"})"},
      {"outer", {real({2}), real({3})}},
      {"dot", {real({2, 3}), real({2, 3, 4})}},
      {"vecdot", {real({2, 3}), real({3})}},
      {"nn.linear", {real({2, 3}), real({4, 3}), real({4})}},
      {"nn.bias_add", {real({2, 3, 2}), real({3})}},
  };
}

std::vector<OperatorExample> shapes() {
  return {
      {"reshape", {real({4, 6})}, R"({"shape": [3, -1]})"},
      {"reshape_like", {real({2, 3}), real({3, 2})}},
      {"flatten", {real({2, 3, 2})}, R"({"start_dim": 1})"},
      {"permute_dims", {real({2, 3, 4})}, R"({"axes": [2, 0, 1]})"},
      {"transpose", {real({2, 3})}},
      {"matrix_transpose", {real({2, 3, 4})}},
      {"swapaxes", {real({2, 3, 4})}, R"({"axis1": 0, "axis2": -1})"},
      {"moveaxis", {real({2, 3, 4})}, R"({"source": 0, "destination": 2})"},
      {"expand_dims", {real({2, 3})}, R"({"axis": [0, -1]})"},
      {"squeeze", {real({2, 1, 3})}},
      {"broadcast_to", {real({3, 1})}, R"({"shape": [2, 3, 2]})"},
      {"broadcast_to_like", {real({3, 1}), real({2, 3, 2})}},
      {"broadcast_arrays", {real({3, 1}), real({2})}},
      {"flip", {real({2, 3})}, R"({"axis": 1})"},
      {"roll", {real({2, 5})}, R"({"shift": 2, "axis": 1})"},
      {"roll", {real({2, 3})}, R"({"shift": -1})"},
      {"tile", {real({2, 3})}, R"({"repetitions": [2, 1, 2]})"},
      {"repeat", {real({2, 3})}, R"({"repeats": 2, "axis": 0})"},
      {"nn.pixel_shuffle", {real({1, 8, 2, 3})}, R"({"upscale_factor": 2})"},
      {"nn.pixel_unshuffle", {real({1, 2, 4, 6})}, R"({"downscale_factor": 2})"},
      {"concat", {real({2, 3}), real({1, 3}), real({3, 3})}},
      {"stack", {real({2, 3}), real({2, 3})}, R"({"axis": 1})"},
      {"split", {real({2, 6})}, R"({"sections_or_indices": 3, "axis": 1})"},
      {"unstack", {real({2, 3})}, R"({"axis": 1})"},
      {"meshgrid", {real({2}), real({3})}},
      {"getitem", {real({4, 5, 3})}, R"({"items": [1, [null, null, -2], "newaxis", "..."]})"},
      {"getitem",
       {real({4, 5, 3}), whole({2}, 0, 3), whole({2}, 0, 2)},
       R"({"items": [{"tensor": 0}, [1, 4, null], {"tensor": 1}]})"},
      {"strided_slice", {real({6, 5})}, R"({"starts": [5, 0], "stops": [0, 4], "steps": [-2, 3]})"},
      {"slice_like", {real({4, 5}), real({2, 3})}},
      {"take", {real({4, 5}), whole({2, 3}, 0, 4)}, R"({"axis": 1})"},
      {"take", {real({4, 5})}, R"({"axis": 0, "indices": [0, -1, 2, 2]})"},
      {"take", {real({4}), whole({3}, -9, 9)}, R"({"mode": "clip"})"},
      {"take_along_axis", {real({2, 4}), whole({2, 3}, 0, 3)}, R"({"axis": 1})"},
      {"gather", {real({2, 4}), whole({2, 3}, 0, 3)}, R"({"axis": 1})"},
      {"scatter", {real({2, 4}), whole({2, 1}, 0, 3), real({2, 1})}},
      {"scatter_add", {real({2, 4}), whole({2, 3}, 0, 3), real({2, 3})}},
      {"index_add", {real({4, 2}), whole({3}, 0, 3), real({3, 2})}},
      {"nn.one_hot", {whole({3}, 0, 3)}, R"({"num_classes": 4})", kRough},
      {"pad", {real({2, 3})}, R"({"pad_width": [[1, 2], [0, 1]]})"},
      {"pad", {real({2, 3})}, R"({"pad_width": 1, "constant_values": 2.0})"},
      {"pad", {real({4, 3})}, R"({"pad_width": [[3, 3], [2, 1]], "mode": "reflect"})"},
      {"pad", {real({2, 3})}, R"({"pad_width": 2, "mode": "edge"})"},
      {"pad", {real({2, 3})}, R"({"pad_width": 5, "mode": "symmetric"})"},
      {"pad", {real({2, 3})}, R"({"pad_width": 4, "mode": "wrap"})"},
      {"nn.pad", {real({2, 3})}, R"({"pad": [1, 2], "mode": "replicate"})"},
      {"tril", {real({3, 4})}, R"({"k": 1})"},
      {"triu", {real({2, 3, 3})}, R"({"k": -1})"},
      {"diagonal", {real({3, 4})}, R"({"offset": 1})"},
      {"trace", {real({3, 3})}},
      {"diag_embed", {real({2, 3})}, R"({"offset": -1})"},
      {"zeros", {}, R"({"shape": [2, 3]})", kRough},
      {"ones", {}, R"({"shape": [2], "dtype": "int32"})", kRough},
      {"full", {real({})}, R"({"shape": [2, 3]})"},
      {"full", {}, R"({"shape": [2], "scalars": [1.5]})", kRough},
      {"zeros_like", {real({2, 3})}, "{}", kRough},
      {"ones_like", {real({2, 3})}, "{}", kRough},
      {"full_like", {real({2, 3}), real({})}},
      {"arange", {}, R"({"start": 1, "stop": 8, "step": 2})", kRough},
      {"linspace", {}, R"({"start": 0.0, "stop": 1.0, "num": 5})", kRough},
      {"eye", {}, R"({"n_rows": 3, "n_cols": 4, "k": 1})", kRough},
  };
}

std::vector<OperatorExample> windows() {
  return {
      {"nn.conv1d", {real({2, 2, 7}), real({3, 2, 3}), real({3})}, R"({"padding": 1})"},
      {"nn.conv2d",
       {real({1, 4, 6, 5}), real({2, 2, 3, 2}), real({2})},
       R"({"stride": [2, 1], "padding": [1, 0], "dilation": [1, 2], "groups": 2})"},
      {"nn.conv2d",
       {real({1, 5, 5, 2}), real({3, 2, 3, 3})},
       R"({"padding": "same", "layout": "NHWC"})"},
      {"nn.conv3d", {real({1, 1, 3, 4, 3}), real({2, 1, 2, 2, 2})}},
      {"nn.conv_transpose1d", {real({1, 2, 4}), real({2, 3, 3})}, R"({"stride": 2})"},
      {"nn.conv_transpose2d",
       {real({1, 4, 3, 3}), real({4, 1, 3, 2}), real({2})},
       R"({"stride": 2, "padding": 1, "output_padding": 1, "groups": 2})"},
      {"nn.conv_transpose3d", {real({1, 1, 2, 2, 2}), real({1, 2, 2, 2, 2})}},
      {"nn.max_pool1d", {real({1, 2, 7})}, R"({"kernel_size": 3, "stride": 2, "padding": 1})"},
      {"nn.max_pool2d",
       {real({1, 2, 6, 5})},
       R"({"kernel_size": 2, "stride": 1, "dilation": 2, "ceil_mode": true})"},
      {"nn.max_pool3d", {real({1, 1, 4, 4, 2})}, R"({"kernel_size": 2})"},
      {"nn.avg_pool1d", {real({1, 2, 7})}, R"({"kernel_size": 3, "padding": 1})"},
      {"nn.avg_pool2d",
       {real({1, 2, 5, 5})},
       R"({"kernel_size": 2, "padding": 1, "count_include_pad": false, "ceil_mode": true})"},
      {"nn.avg_pool3d", {real({1, 1, 4, 4, 2})}, R"({"kernel_size": 2})"},
      {"nn.adaptive_avg_pool1d", {real({1, 2, 7})}, R"({"output_size": 3})"},
      {"nn.adaptive_avg_pool2d", {real({1, 1, 6, 5})}, R"({"output_size": [3, 2]})"},
      {"nn.adaptive_max_pool1d", {real({1, 2, 7})}, R"({"output_size": 3})"},
      {"nn.adaptive_max_pool2d", {real({1, 1, 6, 5})}, R"({"output_size": [3, 2]})"},
      {"nn.global_avg_pool", {real({2, 2, 3, 3})}},
      {"nn.global_max_pool", {real({2, 2, 3, 3})}},
      {"image.resize", {real({1, 1, 3, 4})}, R"({"size": [5, 3]})"},
      {"image.resize",
       {real({1, 1, 3, 4})},
       R"({"size": [6, 2], "method": "bicubic", "coordinate_mode": "align_corners"})"},
      {"image.upsample", {real({1, 1, 3, 2})}, R"({"scale_factor": 2})"},
      {"nn.interpolate", {real({1, 1, 3, 4})}, R"({"size": [5, 7], "mode": "nearest-exact"})"},
      {"nn.upsample", {real({1, 2, 3})}, R"({"scale_factor": 2.0, "mode": "linear"})"},
  };
}

std::vector<OperatorExample> networks() {
  const ExampleInput key = whole({2}, 1, 1000000);
  return {
      {"nn.softmax", {real({2, 3})}},
      {"nn.log_softmax", {real({2, 3, 2})}, R"({"axis": 1})"},
      {"nn.softmin", {real({2, 3})}},
      {"nn.batch_norm",
       {real({3, 2, 2}), real({2}), real({2}, 0.5, 2), real({2}), real({2})},
       R"({"training": false})"},
      {"nn.batch_norm",
       {real({3, 2, 2}), real({2})},
       R"({"training": true, "optional": ["weight"]})"},
      {"nn.layer_norm",
       {real({2, 3, 4}), real({3, 4}), real({3, 4})},
       R"({"normalized_shape": [3, 4]})"},
      {"nn.rms_norm", {real({2, 4}), real({4})}, R"({"normalized_shape": [4]})"},
      {"nn.group_norm", {real({2, 4, 3}), real({4}), real({4})}, R"({"num_groups": 2})"},
      {"nn.instance_norm", {real({2, 2, 4})}},
      {"nn.normalize", {real({2, 3}, 0.5, 2)}},
      {"nn.local_response_norm", {real({1, 5, 3})}, R"({"size": 3, "alpha": 0.1})"},
      {"nn.mse_loss", {real({2, 3}), real({2, 3})}},
      {"nn.l1_loss", {real({2, 3}, 1, 2), real({2, 3}, -2, 0)}},
      {"nn.smooth_l1_loss", {real({2, 3}, 0, 0.4), real({2, 3}, 0, 0.4)}, R"({"beta": 0.5})"},
      {"nn.huber_loss", {real({2, 3}, 1, 2), real({2, 3}, -2, -1)}, R"({"reduction": "sum"})"},
      {"nn.binary_cross_entropy", {real({4}, 0.1, 0.9), real({4}, 0.1, 0.9)}},
      {"nn.binary_cross_entropy_with_logits",
       {real({2, 3}), real({2, 3}, 0.1, 0.9), real({3}, 0.5, 2)},
       R"({"optional": ["pos_weight"]})"},
      {"nn.kl_div",
       {real({2, 3}, -2, -0.1), real({2, 3}, 0.1, 0.9)},
       R"({"reduction": "batchmean"})"},
      {"nn.cosine_similarity", {real({2, 3}, 0.5, 2), real({2, 3}, 0.5, 2)}},
      {"nn.cross_entropy", {real({4, 3}), whole({4}, 0, 2), real({3}, 0.5, 2)}},
      {"nn.cross_entropy", {real({2, 3, 2}), whole({2, 2}, 0, 2)}, R"({"label_smoothing": 0.1})"},
      {"nn.cross_entropy", {real({4, 3}), real({4, 3}, 0, 1)}, R"({"reduction": "sum"})"},
      {"nn.nll_loss", {real({4, 3}, -2, -0.1), whole({4}, 0, 2)}, R"({"reduction": "none"})"},
      {"nn.embedding", {whole({2, 3}, 0, 4), real({5, 2})}, R"({"padding_idx": -1})", kRough},
      {"nn.embedding", {whole({2, 3}, 0, 4), real({5, 2})}},
      {"nn.scaled_dot_product_attention",
       {real({2, 4, 3, 2}), real({2, 2, 3, 2}), real({2, 2, 3, 2})},
       R"({"is_causal": true, "enable_gqa": true})"},
      {"nn.scaled_dot_product_attention", {real({3, 2}), real({4, 2}), real({4, 3}), real({3, 4})}},
      {"random.key", {whole({}, 0, 1000)}, "{}", kRough},
      {"random.split", {key}, R"({"num": 3})", kRough},
      {"random.bits", {key}, R"({"shape": [2, 3]})", kRough},
      {"random.uniform", {key}, R"({"shape": [2, 3], "dtype": "float64"})", kRough},
      {"random.normal", {key}, R"({"shape": [4]})", kRough},
      {"random.bernoulli", {key}, R"({"shape": [4], "p": 0.3})", kRough},
      {"nn.dropout", {real({2, 3}), key}, R"({"p": 0.25})"},
  };
}

}  // namespace

const std::vector<OperatorExample>& operator_examples() {
  static const std::vector<OperatorExample> kAll = [] {
    std::vector<OperatorExample> all;
    for (const auto& family :
         {elementwise(), binary(), reductions(), contractions(), shapes(), windows(), networks()})
      all.insert(all.end(), family.begin(), family.end());
    return all;
  }();
  return kAll;
}

}  // namespace adjit::testing
