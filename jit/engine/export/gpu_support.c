/* Kernels by the CUDA driver: a part of every exported source that has functions for a GPU. Before
 * it stand what it calls of the driver, as the functions of adjit_cuda, and adjit_symbols, their
 * names (gpu_source.cpp). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

/* CUresult, where it is told apart, and a number of ours. */
enum {
  ADJIT_OUT_OF_MEMORY = 2,
  ADJIT_INVALID_IMAGE = 200,
  ADJIT_INVALID_CONTEXT = 201,
  ADJIT_NO_BINARY = 209,
  ADJIT_NOT_WHILE_CAPTURING = 900,
  ADJIT_NO_DRIVER = 10000
};

static pthread_once_t adjit_driver_once = PTHREAD_ONCE_INIT;
static char adjit_no_driver[512]; /* why there is none */

static void adjit_load_driver(void) {
  const char* const named = getenv("ADJIT_CUDA_LIBRARY");
  const char* const name = named && *named ? named : "libcuda.so.1";
  void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library)
    snprintf(adjit_no_driver, sizeof adjit_no_driver, "the CUDA driver cannot be loaded: %s",
             dlerror());
  const size_t count = sizeof adjit_symbols / sizeof *adjit_symbols;
  for (size_t k = 0; !*adjit_no_driver && k < count; ++k) {
    void* const found = dlsym(library, adjit_symbols[k].name);
    if (!found)
      snprintf(adjit_no_driver, sizeof adjit_no_driver, "the CUDA driver '%s' lacks %s", name,
               adjit_symbols[k].name);
    memcpy((char*)&adjit_cuda + adjit_symbols[k].at, &found, sizeof found);
  }
}

/* A function's code in a context. */
struct adjit_loaded {
  ContextHandle context;
  ModuleHandle module;
  DevicePointer constants;
  struct adjit_loaded* next;
  FunctionHandle kernels[];
};

struct adjit_kernel {
  const char* name;
  int shared_bytes; /* of a block, dynamic */
};

struct adjit_code {
  const void* const* images; /* the first that the GPU takes is loaded; then a null */
  const struct adjit_kernel* kernels;
  size_t kernel_count;
  const void* constants;
  size_t constant_bytes;
  pthread_mutex_t mutex; /* of what follows */
  struct adjit_loaded* loaded;
};

/* A call at work. Once something has failed, nothing more is done. */
struct adjit_call {
  Result result;
  const struct adjit_code* code;
  const struct adjit_loaded* loaded;
  StreamHandle stream;
  DevicePointer workspace;
  int captured; /* into a graph, to be run later */
};

static Result adjit_upload(struct adjit_loaded* made, const struct adjit_code* code) {
  StreamHandle stream = 0;
  Result result = adjit_cuda.allocate(&made->constants, code->constant_bytes);
  if (!result) result = adjit_cuda.create_stream(&stream, 1); /* beside the default one */
  if (!result)
    result =
        adjit_cuda.copy_to_device(made->constants, code->constants, code->constant_bytes, stream);
  if (!result) result = adjit_cuda.synchronize_stream(stream);
  if (stream) adjit_cuda.destroy_stream(stream);
  return result;
}

static Result adjit_fill(struct adjit_loaded* made, const struct adjit_code* code) {
  Result result = ADJIT_INVALID_IMAGE;
  for (const void* const* image = code->images; *image; ++image) {
    result = adjit_cuda.load_module(&made->module, *image, 0, 0, 0);
    if (result != ADJIT_NO_BINARY && result != ADJIT_INVALID_IMAGE) break;
  }
  for (size_t k = 0; !result && k < code->kernel_count; ++k) {
    const struct adjit_kernel* const kernel = &code->kernels[k];
    result = adjit_cuda.module_function(&made->kernels[k], made->module, kernel->name);
    if (!result && kernel->shared_bytes > 0) /* CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES */
      result = adjit_cuda.set_function_attribute(made->kernels[k], 8, kernel->shared_bytes);
  }
  if (!result && code->constant_bytes > 0) result = adjit_upload(made, code);
  return result;
}

/* Loading takes memory and waits, and so does giving it back, which a capture of any thread would
 * not allow but in this mode. */
static Result adjit_relax(int* mode) {
  *mode = 2; /* CU_STREAM_CAPTURE_MODE_RELAXED */
  return adjit_cuda.exchange_capture_mode(mode);
}

static void adjit_discard(struct adjit_loaded* loaded) {
  int mode = 0;
  const Result relaxed = adjit_relax(&mode);
  if (loaded->constants) adjit_cuda.free(loaded->constants);
  if (loaded->module) adjit_cuda.unload_module(loaded->module);
  if (!relaxed) adjit_cuda.exchange_capture_mode(&mode);
  free(loaded);
}

static Result adjit_load(struct adjit_code* code, ContextHandle context) {
  struct adjit_loaded* const made =
      calloc(1, sizeof *made + code->kernel_count * sizeof made->kernels[0]);
  if (!made) return ADJIT_OUT_OF_MEMORY;
  made->context = context;
  int mode = 0;
  Result result = adjit_relax(&mode);
  if (!result) {
    result = adjit_fill(made, code);
    if (result) adjit_discard(made);
    adjit_cuda.exchange_capture_mode(&mode);
  } else {
    free(made);
  }
  if (result) return result;
  made->next = code->loaded;
  code->loaded = made;
  return result;
}

/* Where the code of the current context is linked in, or a null, behind all. */
static struct adjit_loaded** adjit_find(struct adjit_code* code, ContextHandle context) {
  struct adjit_loaded** at = &code->loaded;
  while (*at && (*at)->context != context) at = &(*at)->next;
  return at;
}

static Result adjit_current(ContextHandle* context) {
  pthread_once(&adjit_driver_once, adjit_load_driver);
  if (*adjit_no_driver) return ADJIT_NO_DRIVER;
  const Result result = adjit_cuda.current_context(context);
  return !result && !*context ? ADJIT_INVALID_CONTEXT : result;
}

/* `waits`: the call cannot be captured. */
static inline struct adjit_call adjit_begin(struct adjit_code* code, void* stream, size_t bytes,
                                            int waits) {
  struct adjit_call call = {.code = code, .stream = stream};
  ContextHandle context = 0;
  call.result = adjit_current(&context);
  if (call.result) return call;
  pthread_mutex_lock(&code->mutex);
  call.loaded = *adjit_find(code, context);
  if (!call.loaded) {
    call.result = adjit_load(code, context);
    call.loaded = code->loaded;
  }
  pthread_mutex_unlock(&code->mutex);
  if (!call.result) call.result = adjit_cuda.is_capturing(call.stream, &call.captured);
  if (!call.result && call.captured && waits) call.result = ADJIT_NOT_WHILE_CAPTURING;
  if (!call.result && bytes > 0)
    call.result = adjit_cuda.allocate_async(&call.workspace, bytes, call.stream);
  return call;
}

/* `parameters`: where each address lies. */
static inline void adjit_launch(struct adjit_call* call, size_t kernel, unsigned blocks,
                                unsigned threads, void** parameters) {
  if (call->result) return;
  call->result = adjit_cuda.launch(call->loaded->kernels[kernel], blocks, 1, 1, threads, 1, 1,
                                   (unsigned)call->code->kernels[kernel].shared_bytes, call->stream,
                                   parameters, 0);
}

/* A kernel that takes the address of a table of addresses, which is made at `table`. */
static inline void adjit_launch_by_table(struct adjit_call* call, size_t kernel, unsigned blocks,
                                         unsigned threads, void* const* addresses, size_t bytes,
                                         void* table) {
  if (!call->result)
    call->result = adjit_cuda.copy_to_device((uintptr_t)table, addresses, bytes, call->stream);
  adjit_launch(call, kernel, blocks, threads, (void*[]){&table});
}

static inline void adjit_copy(struct adjit_call* call, void* to, const void* from, size_t bytes) {
  if (!call->result)
    call->result = adjit_cuda.copy_on_device((uintptr_t)to, (uintptr_t)from, bytes, call->stream);
}

/* To the host, after a wait for all before it. */
static inline void adjit_read(struct adjit_call* call, void* to, const void* from, size_t bytes) {
  if (!call->result)
    call->result = adjit_cuda.copy_to_host(to, (uintptr_t)from, bytes, call->stream);
  if (!call->result) call->result = adjit_cuda.synchronize_stream(call->stream);
}

static inline int adjit_flag(struct adjit_call* call, const void* from) {
  unsigned char flag = 0;
  adjit_read(call, &flag, from, 1);
  return !call->result && flag;
}

/* The call's status. */
static inline int adjit_end(struct adjit_call* call) {
  if (call->workspace) {
    const Result result = adjit_cuda.free_async(call->workspace, call->stream);
    if (!call->result) call->result = result;
  }
  return call->result == ADJIT_OUT_OF_MEMORY ? 1 : -call->result;
}

static inline void adjit_unload(struct adjit_code* code) {
  ContextHandle context = 0;
  if (adjit_current(&context)) return;
  pthread_mutex_lock(&code->mutex);
  struct adjit_loaded** const at = adjit_find(code, context);
  struct adjit_loaded* const found = *at;
  if (found) *at = found->next;
  pthread_mutex_unlock(&code->mutex);
  if (found) adjit_discard(found);
}

/* Of a failure of the driver. */
static inline const char* adjit_failure(int status) {
  const char* text = 0;
  if (status == -ADJIT_NO_DRIVER) return adjit_no_driver;
  if (status == -ADJIT_INVALID_CONTEXT)
    return "no CUDA context is current in the calling thread, or it was destroyed";
  if (status >= 0 || status < -ADJIT_NO_DRIVER || !adjit_cuda.error_string) return "unknown status";
  return adjit_cuda.error_string(-status, &text) || !text ? "unknown status" : text;
}
