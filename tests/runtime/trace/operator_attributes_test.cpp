// tests/runtime/trace/operator_attributes_test.cpp -- every attribute of every operator with values
// that no program should have: a result or an error of the user's, in time and memory.
#include <gtest/gtest.h>

#include <algorithm>
#include <ctime>

#include "runtime/diff/reverse/reverse.hpp"
#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/signature.hpp"
#include "tests/rooms.hpp"
#include "tests/runtime/trace/operator_examples.hpp"
#include "tests/runtime/trace/traced_call.hpp"

namespace adjit::testing {
namespace {

// Numbers where products, negatives and roundings leave their types, and values of other types.
std::vector<Json> hostile_values() {
  std::vector<Json> values;
  for (const int64_t n :
       {int64_t{0}, int64_t{-1}, int64_t{1}, int64_t{3}, int64_t{1} << 20, int64_t{1} << 31,
        int64_t{1} << 32, (int64_t{1} << 32) + 1, int64_t{3037000500},  // its square is above 2^63
        int64_t{1} << 61, int64_t{1} << 62, INT64_MAX - 1, INT64_MAX, INT64_MIN, INT64_MIN + 1})
    values.emplace_back(n);
  values.emplace_back(UINT64_MAX);
  for (const double x : {0.0, -0.5, 1e-300, 1.5, 1e19, -1e300}) values.emplace_back(x);
  for (const char* text : {"nan", "inf", "-inf", "", "float32", "same", "reflect"})
    values.emplace_back(text);
  values.emplace_back(true);
  values.emplace_back(Json::array());
  values.emplace_back(Json::object());
  values.emplace_back(Json::object({{"tensor", -1}}));
  return values;
}

// The value, lists and pairs of it, and what the example has with one element replaced.
std::vector<Json> variants(const Json& value, const Json* usual) {
  std::vector<Json> all{value, Json::array({value}), Json::array({value, value}),
                        Json::array({Json::array({value, value}), Json::array({value, value})})};
  if (usual != nullptr && usual->is_array())
    for (size_t k = 0; k < usual->size(); ++k) {
      Json changed = *usual;
      changed[k] = value;
      all.push_back(std::move(changed));
    }
  return all;
}

double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Traces the example with these attributes, and derives what came out of it.
void trace_and_derive(const OperatorExample& example, const Json& attributes) {
  Trace trace("call");
  std::vector<TensorId> inputs;
  for (const ExampleInput& input : example.inputs)
    inputs.push_back(add_input(trace, "x", input.dtype, input.shape));
  std::vector<TensorId> results = find_operator(example.name).trace(trace, inputs, attributes);
  if (results.size() > 8) results.resize(8);
  const Graph graph = trace.finish(results);
  ReverseOptions options;
  for (size_t k = 0; k < graph.inputs.size(); ++k)
    if (is_float(graph.info(graph.inputs[k]).dtype)) options.wrt.push_back(k);
  for (size_t k = 0; k < graph.outputs.size(); ++k)
    if (is_float(graph.info(graph.outputs[k]).dtype)) options.outputs.push_back(k);
  if (!options.wrt.empty() && !options.outputs.empty()) vjp(graph, options);
}

void expect_result_or_error(const OperatorExample& example, const Json& attributes) {
  constexpr double kMostSeconds = 5;  // milliseconds without sanitizers
  const double begin = thread_seconds();
  try {
    trace_and_derive(example, attributes);
  } catch (const Error& e) {
    EXPECT_NE(e.code(), ErrorCode::Internal)
        << example.name << " " << attributes.dump() << ": " << e.what();
    EXPECT_NE(std::string(e.what()), "") << example.name << " " << attributes.dump();
  } catch (const std::exception& e) {
    ADD_FAILURE() << example.name << " " << attributes.dump() << ": " << e.what();
  }
  EXPECT_LT(thread_seconds() - begin, kMostSeconds) << example.name << " " << attributes.dump();
}

class OperatorAttributes : public ::testing::TestWithParam<size_t> {};

TEST_P(OperatorAttributes, GiveAResultOrAnError) {
  const OperatorExample& example = operator_examples()[GetParam()];
  const Json usual = Json::parse(example.attributes);
  std::vector<std::string> names{"scalars", "optional"};
  for (std::string_view name : parse_signature(find_operator(example.name).signature).attributes)
    names.emplace_back(name.substr(0, name.find('=')));
  for (const std::string& name : names)
    for (const Json& value : hostile_values()) {
      const auto at = usual.find(name);
      for (Json& variant : variants(value, at == usual.end() ? nullptr : &*at)) {
        Json attributes = usual;
        attributes[name] = std::move(variant);
        expect_result_or_error(example, attributes);
      }
    }
}

std::vector<size_t> examples() {
  std::vector<size_t> numbers;
  for (size_t k = 0; k < operator_examples().size(); ++k) numbers.push_back(k);
  return numbers;
}

std::string example_name(const ::testing::TestParamInfo<size_t>& info) {
  std::string name(operator_examples()[info.param].name);
  std::ranges::replace(name, '.', '_');
  return name + "_" + std::to_string(info.param);
}

INSTANTIATE_TEST_SUITE_P(Examples, OperatorAttributes, ::testing::ValuesIn(examples()),
                         example_name);

ErrorCode code_of(std::string_view name, const std::vector<Array>& inputs, const char* attributes) {
  try {
    trace_call(name, inputs, attributes);
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode{};
}

// Sizes that cannot be are errors of shapes, before anything is built.
TEST(OperatorAttribute, ImpossibleSizesAreShapeErrors) {
  const Array image = Array::zeros(DType::Float32, {1, 4, 1, 4});
  const Array line = Array::zeros(DType::Float32, {1, 8});
  const Array kernel = Array::zeros(DType::Float32, {4, 1, 2, 2});
  for (const auto& [name, attributes] : std::vector<std::pair<const char*, const char*>>{
           {"nn.pixel_shuffle", R"({"upscale_factor": 4294967296})"},
           {"nn.pixel_unshuffle", R"({"downscale_factor": 4294967296})"},
           {"tile", R"({"repetitions": [4611686018427387904, 1, 1, 1]})"},
           {"repeat", R"({"repeats": 9223372036854775807})"},
           {"broadcast_to", R"({"shape": [4611686018427387905, 4, 1, 4]})"},
           {"nn.adaptive_max_pool2d", R"({"output_size": 4611686018427387904})"},
           {"nn.interpolate", R"({"scale_factor": 1e300})"},
           {"pad", R"({"pad_width": 9223372036854775807})"},
           {"diag_embed", R"({"offset": -9223372036854775808})"},
           {"nn.local_response_norm", R"({"size": 9223372036854775807})"}})
    EXPECT_EQ(code_of(name, {image}, attributes), ErrorCode::Shape) << name;
  EXPECT_EQ(code_of("nn.conv_transpose2d", {image, kernel}, R"({"stride": 9223372036854775807})"),
            ErrorCode::Shape);
  EXPECT_EQ(code_of("nn.adaptive_avg_pool1d", {line}, R"({"output_size": 4611686018427387904})"),
            ErrorCode::Shape);
  EXPECT_EQ(code_of("arange", {}, R"({"start": 0, "stop": 1e300})"), ErrorCode::Shape);
  EXPECT_EQ(code_of("zeros", {}, R"({"shape": [0, 4611686018427387904, 4]})"), ErrorCode::Shape);
  EXPECT_EQ(code_of("full", {kernel}, R"({"shape": [3]})"), ErrorCode::Shape);
}

// The longest window by its closed form against all windows.
TEST(OperatorAttribute, AdaptivePoolsOfManyOutputsAreTracedAtOnce) {
  for (int64_t input = 1; input <= 12; ++input)
    for (int64_t output = 1; output <= 14; ++output) {
      int64_t longest = 0;
      for (int64_t i = 0; i < output; ++i)
        longest =
            std::max(longest, ceil_div((i + 1) * input, output) - floor_div(i * input, output));
      const Graph graph =
          trace_call("nn.adaptive_max_pool1d", {Array::zeros(DType::Float64, {1, input})},
                     R"({"output_size": )" + std::to_string(output) + "}");
      EXPECT_EQ(graph.stages[0].domain.extents.back(), longest) << input << " to " << output;
    }
  const double begin = thread_seconds();
  const Graph graph = trace_call("nn.adaptive_avg_pool1d", {Array::zeros(DType::Float32, {2, 8})},
                                 R"({"output_size": 2147483648})");
  EXPECT_EQ(graph.info(graph.outputs[0]).shape, (std::vector<int64_t>{2, int64_t{1} << 31}));
  EXPECT_LT(thread_seconds() - begin, 1);
}

// Mirrored paddings far wider than the tensor are one stage of few terms.
TEST(OperatorAttribute, WidePaddingsMirrorManyTimes) {
  for (const char* mode : {"reflect", "symmetric", "wrap"})
    for (int64_t extent : {2, 3, 5}) {
      const std::vector<int64_t> widths{extent * 23 + 1, extent * 31 + 2};
      std::vector<double> line;
      for (int64_t k = 0; k < extent; ++k) line.push_back(static_cast<double>(k * k));
      std::vector<double> wanted;
      const int64_t period = std::string_view(mode) == "reflect" ? 2 * extent - 2
                             : std::string_view(mode) == "wrap"  ? extent
                                                                 : 2 * extent;
      for (int64_t i = -widths[0]; i < extent + widths[1]; ++i) {
        const int64_t at = floor_mod(i, period);
        const int64_t back = std::string_view(mode) == "reflect" ? period - at : period - 1 - at;
        wanted.push_back(line[static_cast<size_t>(at < extent ? at : back)]);
      }
      const std::string attributes = R"({"pad_width": [)" + std::to_string(widths[0]) + ", " +
                                     std::to_string(widths[1]) + R"(], "mode": ")" + mode + "\"}";
      expect_near(run("pad", {f64({extent}, line)}, attributes), wanted, 0, mode);
    }
  const double begin = thread_seconds();
  trace_call("pad", {Array::zeros(DType::Float32, {3})},
             R"({"pad_width": 1099511627776, "mode": "reflect"})");
  EXPECT_LT(thread_seconds() - begin, 1);
}

// Integers beyond 64 bits are no attributes, and floats as operands.
TEST(OperatorAttribute, IntegersBeyondInt64DoNotWrap) {
  EXPECT_EQ(code_of("zeros", {}, R"({"shape": [18446744073709551615]})"), ErrorCode::Invalid);
  EXPECT_EQ(code_of("getitem", {f64({3}, {1, 2, 3})}, R"({"items": [18446744073709551615]})"),
            ErrorCode::Invalid);
  expect_near(run("add", {f64({1}, {1})}, R"({"scalars": [null, 9223372036854775808]})"),
              Values{0x1p63 + 1});
}

}  // namespace
}  // namespace adjit::testing
