/* tests/bindings/c/every_function.c -- a C99 program that calls every function of adjit.h once, as
 * a C program would. Returns 0 when all went as the header says. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bindings/c/adjit.h"

static int failures = 0;

static void check(int holds, const char* what, int line) {
  if (holds) return;
  fprintf(stderr, "every_function.c:%d: %s: %s\n", line, what, adjit_last_error_message());
  ++failures;
}
#define CHECK(condition) check((condition), #condition, __LINE__)
#define OK(call) check((call) == ADJIT_OK, #call, __LINE__)

static DLTensor array(float* data, int32_t rank, int64_t* shape) {
  DLTensor tensor;
  memset(&tensor, 0, sizeof tensor);
  tensor.data = data;
  tensor.device.device_type = kDLCPU;
  tensor.ndim = rank;
  tensor.dtype.code = kDLFloat;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  return tensor;
}

static void library(void) {
  CHECK(adjit_abi_version() == ADJIT_ABI_VERSION);
  CHECK(strlen(adjit_version()) > 0);
  CHECK(strcmp(adjit_status_name(ADJIT_BOUNDS), "bounds") == 0);
  CHECK(strcmp(adjit_status_name((adjit_status)-1), "unknown") == 0);
  CHECK(strstr(adjit_operators(), "\"matmul\"") != NULL);
  CHECK(strlen(adjit_last_error_message()) == 0);
}

static void count_messages(void* user, adjit_log_level level, const char* message) {
  if (level <= ADJIT_LOG_WARNING && message != NULL) ++*(int*)user;
}

static adjit_context* make_context(int* messages) {
  adjit_context_options options;
  adjit_context* context = NULL;
  const char* json = NULL;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.num_threads = 1;
  options.cache_mode = "off";
  options.log = count_messages;
  options.log_user = messages;
  OK(adjit_context_create(&options, &context));
  OK(adjit_context_info(context, &json));
  CHECK(json != NULL && strstr(json, "\"threads\":1") != NULL);
  OK(adjit_context_flush(context));
  CHECK(adjit_gpu_of(NULL, NULL) == ADJIT_INVALID);
  return context;
}

/* y = 2 * x * x over 4 elements, by operators. */
static adjit_computation* by_operators(void) {
  adjit_trace* trace = NULL;
  adjit_computation* made = NULL;
  adjit_tensor x = ADJIT_NONE, two = ADJIT_NONE, inputs[2], y = ADJIT_NONE;
  adjit_dtype dtype = ADJIT_BOOL;
  int64_t shape[1] = {4};
  const int64_t* extents = NULL;
  float value = 2;
  DLTensor constant = array(&value, 0, NULL);
  int32_t count = 1, rank = -1, weak = -1;
  OK(adjit_trace_create("twice_square", &trace));
  OK(adjit_trace_set_source(trace, "every_function.c", __LINE__, "multiply"));
  OK(adjit_trace_input(trace, "x", ADJIT_FLOAT32, 1, shape, 0, &x));
  OK(adjit_trace_constant(trace, "two", &constant, &two));
  inputs[0] = inputs[1] = x;
  OK(adjit_trace_operator(trace, "multiply", 2, inputs, NULL, &count, &y));
  CHECK(count == 1);
  inputs[0] = y;
  inputs[1] = two;
  OK(adjit_trace_operator(trace, "multiply", 2, inputs, "{}", &count, &y));
  OK(adjit_trace_tensor_info(trace, y, &dtype, &rank, &extents));
  CHECK(dtype == ADJIT_FLOAT32 && rank == 1 && extents[0] == 4);
  OK(adjit_trace_tensor_is_weak(trace, y, &weak));
  CHECK(weak == 0);
  OK(adjit_trace_tensor_set_weak(trace, y));
  OK(adjit_trace_tensor_is_weak(trace, y, &weak));
  CHECK(weak == 1);
  OK(adjit_trace_finish(trace, 1, &y, &made));
  adjit_trace_destroy(trace);
  return made;
}

/* The reductions of index notation, over the result of a computation called inside the trace. */
static adjit_computation* by_index_notation(const adjit_computation* inner) {
  adjit_trace* trace = NULL;
  adjit_computation* made = NULL;
  adjit_tensor x = ADJIT_NONE, y = ADJIT_NONE, results[3];
  adjit_axis i = ADJIT_NONE, r = ADJIT_NONE;
  adjit_expr at, value, one, half, yes, sum, wide, left, right, folded, zero, custom;
  adjit_expr operands[3];
  adjit_dtype dtype = ADJIT_BOOL;
  int64_t shape[1] = {4};
  OK(adjit_trace_create(NULL, &trace));
  OK(adjit_trace_input(trace, "x", ADJIT_FLOAT32, 1, shape, 0, &x));
  OK(adjit_trace_call(trace, inner, 1, &x, 1, &y));
  OK(adjit_axis_create(trace, 0, 4, "i", &i));
  OK(adjit_axis_create(trace, 0, 4, "r", &r));
  OK(adjit_expr_axis(trace, r, &at));
  OK(adjit_expr_read(trace, y, 1, &at, "error", &value));
  OK(adjit_expr_int(trace, 1, &one));
  OK(adjit_expr_float(trace, 0.5, &half));
  OK(adjit_expr_bool(trace, 1, &yes));
  operands[0] = value;
  operands[1] = half;
  OK(adjit_expr_apply(trace, "mul", 2, operands, &value));
  OK(adjit_expr_reduce(trace, "sum", value, 1, &r, yes, "first", &sum));
  OK(adjit_expr_cast(trace, sum, ADJIT_FLOAT64, &wide));
  OK(adjit_expr_dtype(trace, wide, &dtype));
  CHECK(dtype == ADJIT_FLOAT64);
  OK(adjit_expr_argument(trace, 0, ADJIT_FLOAT32, &left));
  OK(adjit_expr_argument(trace, 1, ADJIT_FLOAT32, &right));
  operands[0] = left;
  operands[1] = right;
  OK(adjit_expr_apply(trace, "max", 2, operands, &folded));
  OK(adjit_expr_float(trace, -1e30, &zero));
  OK(adjit_expr_reduce_custom(trace, 1, &value, &folded, &zero, 1, &r, ADJIT_NONE, &custom));
  OK(adjit_trace_compute(trace, "total", 0, NULL, 1, &wide, &results[0]));
  OK(adjit_trace_compute(trace, "largest", 0, NULL, 1, &custom, &results[1]));
  OK(adjit_expr_axis(trace, i, &at));
  operands[0] = at;
  operands[1] = one;
  OK(adjit_expr_apply(trace, "bitand", 2, operands, &at));
  shape[0] = 2;
  OK(adjit_trace_scatter(trace, "counts", 1, shape, 1, &i, &at, half, "add", ADJIT_NONE, "drop",
                         ADJIT_NONE, &results[2]));
  OK(adjit_trace_finish(trace, 2, results, &made));
  adjit_trace_destroy(trace);
  return made;
}

static adjit_computation* by_text(void) {
  adjit_text_module* module = NULL;
  adjit_computation* made = NULL;
  const char* json = NULL;
  const adjit_dtype dtype = ADJIT_FLOAT32;
  const int32_t rank = 1;
  const int64_t shape = 4;
  OK(adjit_text_module_create("def norm(float(N) x) -> (s) { s() +=! x(i) * x(i) }", "norm.tc",
                              &module));
  OK(adjit_text_module_definitions(module, &json));
  CHECK(json != NULL && strstr(json, "norm") != NULL);
  OK(adjit_text_module_instantiate(module, "norm", 1, &dtype, &rank, &shape, &made));
  adjit_text_module_destroy(module);
  return made;
}

static void describe(const adjit_computation* computation) {
  int32_t inputs = -1, outputs = -1, rank = -1;
  adjit_dtype dtype = ADJIT_BOOL;
  const int64_t* shape = NULL;
  const char *name = NULL, *text = NULL;
  OK(adjit_computation_counts(computation, &inputs, &outputs));
  CHECK(inputs == 1 && outputs >= 1);
  OK(adjit_computation_tensor(computation, 0, 0, &dtype, &rank, &shape, &name));
  CHECK(dtype == ADJIT_FLOAT32 && rank == 1 && shape[0] == 4 && strcmp(name, "x") == 0);
  OK(adjit_computation_text(computation, &text));
  CHECK(strstr(text, "def ") != NULL);
  OK(adjit_computation_stages(computation, &text));
  CHECK(strstr(text, "\"iterations\"") != NULL);
}

static adjit_executable* compile(adjit_context* context, const adjit_computation* computation) {
  adjit_lower_options options;
  adjit_lowered* lowered = NULL;
  adjit_executable* executable = NULL;
  const char* text = NULL;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.target = "cpu";
  options.title = "a C program";
  OK(adjit_computation_lower(context, computation, 0, NULL, &options, &lowered));
  OK(adjit_lowered_text(lowered, &text));
  OK(adjit_lowered_stages(lowered, &text));
  OK(adjit_lowered_schedule(lowered, &text));
  OK(adjit_lowered_schedule_json(lowered, &text));
  CHECK(text[0] == '[');
  OK(adjit_lowered_explain(lowered, &text));
  CHECK(strncmp(text, "predicted", 9) == 0);
  OK(adjit_lowered_cost(lowered, &text));
  CHECK(strstr(text, "\"kernels\"") != NULL);
  OK(adjit_lowered_proposals(lowered, 2, 1, &text));
  CHECK(strstr(text, "\"predicted\"") != NULL);
  OK(adjit_lowered_keep_schedule(lowered, NULL));
  OK(adjit_lowered_compile(lowered, &executable));
  adjit_lowered_destroy(lowered);
  OK(adjit_executable_report(executable, &text));
  CHECK(strstr(text, "\"cache\"") != NULL);
  OK(adjit_executable_llvm(executable, &text));
  CHECK(strstr(text, "define") != NULL);
  OK(adjit_executable_assembly(executable, &text));
  CHECK(strlen(text) > 0);
  CHECK(adjit_executable_ptx(executable, &text) == ADJIT_DEVICE);
  OK(adjit_executable_synchronize(executable));
  return executable;
}

/* An array as an interpreter's object would describe it, and two of them in a container. */
struct object {
  const void *kind, *dtype;
  void* data;
  const int64_t *shape, *strides;
  int rank, flags;
};
struct objects {
  int64_t count;
  const struct object* items[2];
};

static int never(void* user) { return *(int*)user; }

static void run_with(adjit_executable* executable, const DLTensor* const* in, int32_t in_count,
                     DLTensor* const* out, int32_t out_count) {
  adjit_interpreter interpreter = {sizeof interpreter, 0, 0, NULL, NULL, NULL, NULL, {NULL}};
  adjit_run_options options = {sizeof options, 0, NULL, NULL, NULL, NULL, never, 0, 0};
  int answer = 0;
  options.user = &answer;
  OK(adjit_executable_run_with(executable, in_count, in, out_count, out, &options));
  OK(adjit_executable_run_with(executable, in_count, in, out_count, out, NULL));
  /* No interpreter's thread: nothing of it is called. */
  CHECK(adjit_interpreter_cancel(&interpreter) == 0 && interpreter.raised == 0);
  OK(adjit_thread_set_cancel(adjit_interpreter_cancel, &interpreter));
  OK(adjit_thread_set_cancel(NULL, NULL));
}

static void run_objects(adjit_executable* executable, float* x, float* dy, float* y, float* dx) {
  static const char kind = 0, float32 = 0;
  const int64_t shape[1] = {4}, strides[1] = {sizeof(float)};
  float* addresses[4];
  struct object all[4];
  struct objects inputs, outputs;
  adjit_object_form form;
  int k;
  addresses[0] = x;
  addresses[1] = dy;
  addresses[2] = y;
  addresses[3] = dx;
  for (k = 0; k < 4; ++k) {
    all[k].kind = &kind;
    all[k].dtype = &float32;
    all[k].data = addresses[k];
    all[k].shape = shape;
    all[k].strides = strides;
    all[k].rank = 1;
    all[k].flags = 1;
  }
  inputs.count = outputs.count = 2;
  for (k = 0; k < 2; ++k) {
    inputs.items[k] = &all[k];
    outputs.items[k] = &all[2 + k];
  }
  memset(&form, 0, sizeof form);
  form.struct_size = sizeof form;
  form.kind = offsetof(struct object, kind);
  form.data = offsetof(struct object, data);
  form.rank = offsetof(struct object, rank);
  form.shape = offsetof(struct object, shape);
  form.strides = offsetof(struct object, strides);
  form.dtype = offsetof(struct object, dtype);
  form.flags = offsetof(struct object, flags);
  form.writable = 1;
  form.count = offsetof(struct objects, count);
  form.items = offsetof(struct objects, items);
  form.kind_value = &kind;
  form.dtype_values[ADJIT_FLOAT32] = &float32;
  OK(adjit_executable_run_objects(executable, &form, &inputs, &outputs));
}

/* x -> 2 x x and its derivative, checked by all ways of running. */
static void run(adjit_context* context, const adjit_computation* computation) {
  float x[4] = {1, 2, 3, 4}, dy[4] = {1, 1, 1, 10}, y[4] = {0}, dx[4] = {0};
  int64_t shape[1] = {4};
  int32_t zero = 0;
  DLTensor in_x = array(x, 1, shape), in_dy = array(dy, 1, shape);
  DLTensor out_y = array(y, 1, shape), out_dx = array(dx, 1, shape);
  const DLTensor* inputs[2];
  DLTensor* outputs[2];
  const void* in[2];
  void* out[2];
  adjit_computation *joint = NULL, *forward = NULL, *backward = NULL;
  adjit_executable* executable;
  const char* profile = NULL;
  inputs[0] = &in_x;
  inputs[1] = &in_dy;
  outputs[0] = &out_y;
  outputs[1] = &out_dx;
  in[0] = x;
  in[1] = dy;
  out[0] = y;
  out[1] = dx;
  OK(adjit_computation_vjp(computation, 1, &zero, 1, &zero, 1, &joint));
  executable = compile(context, joint);
  OK(adjit_executable_run(executable, 2, inputs, 2, outputs));
  CHECK(y[3] == 32 && dx[3] == 160 && dx[0] == 4);
  run_with(executable, inputs, 2, outputs, 2);
  x[3] = 5;
  OK(adjit_executable_run_raw(executable, in, out));
  CHECK(y[3] == 50 && dx[3] == 200);
  x[3] = 6;
  run_objects(executable, x, dy, y, dx);
  CHECK(y[3] == 72 && dx[3] == 240);
  OK(adjit_executable_profile(executable, 2, inputs, 2, outputs, 2, &profile));
  CHECK(strstr(profile, "microseconds") != NULL);
  CHECK(adjit_executable_run(executable, 1, inputs, 2, outputs) == ADJIT_INVALID);
  CHECK(strlen(adjit_last_error_message()) > 0);
  adjit_executable_destroy(executable);
  OK(adjit_computation_partition(joint, 1, 1, -1, &forward, &backward));
  adjit_computation_destroy(forward);
  adjit_computation_destroy(backward);
  adjit_computation_destroy(joint);
}

/* A step (c, x) -> (c + x, c * x), or primal, forward and backward of a gradient of one's own. */
static adjit_computation* pair(const char* first, const char* second, int32_t outputs) {
  adjit_trace* trace = NULL;
  adjit_computation* made = NULL;
  adjit_tensor inputs[2], results[2];
  int64_t shape[1] = {4};
  int32_t count = 1;
  OK(adjit_trace_create(first, &trace));
  OK(adjit_trace_input(trace, "a", ADJIT_FLOAT32, 1, shape, 0, &inputs[0]));
  OK(adjit_trace_input(trace, "b", ADJIT_FLOAT32, 1, shape, 0, &inputs[1]));
  OK(adjit_trace_operator(trace, first, 2, inputs, NULL, &count, &results[0]));
  OK(adjit_trace_operator(trace, second, 2, inputs, NULL, &count, &results[1]));
  OK(adjit_trace_finish(trace, outputs, results, &made));
  adjit_trace_destroy(trace);
  return made;
}

/* Scan, loop, checkpoint and a gradient of one's own, all in one trace. */
static void control(adjit_context* context) {
  adjit_computation* step = pair("add", "multiply", 2);
  adjit_computation* primal = pair("add", "multiply", 1);
  adjit_computation *body = NULL, *made = NULL, *batched = NULL, *tangents = NULL, *backward;
  adjit_trace* trace = NULL;
  adjit_scan_options options;
  adjit_tensor operands[2], scanned[2], loop[2], again[2], x, flag;
  adjit_executable* executable;
  int64_t shape[2] = {3, 4};
  int32_t count = 1, zero = 0;
  int32_t both[2] = {0, ADJIT_NO_AXIS};
  float start[4] = {1, 2, 3, 4}, xs[12], last[4] = {0};
  const void* in[2];
  void* out[1];
  size_t k;
  for (k = 0; k < 12; ++k) xs[k] = (float)k;
  /* (s, go) -> (2 s, 2 s < 100) */
  OK(adjit_trace_create("body", &trace));
  OK(adjit_trace_input(trace, "s", ADJIT_FLOAT32, 0, NULL, 0, &loop[0]));
  OK(adjit_trace_input(trace, "go", ADJIT_BOOL, 0, NULL, 0, &loop[1]));
  OK(adjit_trace_operator(trace, "multiply", 1, loop, "{\"scalars\": [null, 2]}", &count,
                          &loop[0]));
  OK(adjit_trace_operator(trace, "less", 1, loop, "{\"scalars\": [null, 100]}", &count, &loop[1]));
  OK(adjit_trace_finish(trace, 2, loop, &body));
  adjit_trace_destroy(trace);
  OK(adjit_trace_create("control", &trace));
  OK(adjit_trace_input(trace, "c", ADJIT_FLOAT32, 1, shape + 1, 0, &operands[0]));
  OK(adjit_trace_input(trace, "xs", ADJIT_FLOAT32, 2, shape, 0, &operands[1]));
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.carries = 1;
  options.scanned = 1;
  options.steps = 3;
  OK(adjit_trace_scan(trace, step, &options, 2, operands, 2, scanned));
  OK(adjit_trace_operator(trace, "sum", 1, scanned, NULL, &count, &loop[0]));
  OK(adjit_trace_operator(trace, "less", 1, loop, "{\"scalars\": [null, 100]}", &count, &loop[1]));
  OK(adjit_trace_while(trace, body, 2, 2, loop, 2, again));
  x = operands[0];
  operands[0] = scanned[0];
  operands[1] = x;
  OK(adjit_trace_checkpoint(trace, primal, 2, operands, 1, &x));
  operands[0] = x;
  backward = pair("multiply", "multiply", 2);
  OK(adjit_trace_custom_vjp(trace, primal, step, backward, 0, 2, operands, 1, &flag));
  adjit_computation_destroy(backward);
  OK(adjit_trace_finish(trace, 1, &flag, &made));
  adjit_trace_destroy(trace);
  executable = compile(context, made);
  in[0] = start;
  in[1] = xs;
  out[0] = last;
  OK(adjit_executable_run_raw(executable, in, out));
  CHECK(last[0] == 12 + 1 + 1 + 1); /* c + sum of xs, then + c twice */
  adjit_executable_destroy(executable);
  OK(adjit_computation_jvp(primal, 1, &zero, 0, &tangents));
  OK(adjit_computation_vmap(primal, 2, both, 5, 1, &zero, &batched));
  adjit_computation_destroy(tangents);
  adjit_computation_destroy(batched);
  adjit_computation_destroy(made);
  adjit_computation_destroy(body);
  adjit_computation_destroy(primal);
  adjit_computation_destroy(step);
}

static void run_gradient(adjit_context* context, const adjit_computation* computation) {
  float x[4] = {1, 2, 3, 4}, s = 0, dx[4] = {0};
  const void* in[1];
  void* out[2];
  int32_t zero = 0;
  adjit_computation* gradient = NULL;
  adjit_executable* executable;
  in[0] = x;
  out[0] = &s;
  out[1] = dx;
  OK(adjit_computation_gradient(computation, 1, &zero, 0, 1, &gradient));
  executable = compile(context, gradient);
  OK(adjit_executable_run_raw(executable, in, out));
  CHECK(s == 30 && dx[2] == 6);
  adjit_executable_destroy(executable);
  adjit_computation_destroy(gradient);
}

static void run_notation(adjit_context* context, const adjit_computation* computation) {
  float x[4] = {1, 2, 3, 4}, largest = 0;
  double total = 0;
  const void* in[1];
  void* out[2];
  adjit_executable* executable = compile(context, computation);
  in[0] = x;
  out[0] = &total;
  out[1] = &largest;
  OK(adjit_executable_run_raw(executable, in, out));
  CHECK(fabs(total - 30) < 1e-9 && largest == 16);
  adjit_executable_destroy(executable);
}

static void refuse_export(void) {
  const char* name = "f";
  CHECK(adjit_lowered_export(NULL, 0, NULL, NULL, ".") == ADJIT_INVALID);
  CHECK(adjit_lowered_export("f", 1, NULL, &name, ".") == ADJIT_INVALID);
}

int main(void) {
  int messages = 0;
  adjit_context* context;
  adjit_computation *square, *notation, *norm;
  library();
  context = make_context(&messages);
  square = by_operators();
  notation = by_index_notation(square);
  norm = by_text();
  describe(square);
  describe(norm);
  run(context, square);
  run_gradient(context, norm);
  run_notation(context, notation);
  control(context);
  refuse_export();
  adjit_computation_destroy(norm);
  adjit_computation_destroy(notation);
  adjit_computation_destroy(square);
  adjit_context_destroy(context);
  CHECK(messages == 0);
  return failures != 0;
}
