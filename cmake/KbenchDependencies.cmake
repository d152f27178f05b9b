# Everything found on the system. deploy/setup.sh installs what this file looks for.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(PkgConfig REQUIRED)
if(KBENCH_WITH_GRPC)
  find_package(gRPC REQUIRED)
  find_package(prometheus-cpp REQUIRED)
  find_package(civetweb REQUIRED)
  find_package(OpenSSL REQUIRED)
endif()
find_package(SQLite3 REQUIRED)
# Debian's dnnl-config.cmake insists on OpenCL's headers, which nothing here needs: take header and library as they are.
find_path(KBENCH_DNNL_INCLUDE_DIR dnnl.hpp PATH_SUFFIXES oneapi/dnnl REQUIRED)
find_library(KBENCH_DNNL_LIBRARY dnnl REQUIRED)
add_library(kbench_dnnl INTERFACE)
target_include_directories(kbench_dnnl SYSTEM INTERFACE ${KBENCH_DNNL_INCLUDE_DIR})
target_link_libraries(kbench_dnnl INTERFACE ${KBENCH_DNNL_LIBRARY})
pkg_check_modules(OPENBLAS REQUIRED IMPORTED_TARGET openblas)
if(KBENCH_WITH_TESTS)
  find_package(GTest REQUIRED)
endif()

# google/rpc/*.proto, nvml.h and cudnn_frontend.h are not packaged by Debian: they come from wheels that deploy/setup.sh puts into .venv
# (googleapis-common-protos, nvidia-nvml-dev, nvidia-cudnn-frontend).
set(KBENCH_VENV ${CMAKE_SOURCE_DIR}/.venv CACHE PATH "The virtual environment made by deploy/setup.sh")
file(GLOB KBENCH_SITE_PACKAGES ${KBENCH_VENV}/lib/python3*/site-packages)
find_path(KBENCH_GOOGLEAPIS_DIR google/rpc/error_details.proto PATHS ${KBENCH_SITE_PACKAGES}
          NO_DEFAULT_PATH REQUIRED)
file(GLOB KBENCH_NVML_HINTS ${KBENCH_VENV}/lib/python3*/site-packages/nvidia/cu*/include
     ${KBENCH_VENV}/lib/python3*/site-packages/nvidia/nvml_dev/include)
find_path(KBENCH_NVML_INCLUDE_DIR nvml.h PATHS ${KBENCH_NVML_HINTS} NO_DEFAULT_PATH REQUIRED)
list(TRANSFORM KBENCH_SITE_PACKAGES APPEND /include OUTPUT_VARIABLE KBENCH_FRONTEND_HINTS)
find_path(KBENCH_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h HINTS ${KBENCH_FRONTEND_HINTS})  # optional: KbenchCuda.cmake
