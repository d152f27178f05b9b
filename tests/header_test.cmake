# Header self-containment: every header names what it uses. One whose own source includes it before anything else is proven by that source; each of the
# others is compiled alone. Built (there is nothing to run) where KBENCH_HEADER_TESTS is on: the ci preset, because headers that reach gRPC take seconds each.
option(KBENCH_HEADER_TESTS "Compile every header alone" OFF)
if(NOT KBENCH_HEADER_TESTS OR NOT KBENCH_WITH_GRPC)
  return()
endif()

file(GLOB_RECURSE headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     ${CMAKE_SOURCE_DIR}/proto/*.h ${CMAKE_SOURCE_DIR}/stats/*.h ${CMAKE_SOURCE_DIR}/kernels/*.h ${CMAKE_SOURCE_DIR}/worker/*.h
     ${CMAKE_SOURCE_DIR}/server/*.h ${CMAKE_SOURCE_DIR}/client/*.h)
set(sources)
foreach(header IN LISTS headers)
  file(STRINGS ${CMAKE_SOURCE_DIR}/${header} cuda_includes REGEX "^ *# *include *[<\"](cuda|cublas)")
  if(cuda_includes AND NOT KBENCH_HAVE_CUDA)
    continue()
  endif()
  string(REGEX REPLACE "\\.h$" ".cc" own_source ${header})
  if(EXISTS ${CMAKE_SOURCE_DIR}/${own_source})
    file(STRINGS ${CMAKE_SOURCE_DIR}/${own_source} first_include REGEX "^#include" LIMIT_COUNT 1)
    if(first_include STREQUAL "#include \"${header}\"")
      continue()
    endif()
  endif()
  string(REGEX REPLACE "[/.]" "_" stem ${header})
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${stem}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"  // IWYU pragma: keep\n")
  list(APPEND sources ${source})
endforeach()

add_library(kbench_header_test OBJECT ${sources})
kbench_common(kbench_header_test)
target_compile_options(kbench_header_test PRIVATE -O0)
target_include_directories(kbench_header_test SYSTEM PRIVATE ${KBENCH_NVML_INCLUDE_DIR})
target_link_libraries(kbench_header_test PRIVATE kbench_proto_grpc kbench_dnnl PkgConfig::OPENBLAS absl::status absl::statusor
                                                 fmt::fmt spdlog::spdlog)
if(KBENCH_HAVE_CUDA)
  target_include_directories(kbench_header_test SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
endif()
