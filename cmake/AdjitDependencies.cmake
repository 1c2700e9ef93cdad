# What the library is built on, as targets. Everything but TBB and the C and C++ runtimes ends up
# inside libadjit.so, so an installed library or wheel asks for no LLVM, spdlog, fmt, zlib or zstd.

find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(TBB 2021 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(fmt REQUIRED)
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/llvm)
if(ADJIT_TESTS)
  find_package(GTest REQUIRED)
  # Oracle of one test of runtime/domain, which is skipped without it.
  find_path(ADJIT_ISL_INCLUDE isl/set.h)
  find_library(ADJIT_ISL_LIBRARY isl)
  mark_as_advanced(ADJIT_ISL_INCLUDE ADJIT_ISL_LIBRARY)
  # What our declarations of the CUDA driver are compared with, where it is.
  find_path(ADJIT_CUDA_INCLUDE cuda.h HINTS ENV CUDA_HOME ENV CUDA_PATH PATHS /usr/local/cuda
            PATH_SUFFIXES include NO_CMAKE_SYSTEM_PATH NO_SYSTEM_ENVIRONMENT_PATH)
  mark_as_advanced(ADJIT_CUDA_INCLUDE)
endif()
if(ADJIT_BENCH)
  find_package(benchmark QUIET)
endif()

# spdlog and fmt from their headers: Debian ships both as shared objects only.
add_library(adjit_log INTERFACE)
get_target_property(spdlog_headers spdlog::spdlog_header_only INTERFACE_INCLUDE_DIRECTORIES)
target_include_directories(adjit_log SYSTEM INTERFACE ${spdlog_headers})
target_compile_definitions(adjit_log INTERFACE SPDLOG_FMT_EXTERNAL)
target_link_libraries(adjit_log INTERFACE fmt::fmt-header-only Threads::Threads)

# xxHash, from its archive where there is one.
find_path(ADJIT_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(ADJIT_XXHASH_LIBRARY NAMES libxxhash.a xxhash REQUIRED)
add_library(adjit_xxhash INTERFACE)
target_include_directories(adjit_xxhash SYSTEM INTERFACE ${ADJIT_XXHASH_INCLUDE})
target_link_libraries(adjit_xxhash INTERFACE ${ADJIT_XXHASH_LIBRARY})

# LLVM's static archives: the X86 and NVPTX back ends and the ORC JIT. An archive that nothing refers
# to adds nothing to the library, so the list names what the rooms may use, not what they must.
llvm_map_components_to_libnames(
  llvm_archives
  analysis asmparser bitreader bitwriter codegen core executionengine instcombine irreader jitlink
  linker mc object orcjit passes scalaropts support target targetparser
  transformutils NVPTX X86)
add_library(adjit_llvm INTERFACE)
target_include_directories(adjit_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(adjit_llvm INTERFACE ${llvm_definitions})
target_link_libraries(adjit_llvm INTERFACE ${llvm_archives})
if(ADJIT_SANITIZE STREQUAL "asan")
  # LLVM's headers poison allocator memory when they see this macro, its archives never unpoison
  # it: undefining it keeps both sides of the inline allocator the same. gcc only.
  target_compile_options(adjit_llvm INTERFACE -U__SANITIZE_ADDRESS__)
endif()

# LLVM's support library names shared zlib, zstd and Z3; take the archives, and leave Z3 out: it
# serves the static analyser only.
find_library(ADJIT_ZLIB_ARCHIVE libz.a)
find_library(ADJIT_ZSTD_ARCHIVE libzstd.a)
mark_as_advanced(ADJIT_ZLIB_ARCHIVE ADJIT_ZSTD_ARCHIVE ADJIT_XXHASH_INCLUDE ADJIT_XXHASH_LIBRARY)
get_target_property(llvm_support_links LLVMSupport INTERFACE_LINK_LIBRARIES)
list(FILTER llvm_support_links EXCLUDE REGEX "libz3")
if(ADJIT_ZLIB_ARCHIVE)
  list(TRANSFORM llvm_support_links REPLACE "^ZLIB::ZLIB$" "${ADJIT_ZLIB_ARCHIVE}")
endif()
if(ADJIT_ZSTD_ARCHIVE)
  list(TRANSFORM llvm_support_links REPLACE "^zstd::libzstd_shared$" "${ADJIT_ZSTD_ARCHIVE}")
endif()
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "${llvm_support_links}")
