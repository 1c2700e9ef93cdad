// tests/fuzz/draw/operator_draw.cpp -- random calls of operators, drawn from the operator table.
#include "tests/fuzz/draw/operator_draw.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "runtime/process/json.hpp"
#include "runtime/trace/ops/call/signature.hpp"
#include "runtime/trace/ops/operator_table.hpp"
#include "tests/fuzz/draw/notation_draw.hpp"
#include "tests/rooms.hpp"

namespace adjit::testing {
namespace {

std::vector<const OperatorExample*> examples_of(std::string_view name) {
  std::vector<const OperatorExample*> found;
  for (const OperatorExample& example : operator_examples())
    if (example.name == name) found.push_back(&example);
  return found;
}

// What attributes of this name are in any example: the words that a mode may be, lists of axes.
const std::vector<Json>& seen_values(const std::string& name) {
  static const std::map<std::string, std::vector<Json>> kSeen = [] {
    std::map<std::string, std::vector<Json>> seen;
    for (const OperatorExample& example : operator_examples()) {
      const Json attributes = Json::parse(example.attributes);
      for (const auto& [key, value] : attributes.items()) seen[key].push_back(value);
    }
    // Words that no example says.
    for (const char* word : {"drop", "wrap", "clip", "fill"}) seen["mode"].push_back(word);
    for (const char* word : {"mean", "sum", "none"}) seen["reduction"].push_back(word);
    return seen;
  }();
  static const std::vector<Json> kNone;
  const auto at = kSeen.find(name);
  return at == kSeen.end() ? kNone : at->second;
}

struct Default {
  std::string_view name, value;  // value: "" for a required attribute
};

// The attributes of a signature, behind its '*'.
std::vector<Default> attributes_of(std::string_view signature) {
  std::vector<Default> found;
  const size_t star = signature.find('*');
  if (star == std::string_view::npos) return found;
  std::string_view rest = signature.substr(star + 1);
  rest.remove_suffix(1);
  while (!rest.empty()) {
    const size_t comma = rest.find(',');
    std::string_view part = rest.substr(0, comma);
    rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    while (part.starts_with(' ')) part.remove_prefix(1);
    if (part.empty()) continue;
    const size_t equals = part.find('=');
    found.push_back({part.substr(0, equals), equals == std::string_view::npos
                                                 ? std::string_view{}
                                                 : part.substr(equals + 1)});
  }
  return found;
}

bool names_an_axis(std::string_view name) {
  return name.starts_with("axis") || name == "axes" || name.starts_with("dim") ||
         name.ends_with("_dim") || name == "source" || name == "destination";
}

using Operators = std::vector<const Operator*>;

bool takes_calls_of(const OperatorSignature& other, const OperatorSignature& op) {
  return !other.variadic && other.tensors.size() == op.tensors.size() &&
         std::ranges::all_of(op.attributes, [&](std::string_view name) {
           return std::ranges::find(other.attributes, name) != other.attributes.end();
         });
}

// Operators with attributes, each with those that take its operands and attributes behind it.
const std::vector<Operators>& operators_alike() {
  static const std::vector<Operators> kAlike = [] {
    std::vector<Operators> found;
    for (const Operator& op : all_operators()) {
      const OperatorSignature signature = parse_signature(op.signature);
      if (signature.attributes.empty() || signature.tensors.empty() || signature.variadic) continue;
      Operators alike{&op};
      for (const Operator& other : all_operators())
        if (&other != &op && takes_calls_of(parse_signature(other.signature), signature))
          alike.push_back(&other);
      if (alike.size() > 1) found.push_back(std::move(alike));
    }
    return found;
  }();
  return kAlike;
}

// Integers that are extents of the example become the extents that took their place.
Json renamed(const Json& value, const std::map<int64_t, int64_t>& names) {
  if (value.is_array()) {
    Json list = Json::array();
    for (const Json& entry : value) list.push_back(renamed(entry, names));
    return list;
  }
  if (!value.is_number_integer()) return value;
  const auto at = names.find(value.get<int64_t>());
  return at == names.end() ? value : Json(at->second);
}

}  // namespace

bool OperatorDraw::call() {
  const std::span<const Operator> all = all_operators();
  return call(all[static_cast<size_t>(random_.between(0, static_cast<int64_t>(all.size()) - 1))]);
}

bool OperatorDraw::call(const Operator& op) {
  const std::vector<const OperatorExample*> examples = examples_of(op.name);
  OperatorExample plain{op.name, {ExampleInput{DType::Float64, {2, 3}}}};
  constexpr int kTries = 5;
  for (int number = 0; number < kTries; ++number)
    if (attempt(op, examples.empty() ? plain : *random_.pick(examples), number)) return true;
  return false;
}

bool OperatorDraw::lies_in(TensorId tensor, const ExampleInput& wanted) const {
  if (wanted.low == -2 && wanted.high == 2) return true;  // of any real number
  return std::ranges::all_of(scope_.value(tensor).values, [&](const Wide& v) {
    const long double value = is_float(wanted.dtype) ? v.f : static_cast<long double>(v.i);
    return value >= wanted.low && value <= wanted.high;
  });
}

TensorId OperatorDraw::operand(const ExampleInput& wanted, const std::vector<int64_t>& shape) {
  if (random_.chance(75)) {
    const TensorId ready = scope_.pick([&](TensorId id) {
      return scope_.dtype(id) == wanted.dtype && scope_.shape(id) == shape && lies_in(id, wanted);
    });
    if (ready.valid()) return ready;
  }
  const bool bounded = wanted.low != -2 || wanted.high != 2 || random_.chance(20);
  if (NotationDraw(scope_).adapted(wanted.dtype, shape, wanted.low, wanted.high, bounded))
    return scope_.last()[0];
  return {};
}

TensorId OperatorDraw::any_operand(const ExampleInput& wanted) {
  return scope_.pick([&](TensorId id) {
    return scope_.dtype(id) == wanted.dtype && lies_in(id, wanted) && scope_.shape(id).size() <= 5;
  });
}

void OperatorDraw::vary(Json& attributes, std::string_view name, std::string_view otherwise,
                        int64_t rank) {
  const std::string key(name);
  const std::vector<Json>& seen = seen_values(key);
  if (names_an_axis(name) && random_.chance(60)) {
    attributes[key] = random_.between(-rank, std::max<int64_t>(rank - 1, 0));
    return;
  }
  if (otherwise == "True" || otherwise == "False") {
    attributes[key] = random_.chance(50);
  } else if (otherwise.find_first_not_of("-0123456789") == std::string_view::npos &&
             !otherwise.empty()) {
    attributes[key] = random_.between(-1, 3);
  } else if (otherwise.find_first_not_of("-0123456789.e") == std::string_view::npos &&
             !otherwise.empty()) {
    attributes[key] = static_cast<double>(random_.between(1, 24)) / 8;
  } else if (!seen.empty()) {
    attributes[key] = random_.pick(seen);
  }
}

Json OperatorDraw::attributes(const Operator& op, const OperatorExample& example, int64_t rank) {
  Json drawn = Json::parse(example.attributes);
  // What stands in for an operand stays as the example has it.
  for (const Default& attribute : attributes_of(op.signature))
    if (random_.chance(25)) vary(drawn, attribute.name, attribute.value, rank);
  return drawn;
}

// Many operands, where any number may stand: again those that are there, or others of their shapes.
void OperatorDraw::draw_many(std::vector<TensorId>& operands) {
  constexpr int64_t kMostElements = 600;
  int64_t elements = 0;
  for (const int64_t more = random_.between(4, 20); elements < kMostElements;) {
    if (operands.size() > static_cast<size_t>(more)) break;
    const TensorId like = random_.pick(operands);
    const std::vector<int64_t> shape = scope_.shape(like);
    const ExampleInput wanted{scope_.dtype(like), shape};
    TensorId id = random_.chance(50) ? operand(wanted, shape) : like;
    operands.push_back(id.valid() ? id : like);
    elements += std::max<int64_t>(scope_.trace().graph().info(like).element_count(), 1);
  }
}

bool OperatorDraw::attempt(const Operator& op, const OperatorExample& example, int number) {
  std::map<int64_t, int64_t> names;
  const int drawn = scope_.kinds().long_axes ? 95 : 60;
  for (const ExampleInput& input : example.inputs)
    for (int64_t extent : input.shape)
      if (!names.contains(extent))
        names[extent] =
            number < 4 && random_.chance(drawn) ? draw_extent(random_, scope_.kinds()) : extent;
  std::vector<TensorId> operands;
  std::vector<int64_t> first;
  for (size_t k = 0; k < example.inputs.size(); ++k) {
    ExampleInput wanted = example.inputs[k];
    if (wanted.dtype == DType::Float64) wanted.dtype = scope_.real();
    TensorId id;
    // Operands of any shape, first of all: elementwise operators take them, others may.
    if (number < 3 && random_.chance(k == 0 ? 60 : 25)) id = any_operand(wanted);
    if (k == 0 && id.valid() && scope_.shape(id).size() == wanted.shape.size())
      for (size_t d = 0; d < wanted.shape.size(); ++d) names[wanted.shape[d]] = scope_.shape(id)[d];
    std::vector<int64_t> shape;
    int64_t elements = 1;
    for (int64_t extent : wanted.shape) {
      shape.push_back(names[extent]);
      elements *= shape.back();
    }
    if (elements > scope_.kinds().room(600)) return false;
    if (k > 0 && number < 2 && wanted.shape == example.inputs[0].shape && random_.chance(70))
      shape = first;
    if (!id.valid()) id = operand(wanted, shape);
    if (!id.valid()) return false;
    if (k == 0) first = scope_.shape(id);
    operands.push_back(id);
  }
  if (parse_signature(op.signature).variadic && random_.chance(25)) draw_many(operands);
  const auto rank = static_cast<int64_t>(first.size());
  Json attributes = this->attributes(op, example, rank);
  if (random_.chance(50))
    attributes = [&] {
      Json all = Json::object();
      for (const auto& [key, value] : attributes.items())
        all[key] = names_an_axis(key) ? value : renamed(value, names);
      return all;
    }();
  const bool taken = scope_.add([&] { return op.trace(scope_.trace(), operands, attributes); });
  if (!taken) return false;
  for (TensorId id : operands) scope_.note_use(id);
  taken_ = {std::move(operands), std::move(attributes)};
  return true;
}

bool OperatorDraw::calls_alike() {
  const Operators& operators = random_.pick(operators_alike());
  if (!call(*operators[0])) return false;
  for (int64_t more = random_.between(1, 2); more > 0; --more) {
    // The parts of an extent 0 are no results; attributes may stand for all operands.
    if (scope_.last().empty() || taken_.operands.empty()) break;
    const TensorId found = scope_.last()[0];
    if (random_.chance(50)) NotationDraw(scope_).reader(found);
    std::vector<TensorId> operands = taken_.operands;
    if (random_.chance(25) && NotationDraw(scope_).rephrased(operands[0]))
      operands[0] = scope_.last()[0];
    const auto other =
        static_cast<size_t>(random_.between(1, static_cast<int64_t>(operators.size()) - 1));
    if (!scope_.add(
            [&] { return operators[other]->trace(scope_.trace(), operands, taken_.attributes); }))
      break;
    for (TensorId id : operands) scope_.note_use(id);
  }
  return true;
}

}  // namespace adjit::testing
