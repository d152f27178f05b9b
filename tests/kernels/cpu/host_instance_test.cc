// How the shared instance turns exceptions into errors, and the summation all loops use.
#include "kernels/cpu/host_instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <new>
#include <stdexcept>

#include "kernels/cpu/accumulate.h"

namespace kbench {
namespace {

using ::testing::HasSubstr;
using Kind = ImplementationError::Kind;

TEST(HostInstance, WhatTheBodyThrowsBecomesAnErrorWithItsText) {
  HostInstance instance([] { throw std::runtime_error("the library gave up"); }, {});
  const int error = instance.Launch(nullptr);
  EXPECT_NE(error, 0);
  EXPECT_EQ(instance.ErrorText(error), "the library gave up");
}

TEST(HostInstance, EvenSomethingThatIsNoException) {
  HostInstance instance([] { throw 7; }, {});
  const int error = instance.Launch(nullptr);
  EXPECT_NE(error, 0);
  EXPECT_THAT(instance.ErrorText(error), HasSubstr("std::exception"));
}

TEST(CreateGuarded, EachExceptionHasItsKind) {
  const auto out_of_memory =
      CreateGuarded(123456, []() -> std::unique_ptr<Instance> { throw std::bad_alloc(); });
  ASSERT_FALSE(out_of_memory.ok());
  EXPECT_EQ(out_of_memory.error().kind, Kind::kOutOfMemory);
  EXPECT_EQ(out_of_memory.error().needed_bytes, 123456);
  EXPECT_THAT(out_of_memory.error().message, HasSubstr("123456 bytes"));

  const auto unsupported = CreateGuarded(
      0, []() -> std::unique_ptr<Instance> { throw std::invalid_argument("not in fp8"); });
  ASSERT_FALSE(unsupported.ok());
  EXPECT_EQ(unsupported.error().kind, Kind::kUnsupported);
  EXPECT_EQ(unsupported.error().message, "not in fp8");

  const auto broken =
      CreateGuarded(0, []() -> std::unique_ptr<Instance> { throw std::runtime_error("broken"); });
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().kind, Kind::kDeviceError);
}

TEST(HostBuffer, IsAlignedAndRefusesMoreThanThereIs) {
  const HostBuffer small(3);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.as<void>()) % 64, 0u);
  EXPECT_EQ(small.bytes(), 3);
  EXPECT_NE(HostBuffer(0).as<void>(), nullptr);
  EXPECT_THROW(HostBuffer(std::int64_t{1} << 46), std::bad_alloc);
}

TEST(PairwiseSum, StaysExactWhereARunningSumStandsStill) {
  const std::int64_t n = (std::int64_t{1} << 24) + 1000;
  EXPECT_EQ(PairwiseSum<float>(0, n, [](std::int64_t) { return 1.0f; }), static_cast<float>(n));
  const float tenth = 0.1f;
  const double exact = static_cast<double>(tenth) * static_cast<double>(n);
  EXPECT_NEAR(PairwiseSum<float>(0, n, [=](std::int64_t) { return tenth; }) / exact, 1, 1e-5);
}

TEST(PairwiseSum, VisitsEveryIndexOnce) {
  for (std::int64_t n : {0, 1, 255, 256, 257, 1000, 4097}) {
    const auto identity = [](std::int64_t i) { return static_cast<double>(i); };
    EXPECT_EQ(PairwiseSum<double>(0, n, identity), static_cast<double>(n * (n - 1) / 2)) << n;
  }
}

}  // namespace
}  // namespace kbench
