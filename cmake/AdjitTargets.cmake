# One target per folder. Sources are globbed with CONFIGURE_DEPENDS, so a new file needs no edit
# here, and a folder without sources yet is an empty target, not an error.

# adjit_sources(<result> <folder> <pattern>): the files of a folder that match; those of the folders
# in it, too, where its name ends in /**.
function(adjit_sources result folder pattern)
  if(folder MATCHES "^(.*)/\\*\\*$")
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${CMAKE_MATCH_1}/${pattern})
  else()
    file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/${pattern})
  endif()
  set(${result} ${files} PARENT_SCOPE)
endfunction()

# adjit_folder(<target> <folder> <dependency>...): a static library of <folder>/*.cpp but main.cpp.
function(adjit_folder target folder)
  adjit_sources(sources ${folder} *.cpp)
  adjit_sources(headers ${folder} *.hpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(NOT sources)
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE ${ARGN})
    target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR})
    return()
  endif()
  add_library(${target} STATIC ${sources} ${headers})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PUBLIC ${ARGN} PRIVATE adjit_flags)
endfunction()

# adjit_embed(<target> <file> <namespace> <name>): the file's text as `extern const char <name>[]` of
# that namespace, compiled into the target again when the file changes.
function(adjit_embed target file namespace name)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${file})
  file(READ ${PROJECT_SOURCE_DIR}/${file} text)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/embedded/${name}.cpp
       CONTENT [[
namespace @namespace@ {
extern const char @name@[];
const char @name@[] = R"text(@text@)text";
}  // namespace @namespace@
]] @ONLY)
  target_sources(${target} PRIVATE ${PROJECT_BINARY_DIR}/embedded/${name}.cpp)
  # By itself, since its path is not the same in every build folder.
  set_source_files_properties(
    ${PROJECT_BINARY_DIR}/embedded/${name}.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# adjit_code_revision(<target> <pattern>...): a hash of the files that match, as
# `extern const char kCodeRevision[]` of namespace adjit::engine, compiled into the target: a source of its
# own, the only one that is compiled again for an edit elsewhere. Building makes it, not configuring.
function(adjit_code_revision target)
  set(files)
  foreach(pattern IN LISTS ARGN)
    file(GLOB_RECURSE matching CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}
         ${PROJECT_SOURCE_DIR}/${pattern})
    list(APPEND files ${matching})
  endforeach()
  list(SORT files)
  set(folder ${PROJECT_BINARY_DIR}/embedded)
  list(JOIN files "\n" lines)
  file(CONFIGURE OUTPUT ${folder}/code_revision.txt CONTENT "${lines}\n" @ONLY)
  list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE paths)
  set(script ${PROJECT_SOURCE_DIR}/cmake/code_revision.cmake)
  add_custom_command(
    OUTPUT ${folder}/code_revision.cpp
    COMMAND ${CMAKE_COMMAND} -D LIST=${folder}/code_revision.txt -D ROOT=${PROJECT_SOURCE_DIR}
            -D OUTPUT=${folder}/code_revision.cpp -P ${script}
    DEPENDS ${folder}/code_revision.txt ${script} ${paths}
    COMMENT "Hashing the sources that make code"
    VERBATIM)
  target_sources(${target} PRIVATE ${folder}/code_revision.cpp)
  set_source_files_properties(
    ${folder}/code_revision.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# adjit_shared_library(<name> <folder> <dependency>...): lib<name>.so of <folder>/*.cpp and of the
# archives that it links, exporting the C API and nothing else.
function(adjit_shared_library target folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT sources)
    message(STATUS "${folder} has no sources: lib${target}.so is not built")
    return()
  endif()
  set(exports ${PROJECT_SOURCE_DIR}/cmake/adjit.exports)
  add_library(${target} SHARED ${sources})
  add_library(${target}::${target} ALIAS ${target})
  target_link_libraries(${target} PRIVATE adjit_flags ${ARGN})
  target_link_options(
    ${target}
    PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL -Wl,--gc-sections
            -Wl,--as-needed $<$<NOT:$<BOOL:${ADJIT_SANITIZE}>>:-Wl,-z,defs>)
  set_target_properties(${target} PROPERTIES LINK_DEPENDS ${exports})
  # <adjit/adjit.h> and <adjit/adjit.hpp> before installation as after it: copies, side by side.
  file(GLOB headers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bindings/c/adjit.h
       ${PROJECT_SOURCE_DIR}/bindings/c/dlpack.h ${PROJECT_SOURCE_DIR}/bindings/cpp/*.hpp)
  foreach(header IN LISTS headers)
    cmake_path(GET header FILENAME name)
    configure_file(${header} ${PROJECT_BINARY_DIR}/include/${target}/${name} COPYONLY)
  endforeach()
  target_include_directories(
    ${target} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                        $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                        $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  # The C++ layer is header only: who includes it compiles it as C++20. C sources are not touched.
  target_compile_features(${target} INTERFACE cxx_std_20)
  if(NOT SKBUILD) # a wheel holds no symbolic links, so its library has no version in its name
    set_target_properties(${target} PROPERTIES VERSION ${PROJECT_VERSION}
                                               SOVERSION ${PROJECT_VERSION_MAJOR})
  endif()
endfunction()

# adjit_program(<name> <folder> <dependency>...): a program of <folder>/main.cpp; the folder's other
# sources are the library <name>_parts, which its tests link. They find the program itself under the
# name that ADJIT_PROGRAM holds.
function(adjit_program target folder)
  file(GLOB main CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/main.cpp)
  if(NOT main)
    return()
  endif()
  adjit_folder(${target}_parts ${folder} ${ARGN})
  add_executable(${target} ${main})
  target_link_libraries(${target} PRIVATE adjit_flags ${target}_parts)
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
  target_compile_definitions(${target}_parts INTERFACE ADJIT_PROGRAM="$<TARGET_FILE:${target}>")
endfunction()

# adjit_tests(<folder> <dependency>...): one GoogleTest program per folder of
# tests/<folder>/*_test.cpp, and of other tests/<folder>/*.cpp that they share. Tests of a library
# that does not exist yet wait for it. build/<preset>/test_<folder> --gtest_filter=... runs some.
function(adjit_tests folder)
  adjit_sources(tests tests/${folder} *_test.cpp)
  adjit_sources(sources tests/${folder} *.cpp)
  if(NOT tests OR NOT TARGET ${ARGV1})
    return()
  endif()
  string(REGEX REPLACE "/\\*\\*$" "" folder ${folder})
  string(REGEX REPLACE "[/-]" "_" name test_${folder})
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE adjit_flags ${ARGN} GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  # tests/sanitizer.hpp
  target_compile_definitions(${name} PRIVATE
    ADJIT_TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}/tests/${folder}"
    ADJIT_SANITIZED=$<BOOL:${ADJIT_SANITIZE}>
    ADJIT_THREAD_SANITIZED=$<STREQUAL:${ADJIT_SANITIZE},tsan>)
  target_link_options(${name} PRIVATE -Wl,--as-needed)
  # Assertions expand to much code that runs once.
  target_compile_options(${name} PRIVATE $<$<CONFIG:Release>:-O1> $<$<BOOL:${ADJIT_SANITIZE}>:-O0>)
  set(plans ADJIT_VERIFY_PLANS=1) # contexts check every plan that they compile
  # An eighth of the program's tests each: as many processes as keep the cores busy, since starting
  # one takes longer than most tests do.
  foreach(shard RANGE 7)
    set(report ${PROJECT_BINARY_DIR}/Testing/reports/${name}.${shard}.xml)
    add_test(NAME ${folder}/${shard} COMMAND ${name} --gtest_brief=1 --gtest_output=xml:${report})
    set_tests_properties(
      ${folder}/${shard} PROPERTIES TIMEOUT 1200
                                    ENVIRONMENT "${plans};GTEST_TOTAL_SHARDS=8;GTEST_SHARD_INDEX=${shard}")
  endforeach()
endfunction()

# adjit_fake_driver(<name> <sources>): a shared library that tests load in place of the CUDA
# driver's. It keeps the copy of LLVM that its emulator runs to itself.
function(adjit_fake_driver name)
  set(sources ${ARGN})
  list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/)
  add_library(${name} SHARED ${sources})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE adjit_flags)
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,-Bsymbolic -Wl,--gc-sections)
  set_target_properties(${name} PROPERTIES CXX_VISIBILITY_PRESET default UNITY_BUILD OFF)
endfunction()

# adjit_test_program(<name> <folder> <dependency>...): a program of <folder>/*.cpp that a test runs.
function(adjit_test_program name folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  add_executable(${name} ${sources})
  target_link_libraries(${name} PRIVATE adjit_flags ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_options(${name} PRIVATE -Wl,--as-needed)
endfunction()

# adjit_tests_for_cpu(<folder> <filter> <cpu>...): those tests of <folder> that GoogleTest's filter
# takes, once more with code generated for each <cpu> (ADJIT_CPU), as one test a CPU. Skipped where
# this machine could not run the code.
function(adjit_tests_for_cpu folder filter)
  string(REGEX REPLACE "[/-]" "_" name test_${folder})
  if(NOT TARGET ${name})
    return()
  endif()
  foreach(cpu IN LISTS ARGN)
    add_test(NAME ${folder}@${cpu} COMMAND ${name} --gtest_brief=1 --gtest_filter=${filter})
    set_tests_properties(
      ${folder}@${cpu} PROPERTIES TIMEOUT 1200 COST 100 # first: the longest
                                  ENVIRONMENT "ADJIT_CPU=${cpu}"
                                  SKIP_REGULAR_EXPRESSION "which this CPU lacks")
  endforeach()
endfunction()

# adjit_fuzzer(<name> <dependency>...): tests/libfuzzer/<name>_fuzzer.cpp with libFuzzer's main, as the
# program fuzz_<name>; tests/libfuzzer/run runs them all. The target `fuzzers` builds them.
function(adjit_fuzzer name)
  add_executable(fuzz_${name} ${PROJECT_SOURCE_DIR}/tests/libfuzzer/${name}_fuzzer.cpp)
  target_include_directories(fuzz_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(fuzz_${name} PRIVATE adjit_flags ${ARGN} adjit_xxhash)
  target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer -Wl,--as-needed)
  if(NOT TARGET fuzzers)
    add_custom_target(fuzzers)
  endif()
  add_dependencies(fuzzers fuzz_${name})
endfunction()

# adjit_c_tests(<folder> <library>): the C header compiles as strict C99 on its own, and each
# tests/<folder>/*.c is a program that must return 0.
function(adjit_c_tests folder library)
  if(NOT TARGET ${library})
    return()
  endif()
  set(header_only ${PROJECT_BINARY_DIR}/${library}_header_c99.c)
  file(GENERATE OUTPUT ${header_only}
       CONTENT "#include \"${folder}/${library}.h\"\nint ${library}_header_is_c99;\n")
  add_library(${library}_header_c99 OBJECT ${header_only})
  target_include_directories(${library}_header_c99 PRIVATE ${PROJECT_SOURCE_DIR})
  target_compile_options(
    ${library}_header_c99 PRIVATE -pedantic-errors -Wstrict-prototypes -Wc++-compat)
  target_link_libraries(${library}_header_c99 PRIVATE adjit_flags)

  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.c)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    string(REGEX REPLACE "[/-]" "_" name test_${folder}_${stem})
    add_executable(${name} ${source})
    target_compile_options(${name} PRIVATE -pedantic-errors)
    target_link_libraries(${name} PRIVATE adjit_flags ${library} m)
    add_test(NAME ${folder}.${stem} COMMAND ${name})
    set_tests_properties(
      ${folder}.${stem} PROPERTIES TIMEOUT 600 ENVIRONMENT ADJIT_VERIFY_PLANS=1)
  endforeach()
endfunction()

# adjit_examples(<folder> <library>): each <folder>/*.cpp is a program of a user, and a test: it must
# find its own numbers right and return 0.
function(adjit_examples folder library)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  if(NOT TARGET ${library})
    return()
  endif()
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    add_executable(example_${stem} ${source})
    target_link_libraries(example_${stem} PRIVATE adjit_flags ${library})
    add_test(NAME ${folder}.${stem} COMMAND example_${stem})
    set_tests_properties(
      ${folder}.${stem} PROPERTIES TIMEOUT 600 ENVIRONMENT ADJIT_VERIFY_PLANS=1)
  endforeach()
endfunction()

# adjit_benchmarks(<folder> <dependency>...): one Google Benchmark program per <folder>/*.cpp.
function(adjit_benchmarks folder)
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  foreach(source IN LISTS sources)
    cmake_path(GET source STEM stem)
    add_executable(bench_${stem} ${source})
    target_include_directories(bench_${stem} PRIVATE ${PROJECT_SOURCE_DIR})
    target_link_libraries(bench_${stem} PRIVATE adjit_flags ${ARGN} benchmark::benchmark)
    if(TARGET adjit)
      target_link_libraries(bench_${stem} PRIVATE adjit)
    endif()
  endforeach()
endfunction()
