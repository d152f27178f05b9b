# kbench_sanitizers: links into every target; empty unless KBENCH_SANITIZE names one.
add_library(kbench_sanitizers INTERFACE)
option(KBENCH_FUZZ "Build the fuzz targets as libFuzzer programs (clang)" OFF)
if(KBENCH_SANITIZE)
  set(flags -fsanitize=${KBENCH_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  if(KBENCH_SANITIZE STREQUAL thread)
    # Protobuf's headers give a map another layout where this macro is set, and the distribution's library has the plain one: what it holds of
    # ours would be read through the wrong fields. The standard library's own switch stays on.
    list(APPEND flags -U__SANITIZE_THREAD__ -D_GLIBCXX_TSAN=1 -DKBENCH_TSAN=1)
  endif()
  if(KBENCH_FUZZ)
    # The last two look at types across libraries that are not instrumented.
    list(APPEND flags -fsanitize=fuzzer-no-link -fno-sanitize=vptr,function)
  endif()
  target_compile_options(kbench_sanitizers INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${flags}>)
  target_link_options(kbench_sanitizers INTERFACE -fsanitize=${KBENCH_SANITIZE})
endif()
