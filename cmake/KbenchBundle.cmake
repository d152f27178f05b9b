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
