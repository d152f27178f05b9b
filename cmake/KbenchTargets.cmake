# kbench_library(NAME SOURCES... DEPS...), kbench_program(...), kbench_test(...): a target held to our warnings, that sees headers from
# the root of the tree, so that an include reads like the file's path.
include(GoogleTest OPTIONAL)

function(kbench_common target)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE kbench_warnings kbench_sanitizers)
endfunction()

function(kbench_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  kbench_common(${name})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE ${ARG_PRIVATE_DEPS})
endfunction()

function(kbench_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  kbench_common(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# kbench_test(NAME SOURCES... DEPS... [LABELS gpu no-tsan]): a GoogleTest program. One ctest entry a program keeps start-up time low; a test that
# needs a GPU is labelled `gpu` and skips itself where there is none; one that ThreadSanitizer cannot judge is labelled `no-tsan`.
function(kbench_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  kbench_common(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests
                                           BUILD_RPATH "${CMAKE_BINARY_DIR}/bin")
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name})
  if("gpu" IN_LIST ARG_LABELS)
    set_property(GLOBAL APPEND PROPERTY KBENCH_GPU_TESTS ${name})  # packed by the gpu-tests target
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "${ARG_LABELS}"
                                          SKIP_REGULAR_EXPRESSION "SKIPPED: no GPU")
endfunction()
