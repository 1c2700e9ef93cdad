// tests/gpu_emulator/running.cpp -- a launch in progress: what its threads do to memory.
#include "tests/gpu_emulator/running.hpp"

#include <algorithm>
#include <cstring>

namespace adjit::tests {
namespace {

constexpr uintptr_t kSector = 32;
constexpr size_t kBankBytes = 4, kBanks = 32;
constexpr size_t kNoInstruction = SIZE_MAX;

thread_local Running* the_running = nullptr;

// 32-bit words of shared memory by bank: a bank gives one word at a time, to all who want it.
// Accesses of more than 4 bytes are served in so many parts of the warp, lanes in their order.
int64_t conflicts_of(const std::map<int, std::pair<uintptr_t, size_t>>& lanes) {
  std::map<std::pair<size_t, uintptr_t>, std::set<uintptr_t>> words;  // by part and bank
  std::map<size_t, size_t> passes;                                    // by part
  for (const auto& [lane, access] : lanes) {
    const auto& [address, bytes] = access;
    const size_t part =
        static_cast<size_t>(lane) * std::max(bytes, kBankBytes) / kBanks / kBankBytes;
    for (uintptr_t word = address / kBankBytes; word <= (address + bytes - 1) / kBankBytes;
         ++word) {
      std::set<uintptr_t>& of_bank = words[{part, word % kBanks}];
      of_bank.insert(word);
      passes[part] = std::max(passes[part], of_bank.size());
    }
  }
  int64_t conflicts = 0;
  for (const auto& [part, count] : passes) conflicts += static_cast<int64_t>(count) - 1;
  return conflicts;
}

// Ascending, and one where they meet.
void merge(std::vector<Span>& spans) {
  std::ranges::sort(spans, {}, &Span::begin);
  size_t kept = 0;
  for (const Span& span : spans)
    if (kept > 0 && span.begin <= spans[kept - 1].end)
      spans[kept - 1].end = std::max(spans[kept - 1].end, span.end);
    else
      spans[kept++] = span;
  spans.resize(kept);
}

}  // namespace

Running::Running(const HostModule& module, std::span<const DeviceArray> arrays,
                 const Launch& launch, std::span<std::byte> shared)
    : module_(module), arrays_(arrays.begin(), arrays.end()), launch_(launch), shared_(shared) {
  the_running = this;
}

Running::~Running() { the_running = nullptr; }

Running& Running::now() { return *the_running; }

bool Running::run_block(int number, uint64_t seed, const std::function<void()>& kernel) {
  number_ = number;
  std::memset(shared_.data(), 0xff, shared_.size());  // NaN
  shadow_.forget(reinterpret_cast<uintptr_t>(shared_.data()), shared_.size());
  times_.clear();
  requests_.clear();
  copies_.clear();
  Block block(launch_.threads, seed, [&](int) { kernel(); });
  block_ = &block;
  if (const std::string why = block.run(); !why.empty()) {
    fault("wait", kNoInstruction, why);
    lost_ = true;
  }
  report_.barriers += block.barriers();
  count_requests();
  const auto waits = [](const std::vector<Copy>& group) { return !group.empty(); };
  for (const auto& [thread, copies] : copies_)
    if (!lost_ && (waits(copies.open) || std::ranges::any_of(copies.groups, waits)))
      fault("copy", kNoInstruction, "an asynchronous copy that nobody waits for");
  block_ = nullptr;
  return !lost_;
}

Moment Running::moment() const {
  return {number_, block_->thread(), block_->barriers(), block_->warp_barriers()};
}

bool Running::is_shared(uintptr_t address) const {
  const auto begin = reinterpret_cast<uintptr_t>(shared_.data());
  return address >= begin && address < begin + shared_.size();
}

void Running::fault(const std::string& kind, size_t instruction, const std::string& text) {
  if (!told_.emplace(kind, instruction).second) return;
  report_.faults.push_back(text + (instruction < module_.instructions.size()
                                       ? ", by" + module_.instructions[instruction]
                                       : ""));
}

void Running::require_room(uintptr_t address, size_t bytes, size_t instruction, size_t align) {
  const auto holds = [&](const void* data, size_t size) {
    const auto begin = reinterpret_cast<uintptr_t>(data);
    return address >= begin && address + bytes <= begin + size;
  };
  const bool there = holds(shared_.data(), shared_.size()) ||
                     std::ranges::any_of(arrays_, [&](const DeviceArray& array) {
                       return holds(array.data, array.bytes);
                     });
  if (there && address % align == 0) return;
  fault("room", instruction,
        "thread " + std::to_string(block_->thread()) + " of block " + std::to_string(number_) +
            (there ? " uses an address that " + std::to_string(align) + " does not divide"
                   : " uses " + std::to_string(bytes) + " bytes outside all arrays"));
  lost_ = true;
  block_->stop();
}

void Running::use(uintptr_t address, size_t bytes, Use use, size_t instruction, size_t align) {
  if (bytes == 0 || block_->is_local(address)) return;
  require_room(address, bytes, instruction, align);
  const bool shared = is_shared(address);
  if (shared && use != Use::Write && !shadow_.is_written(address, bytes))
    fault("unwritten", instruction, "shared memory is read that no thread of the block wrote");
  if (const auto wrong = shadow_.use(address, bytes, use, moment()))
    fault("race", instruction, *wrong);
  const int thread = block_->thread();
  const int64_t time = times_[{thread, instruction}]++;
  Request& request = requests_[{thread / kWarpThreads, instruction, time}];
  request.shared = shared;
  request.writes = use != Use::Read;
  request.lanes[thread % kWarpThreads] = {address, bytes};
}

void Running::count_requests() {
  for (const auto& [key, request] : requests_) {
    if (request.shared) {
      ++report_.shared_requests;
      report_.conflicts += conflicts_of(request.lanes);
      continue;
    }
    ++report_.requests;
    std::set<uintptr_t> sectors;
    for (const auto& [lane, access] : request.lanes) {
      const auto& [address, bytes] = access;
      (request.writes ? report_.written : report_.read).push_back({address, address + bytes});
      for (uintptr_t at = address / kSector; at <= (address + bytes - 1) / kSector; ++at)
        sectors.insert(at);
    }
    report_.sectors += static_cast<int64_t>(sectors.size());
  }
  merge(report_.read);
  merge(report_.written);
}

// Its uses of memory were seen before (host_module.cpp).
void Running::begin_copy(void* to, const void* from, size_t bytes, size_t zeros) {
  std::memset(to, 0xff, bytes + zeros);
  shadow_.begin_copy(reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from),
                     bytes + zeros, bytes);
  copies_[block_->thread()].open.push_back({to, from, bytes, zeros});
}

void Running::commit_copies() {
  Copies& copies = copies_[block_->thread()];
  copies.groups.push_back(std::exchange(copies.open, {}));
}

void Running::wait_for_copies(size_t groups_left) {
  Copies& copies = copies_[block_->thread()];
  while (copies.groups.size() > groups_left) {
    for (const Copy& copy : copies.groups.front()) {
      const auto target = reinterpret_cast<uintptr_t>(copy.to);
      const size_t written = copy.bytes + copy.zeros;
      std::memcpy(copy.to, copy.from, copy.bytes);
      std::memset(static_cast<std::byte*>(copy.to) + copy.bytes, 0, copy.zeros);
      shadow_.end_copy(target, reinterpret_cast<uintptr_t>(copy.from), written, copy.bytes);
      if (const auto wrong = shadow_.use(target, written, Use::Write, moment()))
        fault("race", kNoInstruction, *wrong);
    }
    copies.groups.pop_front();
  }
}

extern "C" void emulate_use(void* address, int64_t bytes, int32_t use, int64_t instruction,
                            int64_t align) {
  Running::now().use(reinterpret_cast<uintptr_t>(address), static_cast<size_t>(bytes),
                     static_cast<Use>(use), static_cast<size_t>(instruction),
                     static_cast<size_t>(align));
}

}  // namespace adjit::tests
