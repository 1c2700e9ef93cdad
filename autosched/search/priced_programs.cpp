// autosched/search/priced_programs.cpp -- programs by the answers that make them, with their
// prices.
#include "autosched/search/priced_programs.hpp"

#include <algorithm>

namespace adjit::sched {
namespace {

size_t signature_of(const Program& program) { return std::hash<std::string>()(program.moves_json); }

void dearest_first(const Prices& prices, std::vector<Offer>& offers) {
  std::ranges::stable_sort(offers, std::ranges::greater{}, [&](const Offer& offer) {
    const auto found = prices.stages.find(offer.subject.stage);
    return found == prices.stages.end() ? 0.0 : found->second;
  });
}

}  // namespace

Wanted changed(const Priced& from, const Offer& offer, size_t option) {
  Wanted wanted{from.candidate.answers, from.candidate.changes};
  wanted.answers[offer.subject] = option;
  wanted.changes += (wanted.changes.empty() ? "" : "; ") +
                    std::string(name_of(offer.subject.decision)) + " of " + offer.subject.stage +
                    ": " + offer.options[option] + " instead of " + offer.options[offer.taken];
  return wanted;
}

const Priced& PricedPrograms::start() {
  if (const Priced* made = price({{}, ""})) return *made;
  // A move refuses it: what goes without that has no alternatives.
  Choices own;
  const Program made = made_with_fallbacks(own);
  const size_t moves = signature_of(made);
  const auto price = prices_.try_emplace(moves, prices_of(made)).first;
  return made_[Answers{}].emplace(Priced{{{}, "", price->second.microseconds}, {}, moves});
}

const Priced* PricedPrograms::price(const Wanted& wanted) {
  if (!is_made(wanted.answers)) price_all({wanted});
  const std::optional<Priced>& made = made_.at(wanted.answers);
  return made ? &*made : nullptr;
}

void PricedPrograms::price_all(const std::vector<Wanted>& wanted) {
  std::vector<const Wanted*> missing;
  for (const Wanted& one : wanted)
    if (made_.try_emplace(one.answers).second) missing.push_back(&one);
  std::vector<Found> found = make(missing);
  for (size_t k = 0; k < missing.size(); ++k) {
    if (!found[k].priced) continue;
    prices_.try_emplace(found[k].priced->moves, std::move(found[k].prices));
    made_[missing[k]->answers] = std::move(found[k].priced);
  }
}

Program PricedPrograms::program(const std::optional<Candidate>& candidate) {
  Choices choices(candidate ? candidate->answers : Answers{});
  try {
    return made_with(choices);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::Schedule) throw;
  }
  return made_with_fallbacks(choices);
}

PricedPrograms::Found PricedPrograms::found(const Program& made, const Choices& choices,
                                            const std::string& changes) const {
  const size_t moves = signature_of(made);
  const auto before = prices_.find(moves);
  Prices prices = before != prices_.end() ? before->second : prices_of(made);
  Priced priced{{choices.answers(), changes, prices.microseconds}, choices.offers(), moves};
  dearest_first(prices, priced.offers);
  return {std::move(priced), std::move(prices)};
}

}  // namespace adjit::sched
