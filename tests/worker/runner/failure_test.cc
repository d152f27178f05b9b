// What a person reads of memory that did not suffice: both numbers, whoever failed.
#include "worker/runner/failure.h"

#include <gtest/gtest.h>

namespace kbench {
namespace {

v1::RunnerFailure Of(const std::string& message, std::int64_t needed, std::int64_t free) {
  v1::RunnerFailure failure;
  SetImplementationFailure({ImplementationError::Kind::kOutOfMemory, message, needed}, free,
                           &failure);
  EXPECT_EQ(failure.outcome(), v1::OUTCOME_OUT_OF_MEMORY);
  EXPECT_EQ(failure.needed_bytes(), needed);
  EXPECT_EQ(failure.free_bytes(), free);
  return failure;
}

TEST(Failure, OutOfMemoryNamesWhatWasNeededAndWhatWasFree) {
  EXPECT_EQ(Of("the workspace of 4096 bytes: out of memory", 4096, 1024).message(),
            "the workspace of 4096 bytes: out of memory (needed: 4096 bytes; free: 1024 bytes)");
}

// A library that finds no memory for its handle does not say how much it wanted.
TEST(Failure, OutOfMemorySaysWhatIsUnknown) {
  EXPECT_EQ(Of("the handle: CUBLAS_STATUS_ALLOC_FAILED", 0, 1024).message(),
            "the handle: CUBLAS_STATUS_ALLOC_FAILED (needed: unknown; free: 1024 bytes)");
  EXPECT_EQ(Of("no handle", 0, 0).message(), "no handle (needed: unknown; free: unknown)");
}

TEST(Failure, OutOfMemoryDoesNotRepeatItsNumbers) {
  const char* both = "the operands need 4096 bytes and 1024 are free";
  EXPECT_EQ(Of(both, 4096, 1024).message(), both);
}

}  // namespace
}  // namespace kbench
