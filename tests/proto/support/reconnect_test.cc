#include "proto/support/reconnect.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "kbench/v1/account_service.grpc.pb.h"
#include "proto/support/channel.h"
#include "proto/support/clock.h"

namespace kbench {
namespace {

class PauseForConnectionTest : public ::testing::Test {
 protected:
  PauseForConnectionTest()
      : address_("unix:" + ::testing::TempDir() + "/reconnect-" + std::to_string(getpid())),
        channel_(MakeChannel(address_)) {}

  void Serve() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(address_, grpc::InsecureServerCredentials());
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    ASSERT_NE(server_, nullptr);
  }
  static double Now() { return SystemClock().SteadySeconds(); }
  static bool Never() { return false; }

  const std::string address_;
  const std::shared_ptr<grpc::Channel> channel_;
  v1::AccountService::Service service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(PauseForConnectionTest, EndsWhenTheServerIsThere) {
  std::thread server([this] {
    usleep(300'000);
    Serve();
  });
  EXPECT_TRUE(PauseForConnection(*channel_, 60, Never));
  EXPECT_EQ(channel_->GetState(false), GRPC_CHANNEL_READY);
  server.join();
}

TEST_F(PauseForConnectionTest, LastsItsTimeWhereNobodyListens) {
  const double begin = Now();
  EXPECT_TRUE(PauseForConnection(*channel_, 0.3, Never));
  EXPECT_GE(Now() - begin, 0.3);
}

TEST_F(PauseForConnectionTest, LastsItsTimeOnAChannelThatIsConnected) {
  Serve();
  ASSERT_TRUE(PauseForConnection(*channel_, 60, Never));
  const double begin = Now();
  EXPECT_TRUE(PauseForConnection(*channel_, 0.3, Never));
  EXPECT_GE(Now() - begin, 0.3) << "tries that fail at once must not follow without a pause";
}

TEST_F(PauseForConnectionTest, EndsWhenItIsStopped) {
  std::atomic<bool> stopped = false;
  std::thread user([&stopped] {
    usleep(200'000);
    stopped = true;
  });
  EXPECT_FALSE(PauseForConnection(*channel_, 600, [&stopped] { return stopped.load(); }));
  user.join();
}

}  // namespace
}  // namespace kbench
