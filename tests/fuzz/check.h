// What a fuzz target insists on: a broken promise ends the program, as a sanitizer would.
#pragma once

#include <cstdio>
#include <cstdlib>

#define KB_FUZZ_CHECK(condition)                                                     \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                  \
    }                                                                                \
  } while (false)
