# How every translation unit is compiled: language level, warnings, sanitizers, launcher.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
# No debug information, so that builds are quick; assertions are on in the other build types.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")

find_program(ADJIT_CCACHE ccache)
mark_as_advanced(ADJIT_CCACHE)
if(ADJIT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Paths relative to the project: other build folders find the same objects.
  set(ccache ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} ${ADJIT_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${ccache})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ccache})
endif()

# Every target of the project links this; nothing installed does. Clang counts more among
# -Wconversion than GCC does, and calls libstdc++'s own use of a deprecated function ours.
add_library(adjit_flags INTERFACE)
target_compile_options(
  adjit_flags
  INTERFACE -Wall -Wextra -Wpedantic $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>
            $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-sign-conversion;-Wno-deprecated-declarations>
            $<$<BOOL:${ADJIT_WERROR}>:-Werror>)

# Sanitizers apply to the whole directory, so that no archive of ours is left uninstrumented. GCC's
# manual warns of false positives of this warning among what they add.
if(ADJIT_SANITIZE)
  add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-maybe-uninitialized>
                      $<$<COMPILE_LANG_AND_ID:C,GNU>:-Wno-maybe-uninitialized>)
endif()
if(ADJIT_SANITIZE STREQUAL "asan")
  # vptr would need the type information of every LLVM class. The others take half of the build:
  # the address sanitizer or the processor finds null, foreign and overflowing pointers when they
  # are used; misaligned ones, which x86 reads, are not looked for.
  add_compile_options(-fsanitize=address,undefined
                      -fno-sanitize=vptr,null,alignment,object-size,pointer-overflow
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(ADJIT_SANITIZE STREQUAL "fuzz")
  # Clang's libFuzzer: all sources are instrumented for coverage, targets in tests/libfuzzer link its main.
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined
                      -fno-sanitize=vptr,null,alignment,object-size,pointer-overflow
                      -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  add_link_options(-fsanitize=address,undefined)
elseif(ADJIT_SANITIZE STREQUAL "tsan")
  add_compile_options(-fsanitize=thread -fno-omit-frame-pointer)
  add_link_options(-fsanitize=thread)
elseif(ADJIT_SANITIZE)
  message(FATAL_ERROR "ADJIT_SANITIZE is '${ADJIT_SANITIZE}'; it may be asan, tsan, fuzz or empty")
endif()
