// jit/engine/export/math.cpp -- the same loops as jit/cpu/math_symbols.cpp, over libm.
#include "jit/engine/export/math.hpp"

#include <algorithm>
#include <string_view>

#include "jit/cpu/math_symbols.hpp"
#include "runtime/expr/error.hpp"

namespace adjit::engine {
namespace {

struct Row {
  std::string_view name, type, value;
};
// Values of v[k]; the float ones as math_symbols.cpp computes them.
constexpr Row kRows[] = {
    {"adjit_math_lgamma_f32", "float", "(float)lgamma_r((double)v[k], &sign)"},
    {"adjit_math_lgamma_f64", "double", "lgamma_r(v[k], &sign)"},
    {"adjit_math_fmod_f32", "float", "fmodf(v[k], v[count + k])"},
    {"adjit_math_fmod_f64", "double", "fmod(v[k], v[count + k])"},
    {"adjit_math_remainder_f32", "float", "floored_rest_f32(v[k], v[count + k])"},
    {"adjit_math_remainder_f64", "double", "floored_rest_f64(v[k], v[count + k])"},
    {"adjit_math_sin_f32", "float", "sinf(v[k])"},
    {"adjit_math_sin_f64", "double", "sin(v[k])"},
    {"adjit_math_cos_f32", "float", "cosf(v[k])"},
    {"adjit_math_cos_f64", "double", "cos(v[k])"},
    {"adjit_math_tan_f32", "float", "tanf(v[k])"},
    {"adjit_math_tan_f64", "double", "tan(v[k])"},
};

// runtime/expr/floored_division.hpp in C.
constexpr std::string_view kFlooredRests =
    "static inline float floored_rest_f32(float a, float b) {\n"
    "  const float rest = fmodf(a, b);\n"
    "  if (rest == 0) return copysignf(rest, b);\n"
    "  return (rest < 0) != (b < 0) ? rest + b : rest;\n}\n"
    "static inline double floored_rest_f64(double a, double b) {\n"
    "  const double rest = fmod(a, b);\n"
    "  if (rest == 0) return copysign(rest, b);\n"
    "  return (rest < 0) != (b < 0) ? rest + b : rest;\n}\n";

// An object names what it calls in its table of strings.
bool names(const std::vector<char>& object, std::string_view symbol) {
  const std::string whole = std::string(1, '\0') + std::string(symbol) + '\0';
  return std::search(object.begin(), object.end(), whole.begin(), whole.end()) != object.end();
}

std::string definition(std::string_view symbol, const std::string& function) {
  const Row* row = std::ranges::find(kRows, symbol, &Row::name);
  if (row == std::end(kRows))
    throw Error(ErrorCode::Compile, "export: '" + function + "' calls " + std::string(symbol) +
                                        ", which only adjit itself has; leave the operation out of "
                                        "what is exported (digamma, polygamma, erfinv; the "
                                        "gradient of lgamma is a digamma)");
  const std::string type(row->type);
  return "HIDDEN __attribute__((weak)) void " + std::string(symbol) + "(" + type +
         "* v, int64_t count) {\n  int sign = 0;\n  (void)sign;\n"
         "  const unsigned int mode = __builtin_ia32_stmxcsr();\n  __builtin_ia32_ldmxcsr(" +
         std::to_string(static_cast<uint32_t>(FloatMode::KeepSubnormals)) +
         ");\n  for (int64_t k = 0; k < count; ++k) v[k] = " + std::string(row->value) +
         ";\n  __builtin_ia32_ldmxcsr(mode);\n}\n";
}

}  // namespace

std::string exported_math(std::span<const ExportedFunction> functions) {
  std::string text = "extern double lgamma_r(double, int*);\n" + std::string(kFlooredRests);
  for (const RuntimeSymbol& symbol : runtime_symbols()) {
    const std::string_view name = symbol.name;
    if (!name.starts_with("adjit_math_")) continue;
    const auto user = std::ranges::find_if(functions, [&](const ExportedFunction& f) {
      return std::ranges::any_of(f.objects,
                                 [&](const auto& object) { return names(object, name); });
    });
    if (user != functions.end()) text += definition(name, user->name);
  }
  return text;
}

}  // namespace adjit::engine
