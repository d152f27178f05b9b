// A disk that hangs: who scrapes does not notice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "server/rpc/coordinator.h"
#include "server/store/sqlite.h"
#include "tests/server/metrics/http_client.h"
#include "tests/server/rpc/flaky_store.h"
#include "tests/server/rpc/harness.h"

namespace kbench::metrics {
namespace {

using ::testing::HasSubstr;

TEST(SlowStore, AScrapeWaitsForNoDisk) {
  TempDir dir;
  auto opened = store::OpenSqliteStore({.data_dir = dir.path()});
  ASSERT_TRUE(opened.ok()) << opened.status();
  server::FlakyStore store(*std::move(opened));
  Metrics metrics("1");
  server::Coordinator coordinator(store, metrics, SystemClock(),
                                  server::TestServer::DefaultOptions());
  ASSERT_TRUE(coordinator.Start().ok());
  const auto address = metrics.Serve("127.0.0.1:0");
  ASSERT_TRUE(address.ok()) << address.status();
  store.stuck = true;
  std::atomic<bool> submitted = false;
  std::thread submit([&] {
    EXPECT_TRUE(coordinator.SubmitAndWait(server::MatmulJob()).ok());
    submitted = true;
  });
  while (store.waiting == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_THAT(HttpGet(*address), HasSubstr("kbench_jobs_submitted_total 0\n"));
  EXPECT_THAT(HttpGet(*address), HasSubstr("kbench_queue_jobs{class=\"interactive\"} 0\n"));
  EXPECT_THAT(HttpAnswer(*address, "/-/ready"), HasSubstr(" 200 OK"));
  EXPECT_FALSE(submitted) << "the disk was to hang all the while";
  store.stuck = false;
  submit.join();
  EXPECT_THAT(HttpGet(*address), HasSubstr("kbench_jobs_submitted_total 1\n"));
  metrics.Stop();
  coordinator.Stop();
}

}  // namespace
}  // namespace kbench::metrics
