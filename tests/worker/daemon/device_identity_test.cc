#include "worker/daemon/device_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "proto/support/error.h"

namespace kbench {
namespace {

class DeviceIdentityTest : public testing::Test {
 protected:
  void SetUp() override {
    dir_ = testing::TempDir() + "/identity-" + std::to_string(getpid());
    std::filesystem::create_directories(dir_);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::string dir_;
};

TEST_F(DeviceIdentityTest, IsWhatAGoodStartSaved) {
  v1::Device device;
  device.set_kind("cuda");
  device.set_name("l4-0");
  device.set_uuid("GPU-1");
  device.set_model("NVIDIA L4");
  device.add_implementations()->set_name("cublas");
  ASSERT_TRUE(SaveIdentity(dir_, "0", device).ok());
  const auto loaded = LoadIdentity(dir_, "0", "");
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->SerializeAsString(), device.SerializeAsString());
  EXPECT_EQ(LoadIdentity(dir_, "0", "other")->name(), "other") << "--name goes first";
  EXPECT_FALSE(LoadIdentity(dir_, "1", "").ok()) << "of another --device";
}

TEST_F(DeviceIdentityTest, WithoutAFileTheCommandLineMayDo) {
  const auto typed = LoadIdentity(dir_, "GPU-7", "l4-1");
  ASSERT_TRUE(typed.ok()) << typed.status();
  EXPECT_EQ(typed->uuid(), "GPU-7");
  EXPECT_EQ(typed->name(), "l4-1");
  EXPECT_EQ(typed->kind(), "cuda");
  EXPECT_THAT(MessageOf(LoadIdentity(dir_, "0", "l4-1").status()),
              testing::HasSubstr("--device GPU-<uuid> and --name"));
  EXPECT_FALSE(LoadIdentity(dir_, "GPU-7", "").ok());
  std::filesystem::create_directories(dir_ + "/identity");
  std::ofstream(dir_ + "/identity/0.json") << "half a fi";
  EXPECT_FALSE(LoadIdentity(dir_, "0", "").ok());
}

}  // namespace
}  // namespace kbench
