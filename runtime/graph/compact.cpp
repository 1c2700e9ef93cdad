// runtime/graph/compact.cpp -- dropping what the outputs do not need, and the content hash of what
// is left.
#include <algorithm>
#include <bit>
#include <unordered_map>

#include "runtime/graph/graph.hpp"

namespace adjit::graph {
namespace {

std::vector<char> live_stages(const Graph& graph) {
  const std::vector<size_t> stage_of = defining_stages(graph);
  std::vector<char> live(graph.stages.size(), 0);
  const auto mark = [&](TensorId id) {
    if (stage_of[id.value] != SIZE_MAX) live[stage_of[id.value]] = 1;
  };
  for (TensorId output : graph.outputs) mark(output);
  for (size_t s = graph.stages.size(); s-- > 0;) {
    if (!live[s]) continue;
    for (TensorId read : tensors_read(graph, graph.stages[s])) mark(read);
  }
  return live;
}

// Two 64-bit lanes of multiply-xor over words; enough for content addressing, not for adversaries
// (the cache compares the components themselves).
class Hasher {
 public:
  void add(uint64_t v) {
    a_ = std::rotl((a_ ^ v) * 0x9ddfea08eb382d69ull, 29) + 0x52dce729;
    b_ = std::rotl((b_ + v) * 0xc2b2ae3d27d4eb4full, 31) ^ (a_ >> 7);
  }
  void add(std::string_view text) {
    add(text.size());
    for (char c : text) add(static_cast<uint64_t>(static_cast<unsigned char>(c)));
  }
  void add(std::span<const int64_t> values) {
    add(values.size());
    for (int64_t v : values) add(static_cast<uint64_t>(v));
  }
  void add(const Affine& form) {
    add(form.coefficients());
    add(static_cast<uint64_t>(form.constant()));
  }
  void add(const std::vector<ExprId>& ids) {
    add(ids.size());
    for (ExprId id : ids) add(id.value);
  }
  std::string hex() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text;
    for (uint64_t lane : {finish(a_), finish(b_ ^ a_)})
      for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[(lane >> shift) & 15];
    return text;
  }

 private:
  static uint64_t finish(uint64_t h) {
    h ^= h >> 33;
    h *= 0xff51afd7ed558ccdull;
    h ^= h >> 33;
    h *= 0xc4ceb9fe1a85ec53ull;
    return h ^ (h >> 33);
  }
  uint64_t a_ = 0x243f6a8885a308d3ull, b_ = 0x13198a2e03707344ull;
};

void add_domain(Hasher& h, const Domain& domain) {
  h.add(domain.extents);
  h.add(domain.output_rank);
  h.add(domain.divisions.size());
  for (const Division& d : domain.divisions) {
    h.add(d.numerator);
    h.add(static_cast<uint64_t>(d.divisor));
  }
  for (const auto* rows : {&domain.inequalities, &domain.equalities}) {
    h.add(rows->size());
    for (const Affine& row : *rows) h.add(row);
  }
}

void add_graph(Hasher& h, const std::shared_ptr<const Graph>& graph) {
  h.add(graph ? content_hash(*graph) : std::string());
}

void add_stage(Hasher& h, const Stage& stage) {
  h.add(static_cast<uint64_t>(stage.kind));
  h.add(stage.results.size());
  for (TensorId id : stage.results) h.add(id.value);
  add_domain(h, stage.domain);
  h.add(static_cast<uint64_t>(stage.combiner.kind));
  h.add(static_cast<uint64_t>(stage.combiner.ties));
  h.add(stage.combiner.combine);
  h.add(stage.combiner.identity);
  h.add(stage.bodies);
  h.add(stage.target);
  h.add(stage.initial.value);
  h.add(static_cast<uint64_t>(stage.out_of_range));
  if (stage.scan) {
    const Scan& scan = *stage.scan;
    h.add(content_hash(*scan.body));
    for (uint64_t v :
         {static_cast<uint64_t>(scan.trips), uint64_t{scan.carries}, uint64_t{scan.scanned},
          uint64_t{scan.fixed}, uint64_t{scan.stacked}, uint64_t{scan.reverse},
          static_cast<uint64_t>(scan.segment), uint64_t{scan.conditional}})
      h.add(v);
  }
  h.add(stage.callee);
  h.add(uint64_t{stage.call != nullptr});
  if (stage.call) {
    for (const auto& graph : {stage.call->body, stage.call->forward, stage.call->backward})
      add_graph(h, graph);
    h.add(uint64_t{stage.call->recompute});
    h.add(stage.call->closed);
  }
  h.add(stage.operands.size());
  for (TensorId id : stage.operands) h.add(id.value);
  h.add(uint64_t{stage.stop_gradient});
  h.add(stage.region);
}

class Compactor {
 public:
  // `own`: the graph itself where its stages may be taken, else null.
  explicit Compactor(const Graph& graph, Graph* own)
      : source_(graph),
        own_(own),
        live_(live_stages(graph)),
        renamed_(graph.tensors.size()),
        rebuild_(graph.pool, result_.pool, [this](ExprId leaf, std::span<const ExprId> rebuilt) {
          return this->leaf(leaf, rebuilt);
        }) {}

  Graph operator()() {
    result_.name = source_.name;
    for (TensorId id : source_.inputs) result_.inputs.push_back(keep(id));
    mark_constants();
    result_.stages.reserve(static_cast<size_t>(std::ranges::count(live_, 1)));
    for (size_t s = 0; s < source_.stages.size(); ++s)
      if (live_[s])
        result_.stages.push_back(
            rebuilt(own_ ? std::move(own_->stages[s]) : Stage(source_.stages[s])));
    for (TensorId id : source_.outputs) result_.outputs.push_back(renamed_[id.value]);
    return std::move(result_);
  }

 private:
  TensorId keep(TensorId id) {
    TensorId& now = renamed_[id.value];
    if (!now.valid()) {
      result_.tensors.push_back(source_.info(id));
      now = TensorId{static_cast<uint32_t>(result_.tensors.size() - 1)};
    }
    return now;
  }

  void mark_constants() {
    if (source_.constants.empty()) return;
    std::vector<char> used(source_.tensors.size(), 0);
    for (size_t s = 0; s < source_.stages.size(); ++s)
      if (live_[s])
        for (TensorId id : tensors_read(source_, source_.stages[s])) used[id.value] = 1;
    for (TensorId id : source_.outputs) used[id.value] = 1;
    for (const ConstantData& c : source_.constants)
      if (used[c.tensor.value]) result_.constants.push_back({keep(c.tensor), c.bytes});
  }

  ExprId leaf(ExprId id, std::span<const ExprId> rebuilt) {
    if (!source_.pool.is(id, Op::Read)) return {};
    const bool guarded = source_.pool.read_predicate(id).valid();
    return result_.pool.read(renamed_[source_.pool.read_tensor(id).value], source_.pool.dtype(id),
                             rebuilt.first(rebuilt.size() - (guarded ? 1 : 0)),
                             guarded ? rebuilt.back() : ExprId{});
  }

  Stage rebuilt(Stage stage) {
    for (auto* list :
         {&stage.bodies, &stage.target, &stage.combiner.combine, &stage.combiner.identity})
      for (ExprId& id : *list) id = rebuild_(id);
    for (TensorId& id : stage.operands) id = renamed_[id.value];
    if (stage.initial.valid()) stage.initial = renamed_[stage.initial.value];
    for (TensorId& id : stage.results) id = keep(id);
    return stage;
  }

  const Graph& source_;
  Graph* own_;
  std::vector<char> live_;
  std::vector<TensorId> renamed_;
  Graph result_;
  Rebuilder rebuild_;
};

std::vector<std::vector<ExprId>*> expression_lists(Graph& graph) {
  std::vector<std::vector<ExprId>*> lists;
  for (Stage& s : graph.stages)
    for (auto* list : {&s.bodies, &s.target, &s.combiner.combine, &s.combiner.identity})
      lists.push_back(list);
  return lists;
}

std::vector<ExprId> all_roots(Graph& graph) {
  std::vector<ExprId> roots;
  for (const auto* list : expression_lists(graph))
    roots.insert(roots.end(), list->begin(), list->end());
  return roots;
}

// A pool of just these nodes, as they stand, in this order.
void keep_nodes(Graph& graph, std::span<const ExprId> order) {
  ExprPool kept;
  std::vector<ExprId> renamed(graph.pool.size());
  std::vector<ExprId> operands;
  for (ExprId id : order) {
    operands.clear();
    for (ExprId operand : graph.pool.operands(id)) operands.push_back(renamed[operand.value]);
    renamed[id.value] = kept.intern(graph.pool[id], operands);
  }
  graph.pool = std::move(kept);
  for (auto* list : expression_lists(graph))
    for (ExprId& id : *list) id = renamed[id.value];
}

Graph compacted(const Graph& graph, Graph* own) {
  Graph result = Compactor(graph, own)();
  // Folding leaves nodes behind that nothing uses. The others keep their relative order: sums are
  // ordered by it.
  keep_nodes(result, reachable(result.pool, all_roots(result)));
  return result;
}

}  // namespace

Graph compact(const Graph& graph) { return compacted(graph, nullptr); }
Graph compact(Graph&& graph) { return compacted(graph, &graph); }

std::string content_hash(const Graph& graph) {
  Graph g = compact(graph);  // canonical ids: whatever was built on the way is gone
  keep_nodes(g, post_order(g.pool, all_roots(g)));
  Hasher h;
  h.add(g.pool.size());
  for (uint32_t k = 0; k < g.pool.size(); ++k) {
    const Node& n = g.pool[ExprId{k}];
    h.add(static_cast<uint64_t>(n.op) << 8 | static_cast<uint64_t>(n.dtype));
    h.add(n.payload);
    for (ExprId id : g.pool.operands(ExprId{k})) h.add(id.value);
  }
  h.add(g.tensors.size());
  for (const TensorInfo& t : g.tensors) {
    h.add(static_cast<uint64_t>(t.dtype));
    h.add(t.shape);
  }
  for (const auto* list : {&g.inputs, &g.outputs}) {
    h.add(list->size());
    for (TensorId id : *list) h.add(id.value);
  }
  for (const ConstantData& c : g.constants) {
    h.add(c.tensor.value);
    h.add(std::string_view(reinterpret_cast<const char*>(c.bytes.data()), c.bytes.size()));
  }
  h.add(g.stages.size());
  for (const Stage& stage : g.stages) add_stage(h, stage);
  return h.hex();
}

}  // namespace adjit::graph
