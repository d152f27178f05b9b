#include "worker/device/deadline_thread.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>

namespace kbench {
namespace {

TEST(DeadlineThread, ReturnsTheValue) {
  DeadlineThread thread;
  EXPECT_EQ(thread.Get<int>([] { return 7; }, 5), 7);
}

TEST(DeadlineThread, AHangCostsOnlyTheDeadline) {
  auto release = std::make_shared<std::promise<void>>();
  auto thread = std::make_unique<DeadlineThread>();
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(thread->Run([release] { release->get_future().wait(); }, 0.05));
  EXPECT_FALSE(thread->Run([] {}, 0.05)) << "the thread is still inside the hung call";
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  release->set_value();
  EXPECT_TRUE(thread->Run([] {}, 5)) << "it must recover when the call returns";
}

TEST(DeadlineThread, DestructionDoesNotWaitForAHang) {
  auto release = std::make_shared<std::promise<void>>();
  {
    DeadlineThread thread;
    EXPECT_FALSE(thread.Run([release] { release->get_future().wait(); }, 0.02));
  }
  release->set_value();
}

}  // namespace
}  // namespace kbench
