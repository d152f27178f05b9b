# kbench_sanitizers: links into every target; empty unless KBENCH_SANITIZE names one.
add_library(kbench_sanitizers INTERFACE)
if(KBENCH_SANITIZE)
  set(flags -fsanitize=${KBENCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(kbench_sanitizers INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${flags}>)
  target_link_options(kbench_sanitizers INTERFACE ${flags})
endif()
