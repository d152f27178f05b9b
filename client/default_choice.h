// Which implementations run without --impl, as far as a list of them tells. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/device_service.pb.h"

namespace kbench::client {

// The dtypes of `one` for which it runs unasked: nothing of its family and environment that is
// chosen as well stands on a higher rung. Where nothing of the kernel is chosen for a dtype, all
// run.
std::vector<std::string> DefaultDTypes(const kbench::v1::KernelInfo& kernel,
                                       const kbench::v1::ImplementationInfo& one);

// "yes", "no", or the dtypes where it is some of them.
std::string DefaultText(const kbench::v1::KernelInfo& kernel,
                        const kbench::v1::ImplementationInfo& one);

}  // namespace kbench::client
