// bindings/c/control.cpp -- loops, and functions whose derivative is a matter of their own.
#include "bindings/c/boundary.hpp"
#include "bindings/c/handles.hpp"
#include "runtime/trace/splice.hpp"

namespace adjit::c {
namespace {

std::shared_ptr<const Graph> graph_of(const adjit_computation* computation, const char* name) {
  return std::make_shared<const Graph>(required(computation, name).computation->graph());
}

size_t counted(int32_t count, const char* what) {
  if (count < 0)
    throw Error(ErrorCode::Invalid, std::string(what) + " is negative: " + std::to_string(count));
  return static_cast<size_t>(count);
}

void give(const std::vector<TensorId>& made, int32_t count, adjit_tensor* results) {
  const std::span<adjit_tensor> room = elements(results, count, "results");
  if (made.size() != room.size())
    throw Error(ErrorCode::Invalid, "there are " + std::to_string(made.size()) +
                                        " results, but room for " + std::to_string(count));
  for (size_t k = 0; k < made.size(); ++k) room[k] = made[k].value;
}

}  // namespace
}  // namespace adjit::c

using namespace adjit::c;  // NOLINT

extern "C" {

adjit_status adjit_trace_scan(adjit_trace* trace, const adjit_computation* step,
                              const adjit_scan_options* options, int32_t operand_count,
                              const adjit_tensor* operands, int32_t result_count,
                              adjit_tensor* results) {
  return cancellable({}, [&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    const adjit_scan_options given = options_from(&required(options, "options"));
    adjit::trace::Scan scan;
    scan.body = graph_of(step, "step");
    scan.trips = given.steps;
    scan.reverse = given.reverse != 0;
    scan.segment = given.segment;
    scan.carries = counted(given.carries, "the number of carries");
    scan.scanned = counted(given.scanned, "the number of scanned operands");
    if (scan.segment < 0 || scan.trips < 0)
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                               "the number of steps, or the length of a segment, is negative");
    if (scan.carries + scan.scanned > counted(operand_count, "the number of operands") ||
        scan.carries > scan.body->outputs.size())
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                               "there are more carries and scanned operands than operands, or more "
                               "carries than outputs of the step");
    scan.fixed = static_cast<size_t>(operand_count) - scan.carries - scan.scanned;
    scan.stacked = scan.body->outputs.size() - scan.carries;
    give(add_scan(t, std::move(scan), tensors(t, operand_count, operands, "operands")),
         result_count, results);
  });
}

adjit_status adjit_trace_while(adjit_trace* trace, const adjit_computation* body,
                               int32_t carry_count, int32_t operand_count,
                               const adjit_tensor* operands, int32_t result_count,
                               adjit_tensor* results) {
  return cancellable({}, [&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    adjit::trace::Scan scan;
    scan.body = graph_of(body, "body");
    scan.conditional = true;
    scan.carries = counted(carry_count, "the number of carries");
    if (scan.carries > counted(operand_count, "the number of operands"))
      throw adjit::expr::Error(adjit::expr::ErrorCode::Invalid,
                               "there are more carries than operands");
    scan.fixed = static_cast<size_t>(operand_count) - scan.carries;
    give(add_scan(t, std::move(scan), tensors(t, operand_count, operands, "operands")),
         result_count, results);
  });
}

adjit_status adjit_trace_checkpoint(adjit_trace* trace, const adjit_computation* computation,
                                    int32_t argument_count, const adjit_tensor* arguments,
                                    int32_t result_count, adjit_tensor* results) {
  return cancellable({}, [&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    adjit::trace::Call call;
    call.body = graph_of(computation, "computation");
    call.recompute = true;
    give(add_call(t, std::move(call), tensors(t, argument_count, arguments, "arguments")),
         result_count, results);
  });
}

adjit_status adjit_trace_custom_vjp(adjit_trace* trace, const adjit_computation* primal,
                                    const adjit_computation* forward,
                                    const adjit_computation* backward, int32_t closed,
                                    int32_t argument_count, const adjit_tensor* arguments,
                                    int32_t result_count, adjit_tensor* results) {
  return cancellable({}, [&] {
    adjit::trace::Trace& t = required(trace, "trace").trace;
    adjit::trace::Call call;
    call.body = graph_of(primal, "primal");
    call.forward = graph_of(forward, "forward");
    call.backward = graph_of(backward, "backward");
    call.closed = counted(closed, "the number of closed arguments");
    give(add_call(t, std::move(call), tensors(t, argument_count, arguments, "arguments")),
         result_count, results);
  });
}

}  // extern "C"
