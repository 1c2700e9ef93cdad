// tests/jit/engine/export/math_test.cpp -- functions of the process, written in C: the same values.
#include "jit/engine/export/math.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string_view>

#include "jit/cpu/math_symbols.hpp"
#include "runtime/expr/error.hpp"
#include "tests/jit/engine/export/export_folder.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

/// A function whose object names these symbols in its table of strings.
ExportedFunction calling(const char* name, std::initializer_list<std::string_view> symbols) {
  ExportedFunction f;
  f.name = name;
  std::vector<char> object{'c', 'o', 'd', 'e', 0};
  for (std::string_view symbol : symbols) {
    object.insert(object.end(), symbol.begin(), symbol.end());
    object.push_back(0);
  }
  f.objects = {{}, object};
  return f;
}

std::string math_of(std::initializer_list<std::string_view> symbols) {
  const ExportedFunction f = calling("f", symbols);
  return exported_math({&f, 1});
}

bool defines(const std::string& text, const std::string& symbol) {
  return text.find(" void " + symbol + "(") != std::string::npos;
}

TEST(ExportMath, DefinesWhatAnObjectNamesAndNothingElse) {
  const std::string text = math_of({"adjit_math_sin_f32", "memcpy"});
  EXPECT_TRUE(defines(text, "adjit_math_sin_f32"));
  for (const char* other : {"adjit_math_sin_f64", "adjit_math_cos_f32", "memcpy"})
    EXPECT_FALSE(defines(text, other)) << other;
}

TEST(ExportMath, APartOfALongerNameIsNoName) {
  EXPECT_FALSE(
      defines(math_of({"xadjit_math_sin_f32", "adjit_math_sin_f32x"}), "adjit_math_sin_f32"));
}

TEST(ExportMath, FunctionsOfSeveralObjectsAreDefinedOnce) {
  const ExportedFunction functions[] = {calling("f", {"adjit_math_sin_f32"}),
                                        calling("g", {"adjit_math_sin_f32"})};
  const std::string text = exported_math(functions);
  const size_t first = text.find(" void adjit_math_sin_f32(");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(text.find(" void adjit_math_sin_f32(", first + 1), std::string::npos);
}

TEST(ExportMath, WhatTheCLibraryLacksIsRefusedByTheNameOfItsUser) {
  for (const char* symbol :
       {"adjit_math_digamma_f32", "adjit_math_polygamma_f64", "adjit_math_erfinv_f64"}) {
    try {
      math_of({symbol});
      ADD_FAILURE() << symbol;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::Compile);
      EXPECT_NE(std::string_view(error.what()).find("'f' calls " + std::string(symbol)),
                std::string_view::npos)
          << error.what();
    }
  }
}

template <class T>
void expect_same_values(const char* name, void* ours, void* exported) {
  using Function = void (*)(T*, int64_t);
  using Limits = std::numeric_limits<T>;
  const std::vector<T> x{0,
                         -T(0),
                         1,
                         -1,
                         T(0.3),
                         T(-2.5),
                         7,
                         T(1e9),
                         T(-1e9),
                         Limits::min() / 4,
                         Limits::infinity(),
                         Limits::quiet_NaN()};
  // All pairs: of functions of one operand the first half counts.
  std::vector<T> a;
  for (T first : x)
    for (size_t k = 0; k < x.size(); ++k) a.push_back(first);
  for (size_t k = 0; k < x.size(); ++k) a.insert(a.end(), x.begin(), x.end());
  std::vector<T> b = a;
  const auto count = static_cast<int64_t>(a.size() / 2);
  reinterpret_cast<Function>(ours)(a.data(), count);
  reinterpret_cast<Function>(exported)(b.data(), count);
  for (size_t k = 0; k < a.size() / 2; ++k) {
    if (std::isnan(a[k]) && std::isnan(b[k])) continue;
    EXPECT_TRUE(a[k] == b[k] && std::signbit(a[k]) == std::signbit(b[k]))
        << name << ", value " << k << ": " << a[k] << ", exported " << b[k];
  }
}

TEST(ExportMath, ValuesAreThoseOfTheProcess) {
  std::vector<RuntimeSymbol> exported;
  ExportedFunction f = calling("f", {});
  for (const RuntimeSymbol& symbol : runtime_symbols()) {
    const std::string_view name = symbol.name;
    if (!name.starts_with("adjit_math_") || name.find("gamma_") != std::string_view::npos)
      if (name.find("_lgamma_") == std::string_view::npos) continue;
    if (name.find("erfinv") != std::string_view::npos) continue;
    exported.push_back(symbol);
    f.objects[1].insert(f.objects[1].end(), name.begin(), name.end());
    f.objects[1].push_back(0);
  }
  EXPECT_EQ(exported.size(), 12u);
  const ExportFolder folder;
  const std::string c = folder.path / "math.c", library = folder.path / "libmath.so";
  std::ofstream(c) << "#include <math.h>\n#include <stdint.h>\n#define HIDDEN\n"
                   << exported_math({&f, 1});
  ASSERT_EQ(
      std::system(
          ("cc -std=c11 -Wall -Werror -O2 -fPIC -shared -o " + library + " " + c + " -lm").c_str()),
      0);
  void* loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(loaded, nullptr) << dlerror();
  for (const RuntimeSymbol& symbol : exported) {
    void* function = dlsym(loaded, symbol.name);
    ASSERT_NE(function, nullptr) << symbol.name;
    std::string_view(symbol.name).ends_with("f32")
        ? expect_same_values<float>(symbol.name, symbol.address, function)
        : expect_same_values<double>(symbol.name, symbol.address, function);
  }
  dlclose(loaded);
}

}  // namespace
}  // namespace adjit::testing
