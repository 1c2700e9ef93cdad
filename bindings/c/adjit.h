/* adjit.h -- the C interface of adjit (C99, ABI version 1).
 *
 * Write a forward computation once (by operators, index notation or text), get its derivative,
 * compile both, run them on arrays described by DLPack tensors.
 *
 * Conventions
 *  - Every function returns an adjit_status. On failure the out-parameters are untouched and
 *    adjit_last_error_message() tells this thread what, where and how to mend it.
 *  - Handles are opaque. `_create` (and every function with a handle as out-parameter) gives a
 * handle that the caller releases with the matching `_destroy`; destroying NULL is allowed. Handles
 * that are made from others keep what they need alive, so they may be destroyed in any order.
 *  - Strings given to a function are borrowed for the call, UTF-8, zero-terminated. Strings
 * received belong to the handle they came from and live as long as it does (or as the comment
 * says).
 *  - Option structs begin with struct_size (set it to sizeof); a member that is zero means its
 * default.
 *  - Arrays are borrowed DLTensors: the caller keeps them and their memory alive during the call.
 * Shapes and strides count elements; strides NULL means row-major. Input memory is only read.
 *  - Threads: a trace and what hangs on it is used by one thread at a time. Everything else may be
 * used by any number of threads at once. The error message is per thread.
 *  - No exception, abort or exit crosses this interface.
 */
#ifndef ADJIT_H
#define ADJIT_H

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ADJIT_API __attribute__((visibility("default")))
#else
#define ADJIT_API
#endif

#define ADJIT_ABI_VERSION 1

typedef enum adjit_status {
  ADJIT_OK = 0,
  ADJIT_INVALID = 1,            /* an argument that no other status describes */
  ADJIT_SHAPE = 2,              /* ranks or extents that do not fit */
  ADJIT_DTYPE = 3,              /* an element type the operation does not take */
  ADJIT_BOUNDS = 4,             /* an index out of range */
  ADJIT_NOT_DIFFERENTIABLE = 5, /* a derivative that does not exist */
  ADJIT_PARSE = 6,              /* text notation: line, column, caret in the message */
  ADJIT_SCHEDULE = 7,           /* an illegal or foreign schedule */
  ADJIT_COMPILE = 8,            /* code that could not be generated */
  ADJIT_DEVICE = 9,             /* a target that is not there */
  ADJIT_CACHE = 10,             /* a cache that cannot be used as asked */
  ADJIT_MEMORY = 11,            /* an allocation that failed */
  ADJIT_INTERNAL = 12,          /* a bug in adjit: please report it */
  ADJIT_CANCELLED = 13          /* a cancel hook of the caller's ended the call */
} adjit_status;

/* Element types, by number. */
typedef enum adjit_dtype {
  ADJIT_BOOL = 0,
  ADJIT_UINT8 = 1,
  ADJIT_INT8 = 2,
  ADJIT_INT16 = 3,
  ADJIT_INT32 = 4,
  ADJIT_INT64 = 5,
  ADJIT_FLOAT16 = 6,
  ADJIT_BFLOAT16 = 7,
  ADJIT_FLOAT32 = 8,
  ADJIT_FLOAT64 = 9
} adjit_dtype;

typedef struct adjit_context adjit_context; /* caches, threads, compiler */
typedef struct adjit_trace adjit_trace;     /* a computation under construction */
typedef struct adjit_computation
    adjit_computation; /* a finished computation, forward or derived; immutable */
typedef struct adjit_text_module adjit_text_module; /* parsed text notation */
typedef struct adjit_lowered adjit_lowered;         /* a computation with a schedule */
typedef struct adjit_executable adjit_executable;   /* machine code */

typedef uint32_t adjit_tensor; /* a tensor of a trace */
typedef uint32_t adjit_axis;   /* an axis of a trace's index notation */
typedef uint32_t adjit_expr;   /* a scalar expression of a trace's index notation */
#define ADJIT_NONE UINT32_MAX  /* no tensor, no expression */

/* ---- Library
 * -------------------------------------------------------------------------------------------------
 */

/* "0.2.0"; static storage. */
ADJIT_API const char* adjit_version(void);
ADJIT_API uint32_t adjit_abi_version(void);
/* What this thread's last failed call said, or "". Valid until this thread's next failed call. */
ADJIT_API const char* adjit_last_error_message(void);
/* "shape", "dtype", ...; static storage. */
ADJIT_API const char* adjit_status_name(adjit_status status);

typedef enum adjit_log_level {
  ADJIT_LOG_ERROR = 1,
  ADJIT_LOG_WARNING,
  ADJIT_LOG_INFO,
  ADJIT_LOG_DEBUG,
  ADJIT_LOG_TRACE
} adjit_log_level;
/* Called from any thread, never under a lock. */
typedef void (*adjit_log_function)(void* user, adjit_log_level level, const char* message);

/* Asked now and then, at most some twenty times a second, while a call lasts longer than a few
 * hundredths of a second: between phases of a compilation, kernels, ranges of a kernel's tasks, and
 * steps of a scan or a loop. Anything but 0 ends the call with ADJIT_CANCELLED: its out-parameters
 * are untouched, the elements of output arrays undefined; everything stays usable, and the next
 * call works. In the thread that called (but for adjit_executable_run in a thread with less stack
 * than its kernels need, where it is the thread that works in its place); never under a lock, so
 * that it may wait for locks of its own. It must not throw; it may call adjit. */
typedef int (*adjit_cancel_function)(void* user);
/* The calling thread's hook, for long calls that nothing else brings a hook to, among them those
 * that belong to no context and may derive a computation: adjit_computation_partition, _text and
 * _stages, adjit_trace_call, _checkpoint, _custom_vjp, _scan and _while. NULL: none, as at first.
 * `user` is borrowed until the hook is replaced or the thread ends. */
ADJIT_API adjit_status adjit_thread_set_cancel(adjit_cancel_function cancel, void* user);

typedef struct adjit_context_options {
  uint32_t struct_size;
  int32_t num_threads; /* of kernels. 0: ADJIT_NUM_THREADS, else the cores this process may use.
                          Never changes results */
  const char* cache_directory; /* NULL: the environment (ADJIT_CACHE_DIR, XDG_CACHE_HOME, HOME) */
  const char* cache_mode;      /* "off", "ro", "rw"; NULL: the environment (ADJIT_CACHE) */
  /* Which processor to generate code for: "native", "x86-64-v2" (SSE4.2), "x86-64-v3" (AVX2),
   * "x86-64-v4" (AVX-512) or another name that LLVM knows; features may follow, as in
   * "native,-avx512f". A part of the cache's key. ADJIT_INVALID for what this processor lacks.
   * NULL: the environment (ADJIT_CPU), else native. */
  const char* target_features;
  adjit_log_function log; /* NULL: warnings and errors to standard error, more with ADJIT_LOG */
  void* log_user;
  int32_t check_nan; /* > 0: adjit_executable_run fails with ADJIT_INVALID where a stage makes a
                        NaN, and names stage, line and index; < 0: it does not; 0: ADJIT_CHECK_NAN.
                        Results may differ in rounding from those without */
  int32_t reserved;  /* 0 */
  /* < 0: subnormal numbers (float32 and bfloat16 below 2^-126, float64 below 2^-1022) count as
   * zeros of their sign in arithmetic, as arguments and as results, whatever the calling thread's
   * mode is, which is left as it was; > 0: they are computed with (but for products of bfloat16
   * numbers that AVX512-BF16 adds up in pairs), over a hundred times slower on some processors;
   * 0: ADJIT_SUBNORMALS ("flush", "keep"), else they count as zeros. */
  int32_t keep_subnormals;
  int32_t reserved_too; /* 0 */
  /* Of every call for what is lowered in this context and for its executables, in whatever thread;
   * NULL: the calling thread's, if it has one. */
  adjit_cancel_function cancel;
  void* cancel_user;
} adjit_context_options;

/* options may be NULL. Touches no file and starts no thread before there is something to compile.
 */
ADJIT_API adjit_status adjit_context_create(const adjit_context_options* options,
                                            adjit_context** context);
/* Blocks until what is queued for the disk cache is written. Executables stay valid. */
ADJIT_API void adjit_context_destroy(adjit_context* context);
/* Blocks until the cache's queue is written. */
ADJIT_API adjit_status adjit_context_flush(adjit_context* context);
/* JSON: version, llvm, compiler, target {triple, cpu, features, vector_bits}, threads, subnormals,
 * gpus (name; target, capability and memory_bytes once the process uses GPUs), cache {directory,
 * mode, writable, max_bytes}. The string lives until this context's next
 * call of this function. */
ADJIT_API adjit_status adjit_context_info(adjit_context* context, const char** json);
/* The ordinal of the GPU that memory lies on, by an address in it, for arrays that do not say it
 * themselves: DLDevice's device_id. ADJIT_DEVICE where the CUDA driver has given out no such
 * memory, and where there is no driver. Any thread. */
ADJIT_API adjit_status adjit_gpu_of(const void* address, int32_t* device);

/* ---- Tracing
 * ---------------------------------------------------------------------------------------------------
 */

ADJIT_API adjit_status adjit_trace_create(const char* name, adjit_trace** trace);
ADJIT_API void adjit_trace_destroy(adjit_trace* trace);
/* The user's position: put on every stage added from here on, and into messages. line <= 0:
 * unknown. */
ADJIT_API adjit_status adjit_trace_set_source(adjit_trace* trace, const char* file, int32_t line,
                                              const char* operation);
/* The next parameter. weak != 0: a Python scalar, whose dtype adapts to what it meets. */
ADJIT_API adjit_status adjit_trace_input(adjit_trace* trace, const char* name, adjit_dtype dtype,
                                         int32_t rank, const int64_t* shape, int32_t weak,
                                         adjit_tensor* tensor);
/* Copies the data (any strides). */
ADJIT_API adjit_status adjit_trace_constant(adjit_trace* trace, const char* name,
                                            const DLTensor* data, adjit_tensor* tensor);
/* Shape and dtype of a traced tensor. *shape lives as long as the trace. */
ADJIT_API adjit_status adjit_trace_tensor_info(adjit_trace* trace, adjit_tensor tensor,
                                               adjit_dtype* dtype, int32_t* rank,
                                               const int64_t** shape);
ADJIT_API adjit_status adjit_trace_tensor_is_weak(adjit_trace* trace, adjit_tensor tensor,
                                                  int32_t* weak);
/* Says that a traced tensor stands for a Python number, as `weak` of an input does. */
ADJIT_API adjit_status adjit_trace_tensor_set_weak(adjit_trace* trace, adjit_tensor tensor);
/* An operator by name ("matmul", "nn.conv2d"; see adjit_operators) on tensors, with its attributes
 * as a JSON object (NULL: none). "scalars" puts numbers in the place of operands: [null, 0.5] is a
 * tensor and a weak number, {"dtype": "float64", "value": 0.5} a number of that dtype; which dtypes
 * meet as which is docs/promotion.md's. *count on entry: room in results; on return: how many there
 * are (ADJIT_INVALID when there is not room enough). */
ADJIT_API adjit_status adjit_trace_operator(adjit_trace* trace, const char* name,
                                            int32_t input_count, const adjit_tensor* inputs,
                                            const char* attributes_json, int32_t* count,
                                            adjit_tensor* results);
/* Runs a computation inside this trace: arguments become its inputs; results has room for its
 * outputs. Cotangents of a vjp that are 0 as this trace says (a constant, "zeros_like") are left
 * out: what they would weigh is not computed, also where it is infinite. */
ADJIT_API adjit_status adjit_trace_call(adjit_trace* trace, const adjit_computation* computation,
                                        int32_t argument_count, const adjit_tensor* arguments,
                                        int32_t result_count, adjit_tensor* results);

typedef struct adjit_scan_options {
  uint32_t struct_size;
  int32_t carries; /* the step's first inputs, and its first outputs: shape and dtype stay */
  int32_t scanned; /* the inputs behind them: one slice of the operand's leading axis a step */
  int32_t reverse; /* != 0: from the last slice to the first */
  int64_t steps;   /* may be 0; every scanned operand's leading extent */
  int64_t segment; /* > 0: the derivative keeps the carries of every segment-th step only, and runs
                      a segment again to go back through it. 0: it keeps all that it needs */
} adjit_scan_options;
/* Runs a computation once per step. Its inputs: carries, one slice per scanned operand, then the
 * fixed operands, the same every step. Its outputs: the next carries, then slices to be stacked.
 * Operands in that order; results (all of them): the last carries, then the stacked results, whose
 * leading extent is `steps`. ADJIT_SHAPE, ADJIT_DTYPE: an operand that does not fit, or a carry
 * that the step changes, by name. */
ADJIT_API adjit_status adjit_trace_scan(adjit_trace* trace, const adjit_computation* step,
                                        const adjit_scan_options* options, int32_t operand_count,
                                        const adjit_tensor* operands, int32_t result_count,
                                        adjit_tensor* results);
/* Runs `body` as long as the last carry, one bool scalar, is true; at first it is the operand. The
 * body's inputs are the carries, then the fixed operands; its outputs the next carries. results:
 * the last carries, that bool among them. Reverse mode through it raises ADJIT_NOT_DIFFERENTIABLE.
 */
ADJIT_API adjit_status adjit_trace_while(adjit_trace* trace, const adjit_computation* body,
                                         int32_t carry_count, int32_t operand_count,
                                         const adjit_tensor* operands, int32_t result_count,
                                         adjit_tensor* results);
/* As adjit_trace_call, but derivatives compute the computation's intermediates again instead of
 * keeping them. */
ADJIT_API adjit_status adjit_trace_checkpoint(adjit_trace* trace,
                                              const adjit_computation* computation,
                                              int32_t argument_count, const adjit_tensor* arguments,
                                              int32_t result_count, adjit_tensor* results);
/* As adjit_trace_call of `primal`, but reverse mode runs `forward` in its place (the same inputs;
 * primal's outputs, then residuals) and takes the gradients from `backward` (inputs: residuals,
 * then one cotangent per float output; outputs: one gradient per float input but the last `closed`
 * inputs, through which no derivative may pass: ADJIT_NOT_DIFFERENTIABLE when one would).
 * ADJIT_SHAPE, ADJIT_DTYPE, ADJIT_INVALID: three that do not fit together. */
ADJIT_API adjit_status adjit_trace_custom_vjp(adjit_trace* trace, const adjit_computation* primal,
                                              const adjit_computation* forward,
                                              const adjit_computation* backward, int32_t closed,
                                              int32_t argument_count, const adjit_tensor* arguments,
                                              int32_t result_count, adjit_tensor* results);
/* Ends the trace. */
ADJIT_API adjit_status adjit_trace_finish(adjit_trace* trace, int32_t output_count,
                                          const adjit_tensor* outputs,
                                          adjit_computation** computation);
/* JSON array of all operators: name, signature, shapes, gradient, several (whether the number of
 * results depends on the operands, so that one is a list of one). Static storage; NULL where memory
 * runs out. */
ADJIT_API const char* adjit_operators(void);

/* ---- Index notation: C[i, j] = sum_k A[i, k] * B[k, j]
 * ------------------------------------------------------------ */

ADJIT_API adjit_status adjit_axis_create(adjit_trace* trace, int64_t lo, int64_t hi,
                                         const char* name, adjit_axis* axis);
ADJIT_API adjit_status adjit_expr_axis(adjit_trace* trace, adjit_axis axis, adjit_expr* expr);
/* Literals are weak: they take the other operand's dtype. */
ADJIT_API adjit_status adjit_expr_int(adjit_trace* trace, int64_t value, adjit_expr* expr);
ADJIT_API adjit_status adjit_expr_float(adjit_trace* trace, double value, adjit_expr* expr);
ADJIT_API adjit_status adjit_expr_bool(adjit_trace* trace, int32_t value, adjit_expr* expr);
/* mode: "error", "clip", "wrap", "drop" (NULL: "error"), for indices that only the data tells. */
ADJIT_API adjit_status adjit_expr_read(adjit_trace* trace, adjit_tensor tensor, int32_t rank,
                                       const adjit_expr* index, const char* mode, adjit_expr* expr);
/* Operations by their name in text notation or in English: "+", "add", "//", "select", "exp", "<=",
 * ... */
ADJIT_API adjit_status adjit_expr_apply(adjit_trace* trace, const char* operation,
                                        int32_t operand_count, const adjit_expr* operands,
                                        adjit_expr* expr);
ADJIT_API adjit_status adjit_expr_cast(adjit_trace* trace, adjit_expr operand, adjit_dtype dtype,
                                       adjit_expr* expr);
ADJIT_API adjit_status adjit_expr_dtype(adjit_trace* trace, adjit_expr expr, adjit_dtype* dtype);
/* reducer: "sum", "prod", "max", "min", "argmax", "argmin", "any", "all". where: ADJIT_NONE for
 * everywhere. ties: "even", "first" or NULL. */
ADJIT_API adjit_status adjit_expr_reduce(adjit_trace* trace, const char* reducer, adjit_expr body,
                                         int32_t axis_count, const adjit_axis* axes,
                                         adjit_expr where, const char* ties, adjit_expr* expr);
/* Custom associative reducers on n-tuples: combine[k] over adjit_expr_argument(0 .. 2n-1),
 * identity[k] literals. results: n. */
ADJIT_API adjit_status adjit_expr_argument(adjit_trace* trace, int32_t number, adjit_dtype dtype,
                                           adjit_expr* expr);
ADJIT_API adjit_status adjit_expr_reduce_custom(adjit_trace* trace, int32_t n,
                                                const adjit_expr* bodies, const adjit_expr* combine,
                                                const adjit_expr* identity, int32_t axis_count,
                                                const adjit_axis* axes, adjit_expr where,
                                                adjit_expr* results);
/* results[k][axes...] = bodies[k]; reductions may stand anywhere in them. */
ADJIT_API adjit_status adjit_trace_compute(adjit_trace* trace, const char* name, int32_t axis_count,
                                           const adjit_axis* axes, int32_t body_count,
                                           const adjit_expr* bodies, adjit_tensor* results);
/* result[target...] (+)= value over all points of the axes. combine: "add", "mul", "max", "min",
 * "set"; initial: ADJIT_NONE for the combiner's identity; mode as in adjit_expr_read. */
ADJIT_API adjit_status adjit_trace_scatter(adjit_trace* trace, const char* name, int32_t rank,
                                           const int64_t* shape, int32_t axis_count,
                                           const adjit_axis* axes, const adjit_expr* target,
                                           adjit_expr value, const char* combine,
                                           adjit_tensor initial, const char* mode, adjit_expr where,
                                           adjit_tensor* result);

/* ---- Text notation
 * ---------------------------------------------------------------------------------------------- */

ADJIT_API adjit_status adjit_text_module_create(const char* source, const char* file_name,
                                                adjit_text_module** module);
ADJIT_API void adjit_text_module_destroy(adjit_text_module* module);
/* JSON: [{"name", "inputs": [...], "dtypes": [...], "outputs": [...]}], with the inputs' declared
 * dtypes as adjit_dtype; lives as long as the module. */
ADJIT_API adjit_status adjit_text_module_definitions(adjit_text_module* module, const char** json);
/* One definition for these input shapes: ranks[k] extents of input k, one after another in shapes.
 */
ADJIT_API adjit_status adjit_text_module_instantiate(adjit_text_module* module, const char* name,
                                                     int32_t input_count, const adjit_dtype* dtypes,
                                                     const int32_t* ranks, const int64_t* shapes,
                                                     adjit_computation** computation);

/* ---- Computations
 * ------------------------------------------------------------------------------------------------
 */

ADJIT_API void adjit_computation_destroy(adjit_computation* computation);
ADJIT_API adjit_status adjit_computation_counts(const adjit_computation* computation,
                                                int32_t* inputs, int32_t* outputs);
/* Shape and dtype of input (is_output 0) or output k; *shape lives as long as the computation. */
ADJIT_API adjit_status adjit_computation_tensor(const adjit_computation* computation,
                                                int32_t is_output, int32_t k, adjit_dtype* dtype,
                                                int32_t* rank, const int64_t** shape,
                                                const char** name);
/* The computation in text notation (derives it first if it has not been). Lives as long as the
 * computation. */
ADJIT_API adjit_status adjit_computation_text(const adjit_computation* computation,
                                              const char** text);
/* JSON: per stage name, shape, dtype, flops, bytes, iterations (exact number of points of its
 * domain), lines. */
ADJIT_API adjit_status adjit_computation_stages(const adjit_computation* computation,
                                                const char** json);
/* Reverse mode. wrt: input positions; outputs: positions of the outputs that get a cotangent.
 * Inputs of the result: the computation's, then one cotangent per listed output. Outputs: the
 * computation's if keep_outputs != 0, then one gradient per wrt. Checks for integer inputs at once;
 * derives when first needed (a cache hit never needs it). */
ADJIT_API adjit_status adjit_computation_vjp(const adjit_computation* computation,
                                             int32_t wrt_count, const int32_t* wrt,
                                             int32_t output_count, const int32_t* outputs,
                                             int32_t keep_outputs, adjit_computation** result);
/* Gradient of the one-element output `output`, seeded with 1. Outputs: [that output if keep_value
 * != 0,] gradients. */
ADJIT_API adjit_status adjit_computation_gradient(const adjit_computation* computation,
                                                  int32_t wrt_count, const int32_t* wrt,
                                                  int32_t output, int32_t keep_value,
                                                  adjit_computation** result);
/* Forward mode. wrt: input positions, each once. Inputs of the result: the computation's, then one
 * tangent per wrt (its input's shape and dtype). Outputs: the computation's if keep_outputs != 0,
 * then one tangent per float output, zeros where it depends on no wrt; integer and bool outputs
 * have none. Checks positions and dtypes at once (ADJIT_INVALID, ADJIT_NOT_DIFFERENTIABLE), does
 * not block; derives when first needed. Transformations apply to results of transformations: the
 * jvp of a vjp multiplies a Hessian with a vector. Any thread; the caller owns *result. */
ADJIT_API adjit_status adjit_computation_jvp(const adjit_computation* computation,
                                             int32_t wrt_count, const int32_t* wrt,
                                             int32_t keep_outputs, adjit_computation** result);
/* Batching: the computation on each of `size` elements. in_axes: one number per input, the
 * position of its batch dimension in the batched shape, or ADJIT_NO_AXIS for an input that all
 * elements share; out_axes: likewise per output. Outputs that do not depend on the batch are
 * repeated along their axis; ADJIT_NO_AXIS is for those only (ADJIT_INVALID when derived). Counts
 * must be those of the computation. Checks counts and axes at once (ADJIT_INVALID), does not
 * block; derives when first needed. Any thread; the caller owns *result. */
#define ADJIT_NO_AXIS (-1)
ADJIT_API adjit_status adjit_computation_vmap(const adjit_computation* computation,
                                              int32_t input_count, const int32_t* in_axes,
                                              int64_t size, int32_t output_count,
                                              const int32_t* out_axes, adjit_computation** result);
/* Cuts a vjp with keep_outputs (of `primals` inputs and `results` outputs) in two: the forward
 * (primals -> results, residuals) and the backward (residuals, cotangents -> gradients).
 * memory_budget: bytes of residuals (primal inputs that are passed on do not count), negative for
 * no bound; more is computed again in the backward so that they fit. ADJIT_SCHEDULE, naming the
 * residuals, where they cannot. */
ADJIT_API adjit_status adjit_computation_partition(const adjit_computation* joint, int32_t primals,
                                                   int32_t results, int64_t memory_budget,
                                                   adjit_computation** forward,
                                                   adjit_computation** backward);

/* ---- Lowering and running
 * ------------------------------------------------------------------------------------------ */

typedef struct adjit_lower_options {
  uint32_t struct_size;
  const char* target; /* "cpu", "cuda" (the first GPU) or "cuda:1"; NULL: what ADJIT_TARGET says,
                         else "cpu". ADJIT_DEVICE where that is not there: the first target of a GPU
                         in a process loads libcuda.so.1 and initialises it, after which a forked
                         child cannot use GPUs */
  const char*
      title; /* what adjit-cache lists, such as "grad(loss)"; NULL: the computation's name */
  const char* schedule_json; /* a schedule to use; NULL: the one kept by
                                adjit_lowered_keep_schedule, else what adjit chooses, which
                                "heuristic" names whatever was kept. Empty text: ADJIT_SCHEDULE.
                                What is no legal schedule here gives ADJIT_SCHEDULE, naming the
                                move, wherever the schedule is asked for */
  double trace_ms;           /* what tracing cost the caller, for the records */
  int64_t memory_budget; /* bytes of workspace that a run may take besides inputs and outputs, with
                            as many threads as cores; 0: no
                            bound. Where the schedule needs more, stages are computed a second
                            time instead of kept; where that does not do, whatever asks for the
                            schedule gives ADJIT_SCHEDULE, naming the stage that needs most.
                            Negative: ADJIT_INVALID */
} adjit_lower_options;

/* Fixes input layouts (only their shapes, dtypes and strides are looked at; inputs NULL: row-major)
 * and target. Does no work until something is asked of the result. */
ADJIT_API adjit_status adjit_computation_lower(adjit_context* context,
                                               const adjit_computation* computation,
                                               int32_t input_count, const DLTensor* const* inputs,
                                               const adjit_lower_options* options,
                                               adjit_lowered** lowered);
ADJIT_API void adjit_lowered_destroy(adjit_lowered* lowered);
/* All live as long as the handle. text: after derivation and clean-up; schedule: loop nests,
 * readable; schedule_json: replays. */
ADJIT_API adjit_status adjit_lowered_text(adjit_lowered* lowered, const char** text);
ADJIT_API adjit_status adjit_lowered_stages(adjit_lowered* lowered, const char** json);
ADJIT_API adjit_status adjit_lowered_schedule(adjit_lowered* lowered, const char** text);
ADJIT_API adjit_status adjit_lowered_schedule_json(adjit_lowered* lowered, const char** json);
/* The predicted cost of each kernel and stage by term, in microseconds, and the best alternatives
 * to the default schedule with theirs, as text. */
ADJIT_API adjit_status adjit_lowered_explain(adjit_lowered* lowered, const char** text);
/* What the cost model predicts, with what it looks at: JSON object of microseconds, the names of
 * inputs and terms, and kernels with their nests (jit/engine/report/cost_report.hpp). For training
 * the model and for looking into it: names of inputs change with versions. */
ADJIT_API adjit_status adjit_lowered_cost(adjit_lowered* lowered, const char** json);
/* Schedules worth measuring: JSON array of at most `count` objects with schedule (as
 * schedule_json), changes (in words) and predicted (microseconds). The default schedule comes
 * first, then what is predicted to be fastest, then random ones drawn from `seed`. The same
 * arguments give the same list. Lives until the next call for this handle. ADJIT_INVALID: count
 * below 1. */
ADJIT_API adjit_status adjit_lowered_proposals(adjit_lowered* lowered, int32_t count, uint64_t seed,
                                               const char** json);
/* Makes this the schedule of later compilations of the same computation, layouts and processor that
 * ask for none: in this context, and through the cache in others. NULL: the default one again.
 * ADJIT_SCHEDULE when it is not legal here. Executables that exist are not changed. Any thread. */
ADJIT_API adjit_status adjit_lowered_keep_schedule(adjit_lowered* lowered,
                                                   const char* schedule_json);
/* Memory, then disk, then compilation. Blocks while another thread compiles the same. */
ADJIT_API adjit_status adjit_lowered_compile(adjit_lowered* lowered, adjit_executable** executable);

ADJIT_API void adjit_executable_destroy(adjit_executable* executable);
/* Runs on the calling thread and the context's threads; returns when done. Arrays: CPU, shapes,
 * dtypes and strides as lowered (ADJIT_SHAPE, ADJIT_DTYPE otherwise); outputs row-major,
 * overlapping neither inputs nor each other (ADJIT_INVALID otherwise). Allocates nothing once warm.
 *
 * Of a GPU: arrays lie on its device (kDLCUDA, kDLCUDAManaged) or in the host's memory, each as it
 * is. With an output in the host's memory, or none on the device, the call is done when it returns.
 * Else it only puts its kernels into the stream (adjit_executable_run_with; here the legacy default
 * one): what an index out of range would raise is then raised by a later call of the executable on
 * that stream, or by adjit_executable_synchronize, unless the call is told to wait for it. Arrays
 * of the device at addresses that 16 bytes do not divide are served by code of their own, of the
 * same results: the first call with such arrays compiles it, or takes it from the cache. */
ADJIT_API adjit_status adjit_executable_run(adjit_executable* executable, int32_t input_count,
                                            const DLTensor* const* inputs, int32_t output_count,
                                            DLTensor* const* outputs);
/* What a run may be told besides its arrays. */
typedef struct adjit_run_options {
  uint32_t struct_size;
  int32_t device; /* of a GPU: that of the stream, which is the executable's; or 0 */
  void* stream;   /* of a GPU: a CUstream; NULL: the legacy default stream */
  void* (*allocate)(void* user, size_t bytes); /* of a GPU: gives workspace on its device, aligned
                                                  to 256 bytes, that the stream may use until free;
                                                  NULL: it is the library's and kept */
  void (*free)(void* user, void* memory);      /* called when the call is in the stream */
  void* user;                                  /* given to these and to cancel */
  adjit_cancel_function cancel;                /* NULL: the context's, if it has one */
  int32_t wait_for_checks; /* of a GPU: not 0: where indices depend on data, the call waits for what
                              it finds of them, and raises it itself */
  int32_t reserved;        /* 0 */
} adjit_run_options;
/* adjit_executable_run with options (NULL: none). ADJIT_CANCELLED when the hook says so; besides,
 * ADJIT_DEVICE for a device or a stream, ADJIT_INVALID for allocate or free, of an executable that
 * runs on the CPU, in memory of its own. */
ADJIT_API adjit_status adjit_executable_run_with(adjit_executable* executable, int32_t input_count,
                                                 const DLTensor* const* inputs,
                                                 int32_t output_count, DLTensor* const* outputs,
                                                 const adjit_run_options* options);
/* The same from bare addresses of element 0, laid out as lowered: no check at all. For callers that
 * have checked already. Also for a GPU they are of the host's memory. */
ADJIT_API adjit_status adjit_executable_run_raw(adjit_executable* executable,
                                                const void* const* inputs, void* const* outputs);
/* Waits for all calls of an executable of a GPU, and raises what an index out of range in one of
 * them is to raise. Of the CPU: nothing. Any thread. */
ADJIT_API adjit_status adjit_executable_synchronize(adjit_executable* executable);
/* Where objects keep what describes their arrays, and containers their objects, in bytes from their
 * addresses: for languages whose arrays are objects of a known form, such as CPython with NumPy. */
typedef struct adjit_object_form {
  uint32_t struct_size;
  int32_t kind;     /* in an array: of a pointer that all of them share, and no other object has */
  int32_t data;     /* of the address of element 0 */
  int32_t rank;     /* of an int */
  int32_t shape;    /* of the address of `rank` int64_t; unread for rank 0 */
  int32_t strides;  /* likewise, in bytes */
  int32_t dtype;    /* of a pointer that names the element type */
  int32_t flags;    /* of an int */
  int32_t writable; /* the bits of it that say that the array may be written */
  int32_t count;    /* in a container: of the number of its objects, an int64_t */
  int32_t items;    /* of the first of their addresses, one after the other */
  const void* kind_value;
  const void* dtype_values[10]; /* by adjit_dtype; NULL: there are no such arrays */
} adjit_object_form;
/* adjit_executable_run on the arrays that the objects of two containers describe. These are only
 * read; the caller keeps them as they are during the call. ADJIT_DTYPE: an object of another kind,
 * another element type; ADJIT_SHAPE: another shape, other strides; ADJIT_INVALID: other counts,
 * elements that are not aligned to their size or have no address, an output that may not be written
 * or overlaps an array; nothing has run then. Besides, what adjit_executable_run raises. */
ADJIT_API adjit_status adjit_executable_run_objects(adjit_executable* executable,
                                                    const adjit_object_form* form,
                                                    const void* inputs, const void* outputs);
/* The functions of an interpreter whose signals end long calls, for adjit_interpreter_cancel; of
 * CPython: PyGILState_Ensure, PyGILState_Release, PyErr_CheckSignals, PyErr_Fetch. */
typedef struct adjit_interpreter {
  uint32_t struct_size;
  int32_t raised; /* out: exception holds one, which the caller is to raise after ADJIT_CANCELLED */
  uint64_t
      thread; /* the one that runs handlers of signals, as pthread_self gives it: no other asks */
  int (*acquire)(void);
  void (*release)(int state);
  int (*check_signals)(void); /* runs handlers; not 0 when one has raised an exception */
  void (*take)(void** type, void** value, void** traceback); /* what it raised */
  void* exception[3];
} adjit_interpreter;
/* A cancel hook whose user is an adjit_interpreter. */
ADJIT_API int adjit_interpreter_cancel(void* interpreter);
/* Runs `repeats` times (at least 1) on such arrays. JSON array, one object per kernel: symbol
 * (kernels of the same code share it), stages (what it computes), calls, microseconds (all calls of
 * its fastest run), tasks, parallel, flops (or null), bytes, predicted (microseconds of these calls
 * by the cost model), roofline (the least microseconds that flops and bytes take on this
 * processor). Lives until the next profile of this executable. */
ADJIT_API adjit_status adjit_executable_profile(adjit_executable* executable, int32_t input_count,
                                                const DLTensor* const* inputs, int32_t output_count,
                                                DLTensor* const* outputs, int32_t repeats,
                                                const char** json);
/* JSON: target, cache ("memory", "disk", "miss"), miss_reason, trace_ms, derive_ms, schedule_ms,
 * compile_ms, load_ms, kernels, workspace_bytes, code_bytes, kept_schedule (whether it has one that
 * was kept), fallbacks (of a miss: what its schedule wanted and was refused), key (components in
 * clear), id. */
ADJIT_API adjit_status adjit_executable_report(adjit_executable* executable, const char** json);
/* Of all kernels whose code differs, one after the other. */
ADJIT_API adjit_status adjit_executable_llvm(adjit_executable* executable, const char** text);
ADJIT_API adjit_status adjit_executable_assembly(adjit_executable* executable, const char** text);
/* The module of all kernels, of a GPU; ADJIT_DEVICE of the CPU. */
ADJIT_API adjit_status adjit_executable_ptx(adjit_executable* executable, const char** text);

/* ---- Exporting
 * --------------------------------------------------------------------------------------------------
 */

/* Writes <name>.h, <name>.c, <name>.o and lib<name>.so into a directory (made if it is not there):
 * one C function per lowered computation, under function_names[k], which needs no adjit and treats
 * subnormal numbers as the context does: for this machine's CPU, where it needs no threads, or, of
 * a computation that was lowered for a GPU, for GPUs like that one by the CUDA driver, in a stream
 * that it takes. Compiles anew; blocks; runs the C compiler that CC names ("cc"). ADJIT_COMPILE:
 * there is no compiler, it fails, or an operation needs a function that only adjit has;
 * ADJIT_DEVICE: the GPU is not there; ADJIT_INVALID: a name that is no C identifier, a directory
 * that cannot be written. */
ADJIT_API adjit_status adjit_lowered_export(const char* name, int32_t function_count,
                                            adjit_lowered* const* functions,
                                            const char* const* function_names,
                                            const char* directory);

#ifdef __cplusplus
}
#endif

#endif /* ADJIT_H */
