# kbench_warnings: the one place that says which warnings our own code is held to.
add_library(kbench_warnings INTERFACE)
target_compile_options(
  kbench_warnings INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic>
                            $<$<AND:$<BOOL:${KBENCH_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)
