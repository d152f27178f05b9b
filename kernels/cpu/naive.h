// cpu/naive: what the plain loops share. One thread, no tricks: correct above all. Half types are
// converted element by element; fp64 accumulates in fp64, int8 in int32, everything else in fp32.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cpu/element.h"
#include "kernels/cpu/host_instance.h"

namespace kbench {

inline CreateResult CreateNaive(HostBody body) {
  return std::unique_ptr<Instance>(
      std::make_unique<HostInstance>(std::move(body), ConfigurationMap{{"threads", "1"}}));
}

// An instance whose body is what `make_body(Element<dtype>{})` returns; it may allocate
// `scratch_bytes` and throw.
template <typename MakeBody>
CreateResult CreateNaive(const Problem& problem, const MakeBody& make_body,
                         std::int64_t scratch_bytes = 0) {
  return CreateGuarded(scratch_bytes, [&]() -> std::unique_ptr<Instance> {
    HostBody body;
    if (!VisitElement(problem.dtype, [&](auto element) { body = make_body(element); })) {
      throw std::invalid_argument(std::string("cpu/naive computes in fp64, fp32, tf32, fp16 and "
                                              "bf16, not in ") +
                                  Info(problem.dtype).name);
    }
    return std::make_unique<HostInstance>(std::move(body), ConfigurationMap{{"threads", "1"}});
  });
}

// The table line of a cpu/naive kernel.
Implementation NaiveImplementation(std::string kernel, std::string summary,
                                   std::vector<DType> dtypes,
                                   CreateResult (*create)(const Problem&, const OperandPointers&,
                                                          const DeviceContext&));

}  // namespace kbench
