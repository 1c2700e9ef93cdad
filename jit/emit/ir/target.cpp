// jit/emit/ir/target.cpp -- LLVM's feature strings, and what GPUs have.
#include "jit/emit/ir/target.hpp"

#include <array>
#include <utility>

namespace adjit::emit {

TargetFeatures from_feature_string(std::string_view features) {
  TargetFeatures f;
  const std::array<std::pair<std::string_view, bool*>, 8> known{{{"sse4.1", &f.sse41},
                                                                 {"avx2", &f.avx2},
                                                                 {"fma", &f.fma},
                                                                 {"f16c", &f.f16c},
                                                                 {"avx512f", &f.avx512f},
                                                                 {"avx512vl", &f.avx512vl},
                                                                 {"avx512dq", &f.avx512dq},
                                                                 {"avx512bf16", &f.avx512bf16}}};
  while (!features.empty()) {
    const size_t comma = features.find(',');
    const std::string_view item = features.substr(0, comma);
    features.remove_prefix(comma == std::string_view::npos ? features.size() : comma + 1);
    if (item.size() < 2 || (item[0] != '+' && item[0] != '-')) continue;
    for (const auto& [name, flag] : known)
      if (item.substr(1) == name) *flag = item[0] == '+';
  }
  f.avx2 = f.avx2 && f.sse41;
  f.fma = f.fma && f.sse41;
  f.f16c = f.f16c && f.sse41;
  f.avx512f = f.avx512f && f.avx2 && f.fma && f.f16c;
  f.avx512vl = f.avx512vl && f.avx512f;
  f.avx512dq = f.avx512dq && f.avx512f;
  f.avx512bf16 = f.avx512bf16 && f.avx512f;
  f.vector_bits = f.avx512f ? 512 : f.avx2 ? 256 : 128;
  return f;
}

TargetFeatures gpu_features(bool flushes_subnormals) {
  TargetFeatures f;
  f.sse41 = f.fma = f.f16c = f.gpu = true;
  f.has_library = false;
  f.flushes_subnormals = flushes_subnormals;
  return f;
}

}  // namespace adjit::emit
