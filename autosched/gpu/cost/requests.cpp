// autosched/gpu/cost/requests.cpp -- what the threads of a kernel ask of a GPU.
#include "autosched/gpu/cost/requests.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "autosched/gpu/cost/reuse.hpp"
#include "autosched/gpu/cost/thread_work.hpp"
#include "autosched/program/nests.hpp"
#include "autosched/program/shared_memory.hpp"
#include "autosched/program/threads.hpp"

namespace adjit::sched {
namespace {

constexpr double kAddressOperations = 2;     // of an access whose place no unrolled loop gives
constexpr double kLoopOperations = 2;        // of an iteration: count, compare and branch
constexpr double kBankBytes = 4;             // of shared memory, whose 32 banks serve at once
constexpr double kOwnCacheBytes = 28 << 10;  // that are no shared memory, whatever blocks take
// A load that L1 serves takes about 30 cycles, one from memory about 650 ns (measured).
constexpr double kOwnWait = 0.03;

// Tensors in buffers that the threads of a block share.
void add_shared(const Program& program, const Nest& nest, RunBy by, std::set<uint32_t>& shared) {
  if (by == RunBy::Block)
    for (TensorId id : program.graph.stages[nest.stage].results)
      if (program.scopes[id.value] == Scope::Local) shared.insert(id.value);
  for (const Nest::Attached& attached : nest.attached)
    add_shared(program, attached.nest, attached_run_by(by, nest, attached.depth), shared);
}

// Registers of 32 bits.
double words_of(size_t bytes) { return static_cast<double>((bytes + 3) / 4); }

class Counter {
 public:
  Counter(const Program& program, size_t kernel, const GpuMachine& machine)
      : program_(program),
        kernel_(program.kernels[kernel]),
        machine_(machine),
        placed_(placed_nests(program, kernel_)) {
    add_shared(program, kernel_.root, root_run_by(kernel_), shared_);
    for (const PlacedNest& nest : placed_)
      nests_.push_back({&nest, roles_of(nest.path, is_block_kernel(kernel_))});
  }

  Requests operator()() {
    count_threads();
    const Reuse reuse(nests_);
    const double shared = static_cast<double>(shared_bytes(program_, kernel_)) * resident_blocks_;
    const double cache = std::max(
        kOwnCacheBytes, static_cast<double>(machine_.shared_bytes) + kOwnCacheBytes - shared);
    const std::vector<double> sectors = reuse.sectors_below_l1(cache / resident_blocks_);
    for (size_t n = 0; n < nests_.size(); ++n) add(nests_[n], sectors[n]);
    for (const auto& [tensor, bytes] : stored_) asked_.bytes += bytes;
    const double read = reuse.bytes_below_l2(resident_blocks_ * machine_.multiprocessors,
                                             static_cast<double>(machine_.l2_bytes));
    asked_.bytes += std::max(read, touched());
    return asked_;
  }

 private:
  void count_threads() {
    const int64_t tasks = task_count(kernel_.root) / tasks_in_turn(program_, kernel_.root);
    const bool in_blocks = is_block_kernel(kernel_);
    const double of_block =
        static_cast<double>(in_blocks ? block_threads(kernel_) : kFlatBlockThreads);
    asked_.threads = std::max(1.0, static_cast<double>(tasks) * (in_blocks ? of_block : 1));
    asked_.blocks = std::ceil(asked_.threads / of_block);
    double registers = 0;
    for (const PlacedNest& nest : placed_)
      registers = std::max(registers, registers_of(program_, nest));
    double blocks = std::min<double>(machine_.threads, machine_.registers / registers) / of_block;
    if (const int64_t shared = shared_bytes(program_, kernel_); shared > 0)
      blocks = std::min(blocks, static_cast<double>(machine_.shared_bytes / shared));
    blocks = std::min(blocks, std::ceil(asked_.blocks / machine_.multiprocessors));
    resident_blocks_ = std::max(1.0, std::floor(blocks));
    asked_.resident = resident_blocks_ * of_block;
  }

  void add(const NestRoles& nest, double sectors) {
    const PlacedNest& placed = *nest.nest;
    const Stage& stage = program_.graph.stages[placed.nest->stage];
    // Each point of a scatter writes.
    const size_t results =
        stage.kind == StageKind::Scatter ? stage.domain.rank() : stage.domain.output_rank;
    asked_.instructions += operations_of(program_.graph, nest) + loop_operations(nest);
    double steps = 0;  // of warps, in which one reads
    for (const Walk& walk : placed.walks) steps = std::max(steps, add_access(nest, walk, results));
    asked_.sectors += sectors;
    if (steps == 0) return;
    // A warp goes on when all that it reads in a step is there.
    asked_.waits +=
        steps_of(placed) * (kOwnWait + std::min(1.0, sectors / steps)) / steps_at_once(placed);
  }

  // The assembler unrolls short loops, up to four times, and moves their loads together: a guess.
  static double steps_at_once(const PlacedNest& placed) {
    constexpr double kInstances = 16, kMost = 4;
    double instances = 1;
    for (const Loop& loop : std::span(placed.path).subspan(placed.first))
      if (in_tile(loop)) instances *= static_cast<double>(loop.trips);
    return std::clamp(kInstances / instances, 1.0, kMost);
  }

  static double loop_operations(const NestRoles& nest) {
    double iterations = 1;
    bool any = false;
    for (const RoleOfLoop& role : nest.roles) {
      const Loop& loop = nest.nest->path[role.loop];
      if (in_tile(loop)) continue;
      iterations *= role.trips;
      any = any || (loop.kind == LoopKind::Serial && role.loop >= nest.nest->first);
    }
    return any ? kLoopOperations * iterations : 0;
  }

  // How many steps of warps a read is in.
  double add_access(const NestRoles& nest, const Walk& walk, size_t results) {
    const bool shared = walk.local && shared_.contains(walk.tensor.value);
    if (walk.local && !shared) return 0;  // in registers
    const Access access = access_of(nest, walk, results, shared);
    const double requests = access.executions / access.warp;
    asked_.instructions += access.executions * (1 + kAddressOperations / access.unrolled);
    if (shared) {
      const double words = pieces_of_warp(walk, nest, access.wide, kBankBytes);
      asked_.access_cycles += requests * std::max(1.0, words / kWarpThreads);
      return 0;
    }
    asked_.access_cycles += requests * pieces_of_warp(walk, nest, access.wide, kCacheLine);
    if (!walk.store) return requests / access.unrolled;
    asked_.sectors += requests * pieces_of_warp(walk, nest, access.wide, kSectorBytes);
    double& bytes = stored_[walk.tensor.value];
    bytes = std::max(bytes, std::min(walk.most_bytes, access.executions * access.bytes));
    return 0;
  }

  struct Access {
    double executions = 1;     // of all threads
    double warp = 1;           // threads of a warp that take part
    double unrolled = 1;       // executions that have one address between them
    double bytes = 0;          // of one execution
    std::vector<size_t> wide;  // loops whose iterations are one execution
  };

  // Whether all loops but this one move an access by multiples of so many bytes.
  static bool begins_even(const NestRoles& nest, const Walk& walk, size_t loop, double bytes) {
    const auto even = [&](double value) { return std::fmod(value, bytes) == 0; };
    return even(walk.offset) && std::ranges::all_of(nest.roles, [&](const RoleOfLoop& role) {
             const Stride& stride = walk.strides[role.loop];
             return role.loop == loop || (!stride.data && stride.even && even(stride.bytes));
           });
  }

  Access access_of(const NestRoles& nest, const Walk& walk, size_t results, bool shared) const {
    const std::vector<Loop>& path = nest.nest->path;
    const size_t end = end_of_moves(walk);
    Access access;
    access.bytes = walk.element_bytes;
    // What follows each other is one access: of lanes always, of unrolled instances where it is
    // known that 16 bytes, or as many as it takes, divide the first one's address.
    for (size_t r = nest.roles.size(); r-- > 0;) {
      const RoleOfLoop& role = nest.roles[r];
      const Stride& stride = walk.strides[role.loop];
      const bool follows = !stride.data && std::abs(stride.bytes) == walk.element_bytes;
      const bool may = role.role == Role::Lane ||
                       (path[role.loop].kind == LoopKind::Unrolled && !walk.store &&
                        access.bytes * role.trips <= kAccessBits / 8 &&
                        (shared || begins_even(nest, walk, role.loop, access.bytes * role.trips)));
      if (!follows || !may) continue;
      access.wide.push_back(role.loop);
      access.bytes *= role.trips;
    }
    // Unrolled instances share what they all read.
    std::vector<size_t> instances;
    for (const RoleOfLoop& role : nest.roles) {
      const size_t l = role.loop;
      const bool alone = role.role == Role::Step || role.role == Role::Lane;
      if (std::ranges::find(access.wide, l) != access.wide.end() || (alone && l >= end)) continue;
      // A thread stores a sum once, one for all that have added it up.
      if (walk.store && l >= nest.nest->first && path[l].axis >= results) continue;
      if (role.role == Role::Lane || path[l].kind == LoopKind::Unrolled) {
        if (moves(walk.strides[l])) instances.push_back(l);
        continue;
      }
      access.executions *= role.trips;
      if (role.role == Role::Warp) access.warp *= role.trips;
    }
    access.unrolled = pieces_of_loops(walk, nest, instances, walk.element_bytes);
    access.executions *= access.unrolled;
    return access;
  }

  // Bytes that are read at all: what several nests read, once, and nothing of what they store.
  double touched() const {
    std::map<uint32_t, double> most;  // by tensor
    for (const PlacedNest& placed : placed_) {
      double points = 1;
      for (const Loop& loop : placed.path) points *= static_cast<double>(loop.trips);
      std::map<uint32_t, double> here;
      for (const Walk& walk : placed.walks) {
        if (walk.local || walk.store || stored_.contains(walk.tensor.value)) continue;
        double& bytes = here[walk.tensor.value];
        bytes = std::min(walk.most_bytes, bytes + points * walk.element_bytes);
      }
      for (const auto& [tensor, bytes] : here) most[tensor] = std::max(most[tensor], bytes);
    }
    double bytes = 0;
    for (const auto& [tensor, read] : most) bytes += read;
    return bytes;
  }

  // How often a thread waits for what it reads: not where that is at hand in its block, and of what
  // is loaded ahead, all at once, for one of several iterations.
  static double steps_of(const PlacedNest& placed) {
    const Nest& nest = *placed.nest;
    const size_t count = nest.buffers > 1 ? placed.first : placed.path.size();
    double steps = 1;
    for (const Loop& loop : std::span(placed.path).first(count))
      if (loop.kind == LoopKind::Serial) steps *= static_cast<double>(loop.trips);
    return nest.buffers > 1 ? steps / static_cast<double>(nest.buffers - 1) : steps;
  }

  const Program& program_;
  const Kernel& kernel_;
  const GpuMachine& machine_;
  std::vector<PlacedNest> placed_;
  std::vector<NestRoles> nests_;
  std::set<uint32_t> shared_;
  double resident_blocks_ = 1;
  Requests asked_;
  std::map<uint32_t, double> stored_;  // bytes, by tensor
};

}  // namespace

double registers_of(const Program& program, const PlacedNest& placed) {
  const Stage& stage = program.graph.stages[placed.nest->stage];
  const std::span<const Loop> own = std::span(placed.path).subspan(placed.first);
  double accumulators = 0;
  for (TensorId id : stage.results)
    accumulators += words_of(size_of(accumulator_of(program.graph.info(id).dtype)));
  for (const Loop& loop : own)
    if (in_tile(loop) && loop.axis < stage.domain.output_rank)
      accumulators *= static_cast<double>(loop.trips);
  double loaded = 0;
  for (const Walk& walk : placed.walks) {
    if (walk.store) continue;
    double words = words_of(static_cast<size_t>(walk.element_bytes));
    for (size_t l = 0; l < own.size(); ++l)
      if (in_tile(own[l]) && moves(walk.strides[placed.first + l]))
        words *= static_cast<double>(own[l].trips);
    loaded += words;
  }
  return kRestOfRegisters + accumulators + std::min(loaded, accumulators + kRestOfRegisters);
}

double registers_for(const GpuMachine& machine, int64_t blocks, int64_t threads) {
  constexpr int64_t kTogether = 8;
  const int64_t warps = std::max<int64_t>(1, blocks * ceil_div(threads, kWarpThreads));
  const int64_t each = machine.registers / (warps * kWarpThreads) / kTogether * kTogether;
  return std::min(kMostRegisters, static_cast<double>(each));
}

Requests requests_of(const Program& program, size_t kernel, const GpuMachine& machine) {
  return Counter(program, kernel, machine)();
}

}  // namespace adjit::sched
