# Target `bundle`: the programs and the shared libraries they need as one relocatable kbench-<version>-linux-x86_64.tar.xz (what goes in: deploy/bundle.sh).
# Target `gpu-tests`: the tests that need a GPU, packed for tests/gpu/run.sh.
set(kbench_shipped kbench-client kbench-server kbench-worker kbench-runner kbench-runner-cuda kbench-engine kbench-engine-cuda)
set(shipped_here)
foreach(target IN LISTS kbench_shipped)
  if(TARGET ${target})
    list(APPEND shipped_here ${target})
  endif()
endforeach()
if(KBENCH_HAVE_CUDA)
  # cuBLAS stays the host's: where the loader does not know it, the toolkit's usual place is looked at.
  foreach(target kbench-runner-cuda kbench-engine-cuda)
    if(TARGET ${target})
      set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN;$ORIGIN/../lib;/usr/local/cuda/lib64")
    endif()
  endforeach()
endif()
install(TARGETS ${shipped_here} RUNTIME DESTINATION bin COMPONENT kbench LIBRARY DESTINATION bin COMPONENT kbench)

string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" kbench_platform)
set(kbench_bundle_name kbench-${PROJECT_VERSION}-${kbench_platform})
add_custom_target(bundle
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/bundle/${kbench_bundle_name}
  COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --component kbench --strip
          --prefix ${CMAKE_BINARY_DIR}/bundle/${kbench_bundle_name}
  COMMAND ${CMAKE_SOURCE_DIR}/deploy/bundle.sh ${CMAKE_BINARY_DIR}/bundle/${kbench_bundle_name}
          ${CMAKE_BINARY_DIR}/${kbench_bundle_name}.tar.xz
  DEPENDS ${shipped_here}
  USES_TERMINAL VERBATIM)

get_property(kbench_gpu_tests GLOBAL PROPERTY KBENCH_GPU_TESTS)
foreach(target kbench-runner-fixtures kbench-runner-cuda-fixtures)
  if(TARGET ${target})
    list(APPEND kbench_gpu_tests ${target})
  endif()
endforeach()
if(KBENCH_HAVE_CUDA AND kbench_gpu_tests)
  # Unpacked over the bundle: tests/ beside its bin/ and lib/.
  set_target_properties(${kbench_gpu_tests} PROPERTIES INSTALL_RPATH "$ORIGIN/../bin;$ORIGIN/../lib;/usr/local/cuda/lib64")
  install(TARGETS ${kbench_gpu_tests} RUNTIME DESTINATION tests COMPONENT gpu-tests EXCLUDE_FROM_ALL
                                      LIBRARY DESTINATION tests COMPONENT gpu-tests EXCLUDE_FROM_ALL)
  add_custom_target(gpu-tests
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${CMAKE_BINARY_DIR}/gpu-tests
    COMMAND ${CMAKE_COMMAND} --install ${CMAKE_BINARY_DIR} --component gpu-tests --strip
            --prefix ${CMAKE_BINARY_DIR}/gpu-tests/${kbench_bundle_name}
    COMMAND ${CMAKE_COMMAND} -E chdir ${CMAKE_BINARY_DIR}/gpu-tests ${CMAKE_COMMAND} -E tar cJf
            ${CMAKE_BINARY_DIR}/kbench-gpu-tests-${PROJECT_VERSION}-${kbench_platform}.tar.xz ${kbench_bundle_name}
    DEPENDS ${kbench_gpu_tests}
    VERBATIM)
endif()
