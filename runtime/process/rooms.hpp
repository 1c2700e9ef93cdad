// runtime/process/rooms.hpp -- the namespaces, one a room, and whose names each room uses without
// qualification.
//
// A room is a folder of sources, or a folder and those below it, and its namespace holds all that
// it declares: two rooms may use one name without two classes becoming one by accident. A name of
// the room itself comes before those of others; one that two others have must be qualified.
// Directives are transitive. They run downwards only, as includes and links do (CMakeLists.txt).
#pragma once

// NOLINTBEGIN(google-build-using-namespace)
namespace adjit {

namespace process {}  // namespace process
namespace expr {      // scalar expressions, dtypes, errors
using namespace process;
}
namespace graph {  // stages, domains, text notation, the interpreter
using namespace expr;
}
namespace domain {  // integer sets
using namespace graph;
}
namespace diff {  // derivatives and clean-up
using namespace domain;
}
namespace trace {  // tracing and the operators
using namespace diff;
}
namespace sched {  // loop nests, moves, cost
using namespace trace;
}
namespace emit {  // loop nests to LLVM IR
using namespace sched;
}
namespace codegen {  // LLVM's back ends
using namespace expr;
}
namespace cpu {  // the processor: machine code, threads
using namespace emit;
using namespace codegen;
}  // namespace cpu
namespace cuda {  // the CUDA driver and its GPUs
using namespace codegen;
}
namespace cache {  // compiled code on disk; its names are qualified everywhere else
using namespace expr;
}
namespace engine {  // graph in, executable out
using namespace cpu;
using namespace cuda;
}  // namespace engine
namespace c {  // the C interface
using namespace engine;
}
namespace cache_tool {  // adjit-cache
using namespace cache;
}
namespace bench {  // the benchmarks in C++
using namespace engine;
}

}  // namespace adjit
// NOLINTEND(google-build-using-namespace)
