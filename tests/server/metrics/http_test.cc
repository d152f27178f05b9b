// The endpoint among scrapers that behave badly: another one is served, and nothing grows.
#include "server/metrics/http.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/metrics/http_client.h"

namespace kbench::metrics {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

int CountIn(const char* folder) {
  int count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

class HttpTest : public ::testing::Test {
 protected:
  explicit HttpTest(std::size_t bytes = 4 << 20) : text_(bytes, 'x') {
    auto opened = HttpEndpoint::Open("127.0.0.1:0", {[this] {
                                                       ++scrapes_;
                                                       return text_ + "end\n";
                                                     },
                                                     [] { return std::string(); }});
    EXPECT_TRUE(opened.ok()) << opened.status();
    endpoint_ = *std::move(opened);
  }
  const std::string& address() const { return endpoint_->address(); }
  void ExpectServed() {
    const std::string answer = HttpAnswer(address(), "/metrics");
    EXPECT_THAT(answer.substr(0, 100), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_GT(answer.size(), text_.size());
    EXPECT_THAT(answer.substr(answer.size() - 4), EndsWith("end\n"));
  }

  const std::string text_;
  std::atomic<int> scrapes_ = 0;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

// As many as delay nobody.
constexpr int kStalled = kScrapeThreads - 1;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Somebody is served while all of the stalled still wait. Tried again where this machine was so
// busy that their time was over meanwhile, which says nothing.
TEST_F(HttpTest, HalfRequestsKeepNobodyOut) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    std::vector<std::unique_ptr<HttpClient>> stalled;
    const double begin = Now();
    for (int i = 0; i < kStalled; ++i) {
      stalled.push_back(std::make_unique<HttpClient>(address()));
      stalled.back()->Send("GET /metrics HTTP/1.1\r\nHost:");
    }
    ExpectServed();
    const bool in_time = Now() - begin < kStallSeconds;
    const bool all_wait = std::all_of(stalled.begin(), stalled.end(),
                                      [](const auto& one) { return one->IsSilent(); });
    if (all_wait) return;
    ASSERT_FALSE(in_time) << "one of them was sent away before its time";
  }
  FAIL() << "nobody is served before those that stall are given up";
}

// More than the system takes off the endpoint's hands.
class LargeTest : public HttpTest {
 protected:
  LargeTest() : HttpTest(32 << 20) {}
};

TEST_F(LargeTest, WhoReadsLittleByLittleIsGivenUp) {
  HttpClient slow(address(), 4096);
  slow.Ask("/metrics");
  std::vector<char> buffer(4096);
  std::size_t taken = 0;
  for (const double end = Now() + kAnswerSeconds + kStallSeconds; Now() < end;) {
    const ssize_t count = slow.ReadSome(buffer.data(), buffer.size());
    if (count <= 0) break;
    taken += static_cast<std::size_t>(count);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken + slow.ReadAll().size(), text_.size()) << "it would have been served to the end";
}

TEST_F(HttpTest, MoreThanThereAreThreadsDelayTheOthersUntilTheyAreGivenUp) {
  std::vector<std::unique_ptr<HttpClient>> stalled;
  for (int i = 0; i < 3 * kScrapeThreads; ++i) {
    stalled.push_back(std::make_unique<HttpClient>(address()));
    stalled.back()->Send("GET /metrics HTTP/1.1\r\nHost:");
  }
  const double begin = Now();
  ExpectServed();
  EXPECT_GT(Now() - begin, kStallSeconds / 2) << "the test has stalled none";
}

TEST_F(HttpTest, WhoNeverReadsKeepsNobodyOutAndIsBounded) {
  const int threads = CountIn("/proc/self/task");
  const int files = CountIn("/proc/self/fd");
  std::vector<std::unique_ptr<HttpClient>> stalled;
  for (int i = 0; i < kStalled; ++i) {
    stalled.push_back(std::make_unique<HttpClient>(address(), 4096));
    stalled.back()->Ask("/metrics");
  }
  ExpectServed();
  ExpectServed();
  EXPECT_EQ(CountIn("/proc/self/task"), threads) << "no thread a scraper";
  // Both ends are this process's, and one connection may not be closed yet.
  EXPECT_LE(CountIn("/proc/self/fd"), files + 2 * kStalled + 2);
}

TEST_F(HttpTest, ARequestMayComeInPieces) {
  HttpClient client(address());
  for (const char* piece : {"GE", "T /metrics?x=1 HT", "TP/1.1\r\nHost: x\r", "\n\r", "\n"}) {
    ASSERT_TRUE(client.Send(piece));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_THAT(client.ReadAll().substr(0, 40), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpTest, WhatIsNoScrapeIsRefused) {
  HttpClient endless(address());
  for (int i = 0; i < 20 && endless.Send("GET /metrics HTTP/1.1\r\nX: " + std::string(4096, 'y'));
       ++i) {
  }
  EXPECT_THAT(endless.ReadAll(), Not(HasSubstr("end\n")));
  HttpClient post(address());
  post.Ask("/metrics", "POST");
  EXPECT_THAT(post.ReadAll(), HasSubstr("405 Method Not Allowed\r\nAllow: GET, HEAD\r\n"));
  HttpClient head(address());
  head.Ask("/metrics", "HEAD");
  EXPECT_THAT(head.ReadAll(), EndsWith("Connection: close\r\n\r\n"));
  HttpClient garbage(address());
  garbage.Send(std::string("\x16\x03\x01\x02\0\x01\r\n\r\n", 10));
  EXPECT_THAT(garbage.ReadAll(), HasSubstr(" 400 "));
  for (const char* page : {"/", "/etc/passwd", "/metrics/", "/metrics/../metrics2", "/-/"}) {
    EXPECT_THAT(HttpAnswer(address(), page), StartsWith("HTTP/1.1 404 ")) << page;
  }
  EXPECT_EQ(scrapes_, 1) << "a HEAD";
}

TEST_F(HttpTest, ItEndsThoughSomebodyIsConnected) {
  HttpClient half(address());
  half.Send("GET");
  HttpClient silent(address(), 4096);
  silent.Ask("/metrics");
  const double begin = Now();
  endpoint_.reset();
  EXPECT_LT(Now() - begin, 10 * kStallSeconds);
}

TEST(HttpEndpoint, ListensOnNamesAndOnIpv6WhereThereIsOne) {
  const HttpSources sources = {[] { return std::string("text\n"); }, nullptr};
  const auto named = HttpEndpoint::Open("localhost:0", sources);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_THAT((*named)->address(), StartsWith("localhost:"));
  if (const auto six = HttpEndpoint::Open("[::1]:0", sources); six.ok()) {
    EXPECT_THAT((*six)->address(), StartsWith("[::1]:"));
    EXPECT_THAT((*six)->address(), Not(EndsWith(":0")));
  }
  EXPECT_FALSE(HttpEndpoint::Open("203.0.113.7:0", sources).ok()) << "not this machine's";
}

TEST(HttpEndpoint, SaysWhyAnAddressIsRefused) {
  const HttpSources sources = {[] { return std::string("text\n"); }, nullptr};
  const auto first = HttpEndpoint::Open("127.0.0.1:0", sources);
  ASSERT_TRUE(first.ok()) << first.status();
  const auto message = [&](const std::string& address) {
    return std::string(HttpEndpoint::Open(address, sources).status().message());
  };
  EXPECT_THAT(message((*first)->address()), HasSubstr("the port is taken; give another"));
  EXPECT_THAT(message("127.0.0.1"), HasSubstr("not HOST:PORT"));
  EXPECT_THAT(message("127.0.0.1:many"), HasSubstr("cannot serve metrics on 127.0.0.1:many"));
  EXPECT_THAT(message("127.0.0.1:99999"), HasSubstr("cannot serve metrics on 127.0.0.1:99999"));
  EXPECT_THAT(message("203.0.113.7:0"), HasSubstr("cannot bind to 203.0.113.7:0"));
}

}  // namespace
}  // namespace kbench::metrics
