// selftest/a, selftest/b, selftest/slower on a CPU: what `kbench-client selftest` compares to show
// that the service tells equal from unequal. All three copy x to y, tile by tile, and copy each
// tile again and again while it lies in the first-level cache: `a` and `b` 1000 times, which are
// the same work under two names, and `slower` 1020 times, exactly 2 % more. What a tile costs when
// it comes from memory is below 5 % of that, so that the time grows by 1.9 to 2 %. Hidden: they run
// only when they are asked for by name.
#include <algorithm>
#include <cstring>
#include <memory>

#include "kernels/cpu/host_instance.h"
#include "kernels/cpu/implementations.h"
#include "kernels/selftest_line.h"

namespace kbench {
namespace {

constexpr std::size_t kTileBytes = 8192;  // twice that, to and from, fits any first-level cache
constexpr int kRepetitions = 1000;
constexpr int kMoreRepetitions = 1020;

void CopyTiles(const char* x, char* y, std::size_t bytes, int repetitions) {
  for (std::size_t done = 0; done < bytes; done += kTileBytes) {
    const std::size_t tile = std::min(kTileBytes, bytes - done);
    for (int i = 0; i < repetitions; ++i) {
      std::memcpy(y + done, x + done, tile);
      asm volatile("" ::: "memory");  // each copy is done, though the next one writes the same
    }
  }
}

template <int repetitions>
CreateResult Create(const Problem& problem, const OperandPointers& operands,
                    const DeviceContext& /*context*/) {
  const auto* x = static_cast<const char*>(operands.inputs[0]);
  auto* y = static_cast<char*>(operands.output);
  const std::size_t bytes =
      static_cast<std::size_t>(problem.shape["n"]) * Info(problem.dtype).storage_bytes;
  return CreateGuarded(0, [=]() -> std::unique_ptr<Instance> {
    return std::make_unique<HostInstance>(
        [=] { CopyTiles(x, y, bytes, repetitions); },
        ConfigurationMap{{"threads", "1"}, {"repetitions", std::to_string(repetitions)}});
  });
}

}  // namespace

Implementation CpuSelftestA() {
  return SelftestLine("selftest/a", "a copy with much work inside, for the self-test",
                      Create<kRepetitions>);
}

Implementation CpuSelftestB() {
  return SelftestLine("selftest/b", "the same work as selftest/a under another name",
                      Create<kRepetitions>);
}

Implementation CpuSelftestSlower() {
  return SelftestLine("selftest/slower", "2 % more work than selftest/a", Create<kMoreRepetitions>);
}

}  // namespace kbench
