// From the names of device functions to files with what they were compiled to: read out of the
// program that holds them, or as the instance gives it. Used from one thread.
#pragma once

#include <string>
#include <vector>

#include "kbench/v1/runner.pb.h"
#include "kernels/implementation.h"

namespace kbench {

// Reads `program` and writes, into the request's directory, the cubin and the PTX that its device
// runs or would compile for these functions: whole translation units, each once. What is missing
// is said in the reply's message; nothing here is an error of the implementation.
void CollectCode(const std::string& program, const std::vector<std::string>& functions,
                 const v1::CollectCode& request, v1::CodeCollected* reply);

// Says how this code is told from other code of functions with the same names and, unless
// `directory` is empty, writes it there, a file each.
void WriteCode(const std::vector<DeviceCode>& code, const std::string& directory,
               v1::CodeCollected* reply);

}  // namespace kbench
