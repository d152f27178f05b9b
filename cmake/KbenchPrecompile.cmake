# Precompiled headers, for builds from scratch (the release and ci presets): two sets, each compiled once and used by every library that
# includes most of it. They change build times only: dev and sanitizer builds go without, and the header test compiles headers alone.
option(KBENCH_PRECOMPILE "Precompile the headers of Protobuf and gRPC" OFF)
if(NOT KBENCH_PRECOMPILE)
  return()
endif()

set(standard_headers <algorithm> <cstdint> <functional> <map> <memory> <optional> <string> <utility> <vector>)
set(message_headers kbench/v1/job.pb.h kbench/v1/runner.pb.h kbench/v1/worker_service.pb.h absl/status/status.h absl/status/statusor.h
                    fmt/format.h spdlog/spdlog.h)
set(service_headers grpcpp/grpcpp.h kbench/v1/device_service.grpc.pb.h kbench/v1/job_service.grpc.pb.h
                    kbench/v1/result_service.grpc.pb.h kbench/v1/worker_service.grpc.pb.h)

# kbench_precompile(NAME HEADERS... DEPS... USERS...): USERS share one precompiled set of HEADERS.
function(kbench_precompile name)
  cmake_parse_arguments(ARG "" "" "HEADERS;DEPS;USERS" ${ARGN})
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cc CONTENT "// Carries the precompiled headers.\n")
  kbench_library(${name} SOURCES ${CMAKE_BINARY_DIR}/${name}.cc DEPS ${ARG_DEPS})
  list(TRANSFORM ARG_HEADERS REPLACE "^([^<].*)$" "<\\1>")
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
  foreach(user IN LISTS ARG_USERS)
    if(TARGET ${user})
      target_precompile_headers(${user} REUSE_FROM ${name})
    endif()
  endforeach()
endfunction()

kbench_precompile(kbench_message_headers
  HEADERS ${standard_headers} ${message_headers}
  DEPS kbench_proto absl::status absl::statusor fmt::fmt spdlog::spdlog Threads::Threads
  USERS kbench_store kbench_metrics kbench_worker_core kbench_device kbench_runner_core)
if(KBENCH_WITH_GRPC)
  kbench_precompile(kbench_service_headers
    HEADERS ${standard_headers} ${message_headers} ${service_headers}
    DEPS kbench_proto_grpc absl::status absl::statusor fmt::fmt spdlog::spdlog Threads::Threads
    USERS kbench_server_core kbench_client_core kbench_worker_session)
endif()
