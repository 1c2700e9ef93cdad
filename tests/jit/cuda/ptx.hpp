// tests/jit/cuda/ptx.hpp -- a kernel as PTX.
#pragma once

namespace adjit::cuda {

/// x[k] += x[k] for the k of a block that are less than n.
inline constexpr const char* kPtx = R"(
.version 7.0
.target sm_80
.address_size 64
.visible .entry twice(.param .u64 x, .param .u32 n)
{
  .reg .u64 %rd<4>;
  .reg .u32 %r<3>;
  .reg .f32 %f<3>;
  .reg .pred %p;
  ld.param.u64 %rd1, [x];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  setp.ge.u32 %p, %r2, %r1;
  @%p ret;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd3, %rd1, %rd2;
  ld.global.f32 %f1, [%rd3];
  add.f32 %f2, %f1, %f1;
  st.global.f32 [%rd3], %f2;
  ret;
}
)";

}  // namespace adjit::cuda
