// The binaries, in the program itself: no path to look for, neither in a bundle nor in a test.
#include "kernels/triton_aot/index.h"

asm(R"(
  .pushsection .rodata
  .balign 64
  .hidden kbench_aot_cubins_begin
  .globl kbench_aot_cubins_begin
kbench_aot_cubins_begin:
  .incbin ")" KBENCH_AOT_CUBINS R"("
  .hidden kbench_aot_cubins_end
  .globl kbench_aot_cubins_end
kbench_aot_cubins_end:
  .byte 0
  .popsection
)");

extern "C" {
extern const char kbench_aot_cubins_begin[];
extern const char kbench_aot_cubins_end[];
}

namespace kbench::aot {

std::string_view Cubins() {
  return {kbench_aot_cubins_begin,
          static_cast<std::size_t>(kbench_aot_cubins_end - kbench_aot_cubins_begin)};
}

}  // namespace kbench::aot
