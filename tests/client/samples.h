// Jobs and results as a coordinator would send them, in text form.
#pragma once

#include <string>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client::testing {

template <typename Message>
Message Parse(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

inline kbench::v1::JobEvent Event(const std::string& text) {
  return Parse<kbench::v1::JobEvent>(text);
}

// An OK row: 190 us, +-0.2 %.
inline std::string OkRow(const std::string& implementation, const std::string& more = "") {
  return R"(
    implementation: ")" +
         implementation + R"(" device: "gpu0" outcome: OUTCOME_OK verdict: VERDICT_VALID
    device_time { median: 190.1e-6 low: 189.7e-6 high: 190.5e-6 confidence: 0.95 rounds: 12 samples: 240 }
    throughput { flops: 1.374e11 bytes: 1.006e8 flops_per_second: 7.228e14 bytes_per_second: 5.29e11 }
    verification { verified: true relative_error: 2.13e-4 tolerance: 1e-3 }
    environment { device_name: "NVIDIA H200" } )" +
         more;
}

// A case of matmul that ended with the given rows.
inline std::string EndedCase(const std::string& rows) {
  return R"(
    spec { kernel: "matmul" dtype: "fp16" size: "4096" mode: "cold"
           shape: "m=4096,n=4096,k=4096,layout=nn" }
    state: JOB_STATE_SUCCEEDED attempt: 1 device: "gpu0" )" +
         rows;
}

}  // namespace kbench::client::testing
