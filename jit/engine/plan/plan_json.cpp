// jit/engine/plan/plan_json.cpp -- an execution plan as JSON, and back.

#include <algorithm>

#include "jit/engine/plan/plan.hpp"
#include "runtime/process/json.hpp"

namespace adjit::engine {
namespace {

Json to_json(const std::vector<ArraySpec>& arrays) {
  Json list = Json::array();
  for (const ArraySpec& a : arrays) {
    list.push_back({{"dtype", name_of(a.dtype)}, {"shape", a.shape}, {"strides", a.strides}});
    if (a.alignment != 0) list.back()["alignment"] = a.alignment;  // of a GPU
  }
  return list;
}

Json to_json(const std::vector<StepPlan>& steps) {
  Json list = Json::array();
  for (const StepPlan& step : steps) list.push_back({step.scan, step.number, step.waits});
  return list;
}

Json to_json(const ScanPlan& scan) {
  Json slices = Json::array(), carries = Json::array();
  for (const ScanPlan::Slice& s : scan.slices) slices.push_back({s.buffer, s.of, s.bytes});
  for (const ScanPlan::Carry& c : scan.carries)
    carries.push_back({c.in, c.out, c.start, c.final, c.spares[0], c.spares[1], c.bytes});
  return {{"trips", scan.trips},
          {"reverse", scan.reverse},
          {"conditional", scan.conditional},
          {"tasks", scan.tasks},
          {"slices", std::move(slices)},
          {"carries", std::move(carries)},
          {"before", to_json(scan.before)},
          {"steps", to_json(scan.steps)}};
}

std::vector<ArraySpec> arrays_from(const Json& list) {
  std::vector<ArraySpec> arrays;
  for (const Json& a : list) {
    const std::optional<DType> dtype = dtype_from_name(a.at("dtype").get<std::string>());
    if (!dtype) throw Error(ErrorCode::Cache, "an execution plan names an unknown dtype");
    arrays.push_back({*dtype, a.at("shape").get<std::vector<int64_t>>(),
                      a.at("strides").get<std::vector<int64_t>>(),
                      a.value("alignment", int64_t{0})});
  }
  return arrays;
}

std::vector<StepPlan> steps_from(const Json& list) {
  std::vector<StepPlan> steps;
  for (const Json& s : list)
    steps.push_back(
        {s.at(0).get<bool>(), s.at(1).get<size_t>(), s.at(2).get<std::vector<size_t>>()});
  return steps;
}

ScanPlan scan_from(const Json& j) {
  ScanPlan scan;
  scan.trips = j.at("trips").get<int64_t>();
  scan.reverse = j.at("reverse").get<bool>();
  scan.conditional = j.at("conditional").get<bool>();
  scan.tasks = j.at("tasks").get<int64_t>();
  for (const Json& s : j.at("slices"))
    scan.slices.push_back({s.at(0).get<size_t>(), s.at(1).get<size_t>(), s.at(2).get<int64_t>()});
  for (const Json& c : j.at("carries"))
    scan.carries.push_back({c.at(0).get<size_t>(),
                            c.at(1).get<size_t>(),
                            c.at(2).get<size_t>(),
                            c.at(3).get<size_t>(),
                            {c.at(4).get<int64_t>(), c.at(5).get<int64_t>()},
                            c.at(6).get<int64_t>()});
  scan.before = steps_from(j.at("before"));
  scan.steps = steps_from(j.at("steps"));
  return scan;
}

void require(bool holds) {
  if (!holds) throw Error(ErrorCode::Cache, "an execution plan names what is not there");
}

// What running relies on, one function a struct: counts are possible, and every number names
// something.

void check(const ArraySpec& array) {
  require(array.shape.size() == array.strides.size() && array.alignment >= 0);
}

void check(const DataCheck& data_check) {
  require(data_check.axes.size() == data_check.extents.size() &&
          data_check.loops.size() <= data_check.axes.size());
}

void check(const ExecutionPlan& plan, const Buffer& buffer) {
  const auto fits = [&] {
    const auto at = static_cast<size_t>(buffer.at);
    switch (buffer.kind) {
      case Buffer::Kind::Input: return at < plan.inputs.size();
      case Buffer::Kind::Output: return at < plan.outputs.size();
      case Buffer::Kind::Workspace: return buffer.at <= plan.workspace_bytes;
      case Buffer::Kind::Slot:
        return buffer.slice >= 0 && buffer.at <= plan.slot_bytes &&
               buffer.slice <= plan.slot_bytes - buffer.at;
      case Buffer::Kind::Constant: return at <= plan.constants.size();
      case Buffer::Kind::Check: return at < 2 * plan.checks.size();
      case Buffer::Kind::Step: return true;
    }
    return false;  // of an unknown kind
  };
  require(buffer.at >= 0 && fits());
}

void check(const ExecutionPlan& plan, const KernelPlan& kernel) {
  constexpr int64_t kMostThreads = 1024;  // of a block of any GPU
  require(kernel.tasks >= 0 && kernel.in_turn >= 1 && kernel.tasks % kernel.in_turn == 0);
  require(kernel.threads >= 0 && kernel.threads <= kMostThreads && kernel.shared_bytes >= 0 &&
          kernel.shared_bytes <= INT32_MAX);
  for (size_t buffer : kernel.tensors)
    require(buffer < plan.buffers.size() &&
            (kernel.parallel || plan.buffers[buffer].kind != Buffer::Kind::Slot));
}

// They may run the first `scans` scans. Kernels must have been checked.
void check(const ExecutionPlan& plan, const std::vector<StepPlan>& steps, size_t scans) {
  size_t section = 0;  // behind the last scan
  for (size_t k = 0; k < steps.size(); ++k) {
    const StepPlan& s = steps[k];
    if (s.scan) section = k + 1;
    require(s.number < (s.scan ? scans : plan.kernels.size()));
    for (size_t before : s.waits)
      require(before >= section && before < k && !plan.kernels[steps[before].number].chained);
    if (s.scan || !plan.kernels[s.number].chained) continue;
    require(s.waits.empty());
    require(k > 0 && !steps[k - 1].scan);
    const KernelPlan &kernel = plan.kernels[s.number], &head = plan.kernels[steps[k - 1].number];
    require(kernel.parallel && head.parallel && kernel.tasks == head.tasks);
  }
}

void check(const ExecutionPlan& plan, const ScanPlan::Slice& slice) {
  require(slice.buffer < plan.buffers.size() && slice.of < plan.buffers.size());
}

void check(const ExecutionPlan& plan, const ScanPlan::Carry& carry) {
  require(std::max({carry.in, carry.out, carry.start, carry.final}) < plan.buffers.size());
  require(carry.bytes >= 0);
  for (int64_t spare : carry.spares)
    require(spare >= 0 && spare <= plan.workspace_bytes &&
            carry.bytes <= plan.workspace_bytes - spare);
}

// A scan each of whose tasks goes through all steps alone: these are one chain of kernels, and only
// they use the buffers that a task moves in its tables. Steps and buffers must have been checked.
void check_tasks(const ExecutionPlan& plan, const ScanPlan& scan) {
  require(!scan.conditional && !scan.steps.empty());
  std::vector<bool> own(plan.kernels.size(), false), moves(plan.buffers.size(), false);
  for (size_t s = 0; s < scan.steps.size(); ++s) {
    require(!scan.steps[s].scan);
    const KernelPlan& kernel = plan.kernels[scan.steps[s].number];
    require(kernel.parallel && kernel.tasks == scan.tasks && kernel.in_turn == 1 &&
            kernel.chained == (s > 0));
    own[scan.steps[s].number] = true;
  }
  for (const ScanPlan::Slice& s : scan.slices) moves[s.buffer] = true;
  for (const ScanPlan::Carry& c : scan.carries) moves[c.in] = moves[c.out] = true;
  for (size_t n = 0; n < plan.kernels.size(); ++n)
    for (size_t buffer : plan.kernels[n].tensors) require(own[n] || !moves[buffer]);
}

// Its steps run none but the first `earlier` scans. Kernels must have been checked.
void check(const ExecutionPlan& plan, const ScanPlan& scan, size_t earlier) {
  require(scan.trips >= (scan.conditional ? 0 : 1) && scan.tasks >= 0);
  require(!scan.conditional || !scan.carries.empty());
  for (const ScanPlan::Slice& slice : scan.slices) check(plan, slice);
  for (const ScanPlan::Carry& carry : scan.carries) check(plan, carry);
  check(plan, scan.before, earlier);
  check(plan, scan.steps, earlier);
  if (scan.tasks > 0) check_tasks(plan, scan);
}

// Steps name only buffers that have an address by then. `placed`: those, of which a scan adds what
// it moves while it runs. A thread's slots have addresses in tables of kernels alone. `run`: per
// scan, whether it has been met. All else must have been checked.
void check_addresses(const ExecutionPlan& plan, const std::vector<StepPlan>& steps,
                     std::vector<bool>& placed, std::vector<bool>& run) {
  const auto has_address = [&](size_t buffer) {
    return placed[buffer] && plan.buffers[buffer].kind != Buffer::Kind::Slot;
  };
  for (const StepPlan& step : steps) {
    if (!step.scan) {
      for (size_t buffer : plan.kernels[step.number].tensors) require(placed[buffer]);
      continue;
    }
    require(!run[step.number]);
    run[step.number] = true;
    const ScanPlan& scan = plan.scans[step.number];
    check_addresses(plan, scan.before, placed, run);
    std::vector<size_t> moved;
    for (const ScanPlan::Slice& slice : scan.slices) {
      require(has_address(slice.of));
      moved.push_back(slice.buffer);
    }
    for (const ScanPlan::Carry& carry : scan.carries) {
      require(has_address(carry.start) && has_address(carry.final));
      moved.insert(moved.end(), {carry.in, carry.out});
    }
    for (size_t buffer : moved) {
      require(!placed[buffer]);  // else it is no Step buffer, or is moved twice
      placed[buffer] = true;
    }
    check_addresses(plan, scan.steps, placed, run);
    for (size_t buffer : moved) placed[buffer] = false;
  }
}

void check_addresses(const ExecutionPlan& plan) {
  std::vector<bool> placed(plan.buffers.size()), run(plan.scans.size());
  for (size_t b = 0; b < placed.size(); ++b) placed[b] = plan.buffers[b].kind != Buffer::Kind::Step;
  check_addresses(plan, plan.steps, placed, run);
}

void check(const ExecutionPlan& plan) {
  for (const ArraySpec& array : plan.inputs) check(array);
  for (const ArraySpec& array : plan.outputs) check(array);
  for (const DataCheck& data_check : plan.checks) check(data_check);
  require(plan.workspace_bytes >= 0 && plan.slot_bytes >= 0);
  for (const Buffer& buffer : plan.buffers) check(plan, buffer);
  for (const KernelPlan& kernel : plan.kernels) check(plan, kernel);
  for (size_t k = 0; k < plan.scans.size(); ++k) check(plan, plan.scans[k], k);
  check(plan, plan.steps, plan.scans.size());
  check_addresses(plan);
}

}  // namespace

std::string to_json(const ExecutionPlan& plan) {
  Json buffers = Json::array(), kernels = Json::array(), scans = Json::array(),
       checks = Json::array();
  for (const Buffer& b : plan.buffers) buffers.push_back({static_cast<int>(b.kind), b.at, b.slice});
  for (const KernelPlan& k : plan.kernels) {
    kernels.push_back({{"symbol", k.symbol},
                       {"tensors", k.tensors},
                       {"tasks", k.tasks},
                       {"in_turn", k.in_turn},
                       {"parallel", k.parallel},
                       {"chained", k.chained}});
    if (k.by_table) kernels.back()["by_table"] = true;  // else as it was before there were GPUs
    if (k.threads > 0) {
      kernels.back()["threads"] = k.threads;
      kernels.back()["shared_bytes"] = k.shared_bytes;
    }
  }
  for (const ScanPlan& scan : plan.scans) scans.push_back(to_json(scan));
  for (const DataCheck& c : plan.checks)
    checks.push_back({{"subject", c.subject},
                      {"dimension", c.dimension},
                      {"extent", c.extent},
                      {"axes", c.axes},
                      {"extents", c.extents},
                      {"kind", static_cast<int>(c.kind)},
                      {"loops", c.loops}});
  return Json{{"inputs", to_json(plan.inputs)}, {"outputs", to_json(plan.outputs)},
              {"buffers", std::move(buffers)},  {"kernels", std::move(kernels)},
              {"scans", std::move(scans)},      {"steps", to_json(plan.steps)},
              {"checks", std::move(checks)},    {"workspace_bytes", plan.workspace_bytes},
              {"slot_bytes", plan.slot_bytes}}
      .dump();
}

ExecutionPlan plan_from_json(std::string_view text, std::string constants) {
  try {
    const Json j = Json::parse(text);
    ExecutionPlan plan;
    plan.inputs = arrays_from(j.at("inputs"));
    plan.outputs = arrays_from(j.at("outputs"));
    plan.workspace_bytes = j.at("workspace_bytes").get<int64_t>();
    plan.slot_bytes = j.at("slot_bytes").get<int64_t>();
    plan.constants = std::move(constants);
    for (const Json& b : j.at("buffers")) {
      const int kind = b.at(0).get<int>();
      require(kind >= 0 && kind <= static_cast<int>(Buffer::Kind::Step));
      plan.buffers.push_back(
          {static_cast<Buffer::Kind>(kind), b.at(1).get<int64_t>(), b.at(2).get<int64_t>()});
    }
    for (const Json& k : j.at("kernels"))
      plan.kernels.push_back(
          {k.at("symbol").get<std::string>(), k.at("tensors").get<std::vector<size_t>>(),
           k.at("tasks").get<int64_t>(), k.at("in_turn").get<int64_t>(),
           k.at("parallel").get<bool>(), k.at("chained").get<bool>(), k.value("by_table", false),
           k.value("threads", int64_t{0}), k.value("shared_bytes", int64_t{0})});
    for (const Json& scan : j.at("scans")) plan.scans.push_back(scan_from(scan));
    plan.steps = steps_from(j.at("steps"));
    for (const Json& c : j.at("checks")) {
      const int kind = c.at("kind").get<int>();
      require(kind >= 0 && kind <= static_cast<int>(DataCheck::Kind::NaNInput));
      plan.checks.push_back(
          {c.at("subject").get<std::string>(), c.at("dimension").get<size_t>(),
           c.at("extent").get<int64_t>(), c.at("axes").get<std::vector<std::string>>(),
           c.at("extents").get<std::vector<int64_t>>(), static_cast<DataCheck::Kind>(kind),
           c.at("loops").get<std::vector<size_t>>()});
    }
    check(plan);
    return plan;
  } catch (const Json::exception& e) {
    throw Error(ErrorCode::Cache, std::string("an execution plan cannot be read: ") + e.what());
  }
}

}  // namespace adjit::engine
