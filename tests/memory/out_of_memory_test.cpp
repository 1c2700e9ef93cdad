// tests/memory/out_of_memory_test.cpp -- every allocation of every kind of call fails: it alone, it
// and all later ones, or all that would hold more than so many bytes. The call says ADJIT_MEMORY
// (or works, where it can do without), and the next one works.
//
// Calls are made in children, so that one that dies or hangs is named by its number, and so that
// first calls of a process can fail as well. Of calls that make very many allocations some fail,
// spread over all of them; ADJIT_OUT_OF_MEMORY=10 takes ten times as many, and
// ADJIT_OUT_OF_MEMORY=@4711 that one alone, without a child, for a debugger.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <tuple>

#include "tests/bindings/c/support.hpp"
#include "tests/memory/failing_allocator.hpp"

namespace adjit_test {
namespace {

// One kernel after the other, of few points.
constexpr const char* kSmall =
    "def f(float(N, K) A, float(K) B) -> (S) {\n"
    "  C(i) +=! A(i, r_k) * B(r_k)\n"
    "  D(i) = exp(C(i)) / (1.0 + abs(C(i)))\n"
    "  S() +=! D(r_i)\n"
    "}\n";
// With checked indices, a scan, workspaces and kernels of several tasks.
constexpr int64_t kExtent = 1 << 16;
constexpr const char* kMixed =
    "def f(float(65536) A, int32(65536) I) -> (S) {\n"
    "  G(i) = A(I(i)) * A(i)\n"
    "  scan (h, hs) = step[4](carry float(65536) c = G) -> (n, m) {\n"
    "    n(i) = tanh(c(i)) * 0.5\n"
    "    m() +=! n(r_i)\n"
    "  }\n"
    "  S() +=! h(r_i) * hs(3) + A(r_i)\n"
    "}\n";

struct Directory {
  std::string path = (std::filesystem::temp_directory_path() / "adjit-memory-XXXXXX").string();
  Directory() {
    if (!mkdtemp(path.data())) std::abort();
  }
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
};

/// A program with its gradient, a step at a time; `status` is that of the last step.
class Steps {
 public:
  /// With a cache directory of its own.
  Steps() : own(std::make_unique<Directory>()), directory(own->path) {}
  explicit Steps(std::string path) : directory(std::move(path)) {}

  bool make_context(const char* mode) {
    adjit_context_options options{};
    options.struct_size = sizeof options;
    options.cache_directory = directory.c_str();
    options.cache_mode = mode;
    options.num_threads = 2;
    options.log = [](void*, adjit_log_level, const char*) {};
    adjit_context* made = nullptr;
    return done(adjit_context_create(&options, &made), context, made);
  }
  bool trace() {
    adjit_text_module* module = nullptr;
    status = adjit_text_module_create(mixed ? kMixed : kSmall, "memory", &module);
    if (status != ADJIT_OK) return false;
    const TextModule owner(module);
    const adjit_dtype dtypes[] = {ADJIT_FLOAT32, mixed ? ADJIT_INT32 : ADJIT_FLOAT32};
    const int32_t ranks[] = {mixed ? 1 : 2, 1};
    const int64_t small[] = {6, 5, 5}, large[] = {kExtent, kExtent};
    adjit_computation* made = nullptr;
    return done(
        adjit_text_module_instantiate(module, "f", 2, dtypes, ranks, mixed ? large : small, &made),
        forward, made);
  }
  bool call_operators() {
    adjit_trace* made = nullptr;
    status = adjit_trace_create("operators", &made);
    const Trace owner(made);
    const int64_t shape[] = {6, 5};
    adjit_tensor x{}, y{};
    if (status == ADJIT_OK) status = adjit_trace_input(made, "x", ADJIT_FLOAT32, 2, shape, 0, &x);
    for (const auto& [name, attributes] :
         {std::pair{"flip", R"({"axis": [0]})"},
          std::pair{"pad", R"({"pad_width": [[1, 1], [0, 2]]})"},
          std::pair{"sum", R"({"axis": [0, 1], "keepdims": true})"}}) {
      if (status != ADJIT_OK) return false;
      int32_t count = 1;
      status = adjit_trace_operator(made, name, 1, &x, attributes, &count, &y);
      x = y;
    }
    return status == ADJIT_OK;
  }
  bool derive() {
    const int32_t wrt[] = {0, 1};
    adjit_computation* made = nullptr;
    return done(adjit_computation_gradient(forward.get(), mixed ? 1 : 2, wrt, 0, 1, &made), slope,
                made);
  }
  bool lower() {
    adjit_lowered* made = nullptr;
    return done(adjit_computation_lower(context.get(), slope.get(), 0, nullptr, nullptr, &made),
                lowered, made);
  }
  bool compile() {
    adjit_executable* made = nullptr;
    return done(adjit_lowered_compile(lowered.get(), &made), executable, made);
  }
  bool run() {
    static std::array<float, kExtent> a, da;
    static std::array<int32_t, kExtent> order;
    std::array<float, 5> b{}, db{};
    a.fill(0.25f);
    b.fill(1);
    std::ranges::generate(order, [k = kExtent]() mutable { return static_cast<int32_t>(--k); });
    float value = 0;
    const void* in[] = {a.data(), mixed ? static_cast<const void*>(order.data()) : b.data()};
    void* out[] = {&value, da.data(), db.data()};
    status = adjit_executable_run_raw(executable.get(), in, out);
    return status == ADJIT_OK && (mixed || std::abs(value - 6 * std::exp(1.25f) / 2.25f) < 1e-4f);
  }
  bool text(adjit_status (*function)(adjit_lowered*, const char**)) {
    const char* found = nullptr;
    status = function(lowered.get(), &found);
    return status == ADJIT_OK;
  }
  bool info() {
    const char* json = nullptr;
    status = adjit_context_info(context.get(), &json);
    return status == ADJIT_OK;
  }
  void flush() { adjit_context_flush(context.get()); }

  bool mixed = false;                    // which program
  const std::unique_ptr<Directory> own;  // goes last
  const std::string directory;
  Context context;
  Computation forward, slope;
  Lowered lowered;
  Executable executable;
  adjit_status status = ADJIT_OK;

 private:
  template <class Handle, class Made>
  bool done(adjit_status now, Handle& handle, Made* const& made) {
    status = now;
    handle.reset(made);
    return status == ADJIT_OK;
  }
};

/// One kind of call: what it needs once, what it needs afresh each time, and the call.
struct Kind {
  const char* name;
  int samples;  // how many allocations fail
  std::function<bool(Steps&)> once, each, call;
};

bool nothing(Steps&) { return true; }
bool ready(Steps& s) { return s.make_context("off") && s.trace() && s.derive() && s.lower(); }
bool ready_mixed(Steps& s) {
  s.mixed = true;
  return ready(s);
}
bool fresh(Steps& s) { return s.lower(); }
bool everything_in(Steps& s, const char* mode) {
  return s.make_context(mode) && s.trace() && s.derive() && s.lower() && s.compile() && s.run();
}
bool everything(Steps& s) { return everything_in(s, "off"); }

// Threads start anew with their context.
bool run_anew(Steps& s) {
  s.mixed = true;
  return everything(s);
}

// Code in the cache, and nothing of it in memory.
bool fill_cache(Steps& s) {
  const bool filled = s.make_context("rw") && s.trace() && s.derive() && s.lower() && s.compile();
  if (filled) s.flush();
  return filled;
}
bool forget(Steps& s) { return s.make_context("ro") && s.lower(); }

std::vector<Kind> kinds() {
  const auto text = [](auto function) { return [=](Steps& s) { return s.text(function); }; };
  return {
      {"context", 400, nothing, nothing, [](Steps& s) { return s.make_context("rw"); }},
      {"info", 200, ready, nothing, [](Steps& s) { return s.info(); }},
      {"trace", 600, nothing, nothing, [](Steps& s) { return s.trace(); }},
      {"operators", 600, nothing, nothing, [](Steps& s) { return s.call_operators(); }},
      {"gradient", 600, ready, nothing, [](Steps& s) { return s.derive(); }},
      {"text", 400, ready, fresh, text(adjit_lowered_text)},
      {"schedule", 200, ready, fresh, text(adjit_lowered_schedule)},
      {"explain", 100, ready, fresh, text(adjit_lowered_explain)},
      {"stages", 400, ready, fresh, text(adjit_lowered_stages)},
      {"compile", 200, ready, fresh, [](Steps& s) { return s.compile(); }},
      {"cached_load", 300, fill_cache, forget, [](Steps& s) { return s.compile(); }},
      {"stored", 100, nothing,
       [](Steps& s) { return s.make_context("rw") && s.trace() && s.derive() && s.lower(); },
       [](Steps& s) {
         const bool compiled = s.compile();
         s.flush();
         return compiled;
       }},
      {"run", 100, everything, nothing, [](Steps& s) { return s.run(); }},
      {"mixed_text", 200, ready_mixed, fresh, text(adjit_lowered_text)},
      {"mixed_explain", 50, ready_mixed, fresh, text(adjit_lowered_explain)},
      {"mixed_compile", 100, ready_mixed, fresh, [](Steps& s) { return s.compile(); }},
      {"mixed_run", 50, nothing, run_anew, [](Steps& s) { return s.run(); }},
  };
}

/// Where a child is, in memory that its parent shares.
struct Progress {
  int64_t n = 0, allocations = 0, bytes = 0, refusals = 0;
  int status = ADJIT_OK;
  const char* fault = nullptr;  // of static text
  char message[200] = "";
  bool done = false;
};

// Whether the call went as it should while an allocation failed.
bool fails_well(const Kind& kind, Failure failure, int64_t n, Steps& steps, Progress& at) {
  at.n = n;
  if (!kind.each(steps)) {
    at.fault = "what the next call needs does not work";
  } else {
    const FailingAllocations failing(failure, n);
    const bool right = kind.call(steps);
    at.status = steps.status;
    if (at.status == ADJIT_OK && !right) at.fault = "a wrong result";
    at.allocations = failing.count();
    at.bytes = failing.most_bytes();
    at.refusals += at.status == ADJIT_MEMORY;
  }
  if (!at.fault && at.status != ADJIT_OK && at.status != ADJIT_MEMORY) at.fault = "wrong status";
  return !at.fault;
}

// Which of `total` to fail: a quarter of the samples first, the others spread over the rest.
std::vector<int64_t> numbers(int64_t total, int64_t samples) {
  std::vector<int64_t> found;
  const int64_t first = std::min(total, samples / 4), rest = std::min(total, samples) - first;
  for (int64_t k = 0; k < first; ++k) found.push_back(k);
  for (int64_t k = 0; k < rest; ++k) found.push_back(first + (total - first) * k / rest);
  return found;
}

/// ADJIT_OUT_OF_MEMORY
struct Wanted {
  const char* text = std::getenv("ADJIT_OUT_OF_MEMORY");
  bool one() const { return text && *text == '@'; }
  int64_t number() const { return one() ? std::strtoll(text + 1, nullptr, 10) : 0; }
  int64_t times() const {
    return text && !one() ? std::max(1LL, std::strtoll(text, nullptr, 10)) : 1;
  }
};

/// Children that tell what became of them.
class Children : public ::testing::Test {
 public:
  ~Children() override { munmap(at_, sizeof *at_); }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

 protected:
  Children()
      : at_(static_cast<Progress*>(mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}

  /// Runs `body` in a child; what went wrong, empty for nothing.
  template <class Body>
  std::string in_child(Body&& body) {
    *at_ = {};
    const pid_t child = fork();
    if (child == 0) {
      alarm(120);
      body(*at_);
      at_->done = !at_->fault;
      if (!at_->done) strncpy(at_->message, adjit_last_error_message(), sizeof at_->message - 1);
      _exit(0);
    }
    int ended = 0;
    waitpid(child, &ended, 0);
    if (WIFSIGNALED(ended)) return std::string("signal ") + strsignal(WTERMSIG(ended));
    if (at_->done) return "";
    return std::string(at_->fault ? at_->fault : "it left") + " (" +
           adjit_status_name(static_cast<adjit_status>(at_->status)) + ": " + at_->message + ")";
  }

  Progress* at_;
};

constexpr int kMostFaults = 20;  // that are told

// In a child: what works again once there is memory.
void expect_works(Progress& at) {
  if (at.fault) return;
  Steps others;
  if (everything(others)) return;
  at.fault = "the next call does not work";
  at.status = others.status;
}

class OutOfMemory : public Children,
                    public ::testing::WithParamInterface<std::tuple<size_t, Failure>> {};

TEST_P(OutOfMemory, EndsTheCallAndNothingElse) {
  const auto [number, failure] = GetParam();
  const Kind kind = kinds()[number];
  const Wanted wanted;
  if (wanted.one()) {
    Steps steps;
    Progress at;
    ASSERT_TRUE(everything(steps) && kind.once(steps));
    fails_well(kind, failure, wanted.number(), steps, at);
    expect_works(at);
    EXPECT_FALSE(at.fault) << at.fault << ": " << adjit_last_error_message();
    return;
  }
  // LLVM has been used before: for what it does once, see FirstCalls.
  const auto begin = [&](Steps& steps, Progress& at) {
    Steps first;
    if (!everything(first) || !kind.once(steps)) at.fault = "what it needs does not work";
  };
  const std::string without = in_child([&](Progress& at) {
    Steps steps;
    begin(steps, at);
    if (!at.fault) fails_well(kind, Failure::Once, INT64_MAX, steps, at);
    if (!at.fault && at.status != ADJIT_OK) at.fault = "it fails";
  });
  ASSERT_EQ(without, "") << kind.name << " with all memory";
  const int64_t total = failure == Failure::Beyond ? at_->bytes : at_->allocations;
  const std::vector<int64_t> all = numbers(total, kind.samples * wanted.times());
  constexpr size_t kInChild = 50;
  int faults = 0;
  int64_t refusals = 0;
  for (size_t k = 0; k < all.size() && faults < kMostFaults; ++faults) {
    const std::string fault = in_child([&](Progress& at) {
      Steps steps;
      begin(steps, at);
      for (size_t next = k; next < std::min(all.size(), k + kInChild) && !at.fault; ++next)
        fails_well(kind, failure, all[next], steps, at);
      expect_works(at);
    });
    k = static_cast<size_t>(std::ranges::upper_bound(all, at_->n) - all.begin());
    refusals += at_->refusals;
    if (fault.empty())
      --faults;
    else
      ADD_FAILURE() << kind.name << ", " << at_->n << " of " << total << ": " << fault;
  }
  EXPECT_TRUE(refusals > 0 || total == 0) << kind.name << " never says that memory ran out";
  RecordProperty("failures", std::to_string(all.size()));
  RecordProperty("of", std::to_string(total));
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<size_t, Failure>>& info) {
  constexpr const char* kNames[] = {"_once", "_from_then_on", "_beyond_bytes"};
  const auto [kind, failure] = info.param;
  return std::string(kinds()[kind].name) + kNames[static_cast<size_t>(failure)];
}
INSTANTIATE_TEST_SUITE_P(Calls, OutOfMemory,
                         ::testing::Combine(::testing::Range(size_t{0}, kinds().size()),
                                            ::testing::Values(Failure::Once, Failure::FromThen,
                                                              Failure::Beyond)),
                         name_of);

/// What LLVM does once in a process happens here. It asks for all the memory that it takes first,
/// and has it from then on: so memory is bounded, instead of single allocations refused.
class FirstCalls : public Children {
 protected:
  void fail_each(const char* name, const std::string& directory) {
    const auto call = [&](Failure failure, int64_t n) {
      return in_child([&](Progress& at) {
        at.n = n;
        Steps steps(directory);
        {
          const FailingAllocations failing(failure, n);
          everything_in(steps, directory.empty() ? "off" : "ro");
          at.status = steps.status;
          at.bytes = failing.most_bytes();
        }
        if (at.status != ADJIT_OK && at.status != ADJIT_MEMORY) at.fault = "wrong status";
        expect_works(at);
      });
    };
    ASSERT_EQ(call(Failure::Once, INT64_MAX), "") << name << " with all memory";
    const int64_t most = at_->bytes;
    const int64_t samples = 100 * Wanted().times();
    int faults = 0;
    for (int64_t k = 0; k <= samples && faults < kMostFaults; ++k) {
      const std::string fault = call(Failure::Beyond, most * k / samples);
      if (fault.empty()) continue;
      ++faults;
      ADD_FAILURE() << name << ", with " << at_->n << " of " << most << " bytes: " << fault;
    }
  }
};

TEST_F(FirstCalls, CanBeMadeAgain) { fail_each("first call", ""); }

TEST_F(FirstCalls, FromTheCacheCanBeMadeAgain) {
  const Directory directory;
  ASSERT_EQ(in_child([&](Progress& at) {
              Steps steps(directory.path);
              if (!fill_cache(steps)) at.fault = "the cache cannot be filled";
            }),
            "");
  fail_each("first call from the cache", directory.path);
}

}  // namespace
}  // namespace adjit_test
