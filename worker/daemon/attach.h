// The files that go with an attempt's result: their names, and how they are added. Used from the
// case thread.
#pragma once

#include <string>

#include "kbench/v1/worker_service.pb.h"

namespace kbench {

// "cuda/naive" between prefix and suffix as a part of a file's name: "log-cuda_naive.txt".
std::string FileName(const std::string& prefix, std::string implementation,
                     const std::string& suffix);

// Adds the file to the attempt and its name to the result.
void AddArtifact(const std::string& name, const std::string& media_type, std::string content,
                 v1::Result* result, v1::AttemptResult* attempt);

}  // namespace kbench
