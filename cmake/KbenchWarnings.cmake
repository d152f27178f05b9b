# kbench_warnings: the one place that says which warnings our own code is held to.
add_library(kbench_warnings INTERFACE)
target_compile_options(
  kbench_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic>
                            $<$<AND:$<BOOL:${KBENCH_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  # g++ 12 sees overlaps and overflows in "literal" + std::string that are not there (GCC bug 105651).
  target_compile_options(kbench_warnings INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict;-Wno-stringop-overflow>)
endif()
