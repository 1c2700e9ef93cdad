// autosched/decisions/choices.hpp -- the decisions of a schedule by name, and which of them are
// taken otherwise.
//
// The default schedule asks at every decision which option to take; option 0 is its own. A search
// (search.hpp) lets it run, looks at what was asked, and runs it again with other answers: so every
// alternative is a schedule that the same moves make, legal and replayable.
#pragma once

#include <bitset>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/graph/graph.hpp"

namespace adjit::sched {

/// The phases of a schedule. Each has its passes and decisions (cpu/pass_list.hpp): which stages
/// there are, which layouts their operands have, and then loops.
enum class Phase : uint8_t { Stages, Layouts, Loops };

/// The decisions. A subject is the stage that one is about, by its name; those of a scan's steps
/// have the scan's name and a slash before them. choices.cpp has the table of what each is called,
/// its phase, and whether compilations search over it.
enum class Decision : uint8_t {
  Tile,             // lanes and instances of the register tile: the best ones by choose_tile.hpp
  PackedTile,       // the same where operands may be packed for it
  Pack,             // copies of operands in the layout that the tile wants
  Pad,              // zeros around an operand in place of conditions
  Rfactor,          // partial results of a long reduction
  FuseAxes,         // rows of a product in two axes
  TransposeOutput,  // results with the lanes innermost
  Residues,         // one part for each residue of an axis
  ComputeAt,        // computed in the loops of a reader
  Interleave,       // short ones side by side in what is attached
  FuseSiblings,     // one pass with an earlier stage
  Tasks,            // as chosen, none, more of them
  Order,            // of loops over results: as the caches want them
  Nontemporal,      // results past the caches
  SharePairwise,    // values of pairs, by several sums
  TileFusion,       // rows of what passes between contractions, a block at a time
  Prefetch,         // the next iteration's rows
  Epilogue,         // of a product, tile by tile
  OuterReduction,   // outer steps of a reduction outside all results
  StripMine,        // some steps of a reduction outside some of them
  // Of GPUs' schedules alone; of the others these ask Tile, Pack, Rfactor, ComputeAt, FuseSiblings
  // and Epilogue:
  SplitPrefix,   // chunks of a prefix reduction
  Invert,        // points of a scatter sorted by what they write, or arrays of their own
  BlockThreads,  // of a kernel's blocks, at most
  ThreadLanes,   // elements of an access that a thread computes side by side
  // Never offered, but answered where memory is short (plan_rematerialization.hpp):
  EagerOutputs,   // outputs as soon as may be; about no stage
  Rematerialize,  // computed a second time, not kept
};
inline constexpr size_t kDecisions = static_cast<size_t>(Decision::Rematerialize) + 1;

/// "tile", "pack", ...
std::string_view name_of(Decision decision);
Phase phase_of(Decision decision);
/// What compilations do not search over. Of these, large gains that were predicted were losses most
/// often (docs/performance/cost-model.md): a layout changes what every later nest does, and tasks
/// depend on the machine's other work.
std::vector<Decision> fixed_decisions();

struct Subject {
  Decision decision;
  std::string stage;
  auto operator<=>(const Subject&) const = default;
};
/// Options other than 0, by subject.
using Answers = std::map<Subject, size_t>;

/// One decision that was asked for.
struct Offer {
  Subject subject;
  std::vector<std::string> options;
  size_t taken = 0;
};

class TileMemory;

class Choices {
 public:
  /// Answers 0 to everything and records nothing.
  Choices() = default;
  /// Answers so, and records what is asked.
  explicit Choices(Answers answers) : answers_(std::move(answers)), recording_(true) {}

  /// The number of an option; one that is not there counts as 0. `options` makes their
  /// descriptions and is called only when recording.
  template <typename Options>
  size_t pick(Decision decision, const Graph& graph, const Stage& stage, Options&& options) {
    require_allowed(decision);
    return recording_ ? recorded(decision, graph, stage, options()) : 0;
  }
  /// Whether to do what the heuristic does, rather than not.
  bool keeps(Decision decision, const Graph& graph, const Stage& stage);

  /// Whether what is never offered is to be done.
  bool requests(Decision decision, const std::string& stage = "") const;

  /// Tiles that were found before, which copies of this share; null until there are any.
  const std::shared_ptr<TileMemory>& tiles() const { return tiles_; }
  void remember_tiles(std::shared_ptr<TileMemory> memory) { tiles_ = std::move(memory); }

  /// Goes on where another run with these offers, that gave the same answers to them, stands.
  void go_on_from(std::vector<Offer> offers) { offers_ = std::move(offers); }

  bool recording() const { return recording_; }
  const std::vector<Offer>& offers() const { return offers_; }
  const Answers& answers() const { return answers_; }

  /// While it lives, no decision but these is asked: another one is ErrorCode::Internal.
  class Only {
   public:
    Only(Choices& choices, const std::vector<Decision>& decisions);
    ~Only() { choices_.allowed_ = before_; }
    Only(const Only&) = delete;
    Only& operator=(const Only&) = delete;

   private:
    Choices& choices_;
    std::bitset<kDecisions> before_;
  };

  /// While it lives, subjects are stages of this scan.
  class Inside {
   public:
    Inside(Choices& choices, const std::string& scan);
    ~Inside();
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Choices& choices_;
    size_t length_;
  };

 private:
  void require_allowed(Decision decision) const;
  size_t recorded(Decision decision, const Graph& graph, const Stage& stage,
                  std::vector<std::string> options);

  Answers answers_;
  bool recording_ = false;
  std::shared_ptr<TileMemory> tiles_;
  std::string prefix_;
  std::vector<Offer> offers_;
  std::bitset<kDecisions> allowed_ = std::bitset<kDecisions>().set();
};

}  // namespace adjit::sched
