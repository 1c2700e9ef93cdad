// tests/bindings/cpp/computation_test.cpp -- every handle from trace to run, transformations.
#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>

#include "tests/bindings/cpp/support.hpp"

namespace adjit_test {
namespace {

using adjit::Array;
using adjit::Computation;
using adjit::ConstView;
using adjit::DType;
using adjit::Executable;
using adjit::Shape;
using adjit::Tensor;
using adjit::Trace;
using adjit::View;

/// sum((a @ b)^2) of (3, 4) and (4, 5).
Computation matmul_loss() {
  const Trace t("loss");
  const Tensor a = t.input("a", DType::Float64, {3, 4}), b = t.input("b", DType::Float64, {4, 5});
  const Tensor c = matmul(a, b);
  return t.finish({sum(c * c)});
}

TEST(Computations, GradientOfAMatmul) {
  const std::vector<double> a = random_numbers(12, 1), b = random_numbers(20, 2);
  expect_slopes(matmul_loss(), {a, b});
  // And in closed form: 2 c b^T.
  const std::vector<Array> d = matmul_loss()
                                   .gradient({0}, 0, true)
                                   .compile(context())(ConstView(a, {3, 4}), ConstView(b, {4, 5}));
  double loss = 0;
  for (size_t i = 0; i < 3; ++i)
    for (size_t k = 0; k < 4; ++k) {
      double wanted = 0;
      for (size_t j = 0; j < 5; ++j) {
        double c = 0;
        for (size_t r = 0; r < 4; ++r) c += a[i * 4 + r] * b[r * 5 + j];
        wanted += 2 * c * b[k * 5 + j];
        if (k == 0) loss += c * c;
      }
      EXPECT_NEAR(d[1].elements<double>()[i * 4 + k], wanted, 1e-12);
    }
  EXPECT_NEAR(d[0].item<double>(), loss, 1e-12);
}

TEST(Computations, DescribeThemselves) {
  const Computation f = matmul_loss();
  const std::vector<adjit::TensorSpec> in = f.inputs(), out = f.outputs();
  ASSERT_EQ(in.size(), 2u);
  EXPECT_EQ(in[1].name, "b");
  EXPECT_EQ(in[1].shape, (Shape{4, 5}));
  EXPECT_EQ(in[1].dtype, DType::Float64);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].shape, Shape());
  EXPECT_NE(f.text().find("def loss"), std::string::npos) << f.text();
  EXPECT_NE(f.stages().find("\"iterations\""), std::string::npos);
}

TEST(Computations, VjpJvpAndPartitionAgree) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float64, {4});
  const Computation f = t.finish({exp(x) * sin(x)});
  const std::vector<double> at = random_numbers(4, 3), v = random_numbers(4, 4);
  const ConstView point(at, {4}), direction(v, {4});
  const auto forward = f.jvp({0}).compile(context())(point, direction);
  const auto reverse = f.vjp({0}, {0}, true).compile(context())(point, direction);
  ASSERT_EQ(reverse.size(), 2u);
  const auto [front, back] = f.vjp({0}, {0}, true).partition(1, 1);
  std::vector<Array> kept = front.compile(context())(point);
  std::vector<ConstView> operands(kept.begin() + 1, kept.end());
  operands.push_back(direction);
  const auto split = back.compile(context()).call(operands);
  for (size_t k = 0; k < 4; ++k) {
    const double wanted = v[k] * std::exp(at[k]) * (std::sin(at[k]) + std::cos(at[k]));
    EXPECT_NEAR(forward[0].elements<double>()[k], wanted, 1e-12);
    EXPECT_NEAR(reverse[1].elements<double>()[k], wanted, 1e-12);
    EXPECT_NEAR(split[0].elements<double>()[k], wanted, 1e-12);
    EXPECT_NEAR(kept[0].elements<double>()[k], std::exp(at[k]) * std::sin(at[k]), 1e-12);
  }
}

TEST(Computations, BatchesOverSomeInputs) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float32, {3}), w = t.input("w", DType::Float32, {3});
  const Computation f = t.finish({sum(x * w)});
  const Array many = Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Array one = Array::of<float>({3}, {1, 0, 2});
  const auto got = f.vmap({0, std::nullopt}, 2, {0}).compile(context())(many, one);
  EXPECT_EQ(got[0].elements<float>()[0], 7);
  EXPECT_EQ(got[0].elements<float>()[1], 16);
}

TEST(Computations, HessianIsForwardOverReverse) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float64, {3});
  const Computation slope = t.finish({sum(x * x * x)}).gradient({0});
  const Array at = Array::of<double>({3}, {1, 2, 3}), v = Array::of<double>({3}, {1, 1, -1});
  const auto got = slope.jvp({0}).compile(context())(at, v);
  EXPECT_EQ(got[0].elements<double>()[1], 12);
  EXPECT_EQ(got[0].elements<double>()[2], -18);
}

TEST(LoweredComputations, ShowAndReplayTheirSchedule) {
  const adjit::Lowered low = matmul_loss().lower(context(), {}, {.title = "shown"});
  EXPECT_NE(low.text().find("loss"), std::string::npos);
  EXPECT_NE(low.stages().find("\"flops\""), std::string::npos);
  EXPECT_FALSE(low.schedule().empty());
  const adjit::Lowered again =
      matmul_loss().lower(context(), {}, {.schedule_json = low.schedule_json()});
  EXPECT_EQ(again.schedule(), low.schedule());
  EXPECT_ERROR(matmul_loss().lower(context(), {}, {.target = "cuda"}), adjit::DeviceError, "cuda");
  EXPECT_ERROR(matmul_loss().lower(context(), {}, {.schedule_json = "no"}).compile(),
               adjit::ScheduleError, "");
}

TEST(Executables, RunIntoTheCallersMemoryFromAnyStrides) {
  const Trace t;
  const Tensor x = t.input("x", DType::Float32, {2, 3});
  const Computation f = t.finish({x * 2.0, sum(x)});
  const std::vector<float> column_major{1, 4, 2, 5, 3, 6};
  const ConstView view(column_major, {2, 3}, {1, 2});
  const Executable run = f.compile(context(), {view});
  std::vector<float> doubled(6), total(1);
  run.run({view}, {View(doubled, {2, 3}), View(total, {})});
  EXPECT_EQ(doubled, (std::vector<float>{2, 4, 6, 8, 10, 12}));
  EXPECT_EQ(total[0], 21);

  const void* in[] = {column_major.data()};
  float again[6], sum_again = 0;
  void* out[] = {again, &sum_again};
  run.run_raw(in, out);
  EXPECT_EQ(again[5], 12);

  EXPECT_ERROR(run.run({ConstView(column_major, {2, 3})}, {View(doubled, {2, 3}), View(total, {})}),
               adjit::ShapeError, "strides");
  EXPECT_ERROR(run.run({view}, {View(doubled, {2, 3})}), adjit::InvalidError, "2 outputs");
  EXPECT_ERROR(run.run({view}, {View(doubled, {2, 3}), View(doubled, {})}), adjit::InvalidError,
               "overlaps");
  const std::vector<double> wide(6);
  EXPECT_ERROR(run(ConstView(wide, {2, 3})), adjit::DTypeError, "float64");
}

TEST(Executables, LookInside) {
  const Executable e = matmul_loss().compile(context());
  EXPECT_NE(e.report().find("\"cache\""), std::string::npos);
  EXPECT_NE(e.llvm().find("define"), std::string::npos);
  EXPECT_FALSE(e.assembly().empty());
  const Array a(DType::Float64, {3, 4}), b(DType::Float64, {4, 5});
  Array out(DType::Float64, {});
  EXPECT_NE(e.profile({a, b}, {out}, 2).find("\"microseconds\""), std::string::npos);
}

TEST(Executables, OutliveEverythingTheyCameFrom) {
  auto made = std::make_unique<Executable>([] {
    const adjit::Context own({.threads = 1, .cache_mode = "off"});
    return matmul_loss().lower(own).compile();
  }());
  const Executable copy = *made;
  made.reset();
  const Array a = Array::of<double>({3, 4}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  const Array b(DType::Float64, {4, 5});
  EXPECT_EQ(copy(a, b)[0].item<double>(), 0);
}

TEST(LoweredComputations, AreExported) {
  std::string folder = (std::filesystem::temp_directory_path() / "adjit-cpp-XXXXXX").string();
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  const adjit::Lowered low = matmul_loss().lower(context());
  adjit::export_library("made", {{"loss", low}}, folder);
  void* library = dlopen((folder + "/libmade.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  using Loss = int (*)(const double*, const double*, double*);
  const auto loss = reinterpret_cast<Loss>(dlsym(library, "loss"));
  ASSERT_NE(loss, nullptr);
  const std::vector<double> a = random_numbers(12, 1), b = random_numbers(20, 2);
  double got = 0;
  EXPECT_EQ(loss(a.data(), b.data(), &got), 0);
  const adjit::Executable here = low.compile();
  EXPECT_EQ(got, here(ConstView(a, {3, 4}), ConstView(b, {4, 5}))[0].item<double>());
  EXPECT_ERROR(adjit::export_library("no name", {{"loss", low}}, folder), adjit::InvalidError,
               "no name");
  dlclose(library);
  std::filesystem::remove_all(folder);
}

TEST(Contexts, TellAboutThemselvesAndLogIntoAFunction) {
  std::vector<std::string> lines;
  std::mutex mutex;
  {
    const adjit::Context own(
        {.threads = 3, .cache_mode = "off", .log = [&](adjit_log_level, std::string_view line) {
           const std::lock_guard lock(mutex);
           lines.emplace_back(line);
           throw std::runtime_error("dropped");
         }});
    EXPECT_NE(own.info().find("\"threads\":3"), std::string::npos) << own.info();
    matmul_loss().compile(own);
    own.flush();
  }
  EXPECT_FALSE(lines.empty());
  EXPECT_FALSE(adjit::version().empty());
  EXPECT_ERROR(adjit::Context({.cache_mode = "sometimes"}), adjit::Error, "sometimes");
}

TEST(Contexts, MayWatchForNaNs) {
  const Trace t("watched");
  const Tensor x = t.input("x", DType::Float32, {2, 2});
  const int line = __LINE__ + 1;
  const Tensor y = sqrt(x - 1.0);
  const Computation f = t.finish({sum(y)});
  const Array fine = Array::of<float>({2, 2}, {1, 2, 3, 4});
  const Array low = Array::of<float>({2, 2}, {1, 2, 0.5, 4});
  const adjit::Context watching({.cache_mode = "off", .check_nan = true});
  const Executable run = f.compile(watching);
  EXPECT_GT(run(fine)[0].item<float>(), 0);
  EXPECT_ERROR(run(low), adjit::InvalidError,
               "computation_test.cpp:" + std::to_string(line) + " (sqrt)");
  EXPECT_ERROR(run(low), adjit::InvalidError, "i0 = 1, i1 = 0");
  EXPECT_TRUE(std::isnan(f.compile(context())(low)[0].item<float>()));
  // The environment counts where the option is silent.
  setenv("ADJIT_CHECK_NAN", "1", 1);
  EXPECT_ERROR(f.compile(adjit::Context({.cache_mode = "off"}))(low), adjit::InvalidError, "sqrt");
  EXPECT_TRUE(std::isnan(
      f.compile(adjit::Context({.cache_mode = "off", .check_nan = false}))(low)[0].item<float>()));
  setenv("ADJIT_CHECK_NAN", "maybe", 1);
  EXPECT_ERROR(adjit::Context(), adjit::InvalidError, "maybe");
  unsetenv("ADJIT_CHECK_NAN");
}

TEST(Contexts, SubnormalNumbersCountAsZerosUnlessKept) {
  EXPECT_NE(adjit::Context({.cache_mode = "off"}).info().find("\"subnormals\":\"flush\""),
            std::string::npos);
  EXPECT_NE(adjit::Context({.cache_mode = "off", .keep_subnormals = true}).info().find("\"keep\""),
            std::string::npos);
}

TEST(TextModules, InstantiateAndShowMistakes) {
  const adjit::TextModule m(
      "def total(float(N) x, float() s) -> (y) { y() +=! s() * x(i) * x(i) }");
  EXPECT_NE(m.definitions().find("\"total\""), std::string::npos);
  const Computation f = m.instantiate("total", {{.shape = {3}}, {.shape = {}}});
  const Array x = Array::of<float>({3}, {1, 2, 3}), s = Array::of<float>({}, {2});
  EXPECT_EQ(f.compile(context())(x, s)[0].item<float>(), 28);
  EXPECT_ERROR(adjit::TextModule("def f(", "my.tc"), adjit::ParseError, "my.tc:1");
  EXPECT_ERROR(m.instantiate("mean", {}), adjit::Error, "mean");
}

}  // namespace
}  // namespace adjit_test
