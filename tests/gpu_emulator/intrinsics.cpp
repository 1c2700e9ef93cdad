// tests/gpu_emulator/intrinsics.cpp -- what NVVM's intrinsics do, as functions of the host.
#include "tests/gpu_emulator/intrinsics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>

#include "tests/gpu_emulator/running.hpp"

namespace adjit::tests {
namespace {

using Steps = const WarpStep* const*;

int32_t thread() { return Running::now().block().thread(); }
int32_t threads() { return Running::now().launch().threads; }
int32_t block() { return Running::now().block_number(); }
int32_t blocks() { return Running::now().launch().blocks; }
int32_t lane() { return thread() % kWarpThreads; }
int32_t zero() { return 0; }
int32_t one() { return 1; }
int32_t warp_threads() { return kWarpThreads; }

void block_barrier() { Running::now().block().wait_for_block(__builtin_return_address(0)); }
void warp_barrier(uint32_t mask) {
  Running::now().block().step_with_warp(
      {.place = __builtin_return_address(0), .mask = mask, .orders_memory = true});
}

// PTX ISA, "shfl.sync": which lane's value a lane gets. `argument` is the distance or lane, and
// `clamp` (the segment's mask above bit 8, the last lane below it) above bit 8 of it.
enum class Shuffle { Up, Down, Butterfly, Index };
template <Shuffle kind>
uint64_t shuffled(Steps steps, int lane) {
  const uint32_t b = steps[lane]->argument & 0x1f, c = steps[lane]->argument >> 8;
  const int segment = static_cast<int>(c >> 8 & 0x1f), clamp = static_cast<int>(c & 0x1f);
  const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
  const int wanted = kind == Shuffle::Up          ? lane - static_cast<int>(b)
                     : kind == Shuffle::Down      ? lane + static_cast<int>(b)
                     : kind == Shuffle::Butterfly ? lane ^ static_cast<int>(b)
                                                  : first | (static_cast<int>(b) & ~segment);
  const bool inside = kind == Shuffle::Up ? wanted >= last : wanted <= last;
  const int from = inside ? wanted : lane;
  return steps[from] != nullptr ? steps[from]->value : 0xffffffff;  // of no lane: anything
}
template <Shuffle kind>
int32_t shuffle(uint32_t mask, int32_t value, int32_t b, int32_t c) {
  return static_cast<int32_t>(Running::now().block().step_with_warp(
      {.place = __builtin_return_address(0),
       .mask = mask,
       .value = static_cast<uint32_t>(value),
       .argument = (static_cast<uint32_t>(b) & 0x1f) | static_cast<uint32_t>(c) << 8,
       .combine = shuffled<kind>}));
}
template <Shuffle kind>
float shuffle_float(uint32_t mask, float value, int32_t b, int32_t c) {
  return std::bit_cast<float>(static_cast<uint32_t>(Running::now().block().step_with_warp(
      {.place = __builtin_return_address(0),
       .mask = mask,
       .value = std::bit_cast<uint32_t>(value),
       .argument = (static_cast<uint32_t>(b) & 0x1f) | static_cast<uint32_t>(c) << 8,
       .combine = shuffled<kind>})));
}

uint64_t ballot_of(Steps steps, int) {
  uint64_t bits = 0;
  for (int k = 0; k < kWarpThreads; ++k)
    if (steps[k] != nullptr && steps[k]->value != 0) bits |= uint64_t{1} << k;
  return bits;
}
uint64_t any_of(Steps steps, int lane) { return ballot_of(steps, lane) != 0 ? 1 : 0; }
uint64_t all_of(Steps steps, int lane) {
  return ballot_of(steps, lane) == steps[lane]->mask ? 1 : 0;
}
uint64_t match_of(Steps steps, int lane) {
  uint64_t bits = 0;
  for (int k = 0; k < kWarpThreads; ++k)
    if (steps[k] != nullptr && steps[k]->value == steps[lane]->value) bits |= uint64_t{1} << k;
  return bits;
}
uint64_t vote(const void* place, uint32_t mask, uint64_t value, WarpStep::Combine combine) {
  return Running::now().block().step_with_warp(
      {.place = place, .mask = mask, .value = value, .combine = combine});
}
// Of an i1 parameter only the lowest bit is told.
int32_t ballot(uint32_t mask, uint8_t value) {
  return static_cast<int32_t>(vote(__builtin_return_address(0), mask, value & 1, ballot_of));
}
bool any(uint32_t mask, uint8_t value) {
  return vote(__builtin_return_address(0), mask, value & 1, any_of) != 0;
}
bool all(uint32_t mask, uint8_t value) {
  return vote(__builtin_return_address(0), mask, value & 1, all_of) != 0;
}
int32_t match(uint32_t mask, int32_t value) {
  return static_cast<int32_t>(
      vote(__builtin_return_address(0), mask, static_cast<uint32_t>(value), match_of));
}

template <size_t bytes>
void copy(void* to, const void* from) {
  Running::now().begin_copy(to, from, bytes, 0);
}
template <size_t bytes>
void copy_some(void* to, const void* from, uint32_t read) {
  const size_t some = std::min<size_t>(read, bytes);
  Running::now().begin_copy(to, from, some, bytes - some);
}
void commit() { Running::now().commit_copies(); }
void wait_group(int32_t left) { Running::now().wait_for_copies(static_cast<size_t>(left)); }
void wait_all() {
  Running::now().commit_copies();
  Running::now().wait_for_copies(0);
}

// PTX ISA, "cvt": too large or too small a number becomes the last integer, NaN of a float as a
// 32-bit integer 0, else the one whose highest bit alone is set.
template <typename To, typename From>
To truncated(From x) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(x)) return sizeof(To) == 4 && sizeof(From) == 4 ? 0 : Limits::min();
  if (x >= -static_cast<From>(Limits::min())) return Limits::max();
  return x <= static_cast<From>(Limits::min()) ? Limits::min() : static_cast<To>(x);
}

float reciprocal_root(float x) { return 1 / std::sqrt(x); }
float power_of_two(float x) { return std::exp2(x); }
float reciprocal(float x) { return 1 / x; }

template <typename Function>
const void* address(Function* function) {
  return reinterpret_cast<const void*>(function);
}

}  // namespace

const void* intrinsic_of_host(const std::string& name) {
  static const std::map<std::string, const void*> known = {
      {"read.ptx.sreg.tid.x", address(thread)},
      {"read.ptx.sreg.tid.y", address(zero)},
      {"read.ptx.sreg.tid.z", address(zero)},
      {"read.ptx.sreg.ntid.x", address(threads)},
      {"read.ptx.sreg.ntid.y", address(one)},
      {"read.ptx.sreg.ntid.z", address(one)},
      {"read.ptx.sreg.ctaid.x", address(block)},
      {"read.ptx.sreg.ctaid.y", address(zero)},
      {"read.ptx.sreg.ctaid.z", address(zero)},
      {"read.ptx.sreg.nctaid.x", address(blocks)},
      {"read.ptx.sreg.nctaid.y", address(one)},
      {"read.ptx.sreg.nctaid.z", address(one)},
      {"read.ptx.sreg.laneid", address(lane)},
      {"read.ptx.sreg.warpsize", address(warp_threads)},
      {"barrier0", address(block_barrier)},
      {"bar.warp.sync", address(warp_barrier)},
      {"shfl.sync.up.i32", address(shuffle<Shuffle::Up>)},
      {"shfl.sync.down.i32", address(shuffle<Shuffle::Down>)},
      {"shfl.sync.bfly.i32", address(shuffle<Shuffle::Butterfly>)},
      {"shfl.sync.idx.i32", address(shuffle<Shuffle::Index>)},
      {"shfl.sync.up.f32", address(shuffle_float<Shuffle::Up>)},
      {"shfl.sync.down.f32", address(shuffle_float<Shuffle::Down>)},
      {"shfl.sync.bfly.f32", address(shuffle_float<Shuffle::Butterfly>)},
      {"shfl.sync.idx.f32", address(shuffle_float<Shuffle::Index>)},
      {"vote.ballot.sync", address(ballot)},
      {"vote.any.sync", address(any)},
      {"vote.all.sync", address(all)},
      {"match.any.sync.i32", address(match)},
      {"cp.async.ca.shared.global.4", address(copy<4>)},
      {"cp.async.ca.shared.global.8", address(copy<8>)},
      {"cp.async.ca.shared.global.16", address(copy<16>)},
      {"cp.async.cg.shared.global.16", address(copy<16>)},
      {"cp.async.ca.shared.global.4.s", address(copy_some<4>)},
      {"cp.async.ca.shared.global.8.s", address(copy_some<8>)},
      {"cp.async.ca.shared.global.16.s", address(copy_some<16>)},
      {"cp.async.cg.shared.global.16.s", address(copy_some<16>)},
      {"cp.async.commit.group", address(commit)},
      {"cp.async.wait.group", address(wait_group)},
      {"cp.async.wait.all", address(wait_all)},
      {"f2i.rz", address(truncated<int32_t, float>)},
      {"f2ll.rz", address(truncated<int64_t, float>)},
      {"d2i.rz", address(truncated<int32_t, double>)},
      {"d2ll.rz", address(truncated<int64_t, double>)},
      {"rsqrt.approx.f", address(reciprocal_root)},
      {"ex2.approx.f", address(power_of_two)},
      {"rcp.rn.f", address(reciprocal)},
  };
  const auto found = known.find(name);
  return found != known.end() ? found->second : nullptr;
}

}  // namespace adjit::tests
