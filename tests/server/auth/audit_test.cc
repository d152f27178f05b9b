#include "server/auth/audit.h"

#include <gmock/gmock.h>
#include <google/protobuf/struct.pb.h>
#include <google/protobuf/util/json_util.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <thread>
#include <vector>

#include "tests/server/store/temp_dir.h"

namespace kbench::server::auth {
namespace {

AuditEntry Sample(const std::string& job) {
  AuditEntry entry;
  entry.wall_micros = 1'800'000'000'123'456;
  entry.method = "kbench.v1.JobService/CancelJob";
  entry.owner = "ana";
  entry.role = "submitter";
  entry.credential = "token k3f9x2ab";
  entry.peer = "ipv4:10.0.0.1:5";
  entry.code = "OK";
  entry.job = job;
  return entry;
}

std::vector<std::string> Lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

bool IsObject(const std::string& line) {
  google::protobuf::Struct fields;
  return google::protobuf::util::JsonStringToMessage(line, &fields).ok() &&
         fields.fields().count("time") == 1;
}

TEST(Audit, OneObjectALine) {
  EXPECT_EQ(FormatAudit(Sample("jobs/x")),
            R"({"time":"2027-01-15T08:00:00.123Z","method":"kbench.v1.JobService/CancelJob",)"
            R"("owner":"ana","role":"submitter","credential":"token k3f9x2ab",)"
            R"("peer":"ipv4:10.0.0.1:5","code":"OK","job":"jobs/x"})");
}

TEST(Audit, WhatOthersSentStaysOneField) {
  const std::string evil = "x\",\"owner\":\"root\"}\n{\"\\\x01\xff" + std::string(5000, 'y');
  const std::string line = FormatAudit(Sample(evil));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_TRUE(IsObject(line)) << line;
  EXPECT_LT(line.size(), 1500u);
  google::protobuf::Struct fields;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(line, &fields).ok());
  EXPECT_EQ(fields.fields().at("owner").string_value(), "ana");
}

TEST(Audit, RotatesBySizeAndIsPrivate) {
  TempDir dir;
  const std::string path = dir / "audit.log";
  auto log = AuditLog::Open(path, 1000, 2);
  ASSERT_TRUE(log.ok()) << log.status();
  for (int i = 0; i < 40; ++i) (*log)->Write(Sample("jobs/" + std::to_string(i)));
  for (const std::string& file : {path, path + ".1", path + ".2"}) {
    struct stat info {};
    ASSERT_EQ(stat(file.c_str(), &info), 0) << file;
    EXPECT_EQ(info.st_mode & 0777, 0600u);
    EXPECT_LE(info.st_size, 1000);
    for (const std::string& line : Lines(file)) EXPECT_TRUE(IsObject(line)) << line;
  }
  struct stat info {};
  EXPECT_NE(stat((path + ".3").c_str(), &info), 0);
  EXPECT_THAT(Lines(path).back(), ::testing::HasSubstr("jobs/39"));
}

TEST(Audit, GoesOnWhereItLeftOff) {
  TempDir dir;
  for (int i = 0; i < 2; ++i) {
    auto log = AuditLog::Open(dir / "audit.log", 1 << 20);
    ASSERT_TRUE(log.ok());
    (*log)->Write(Sample("jobs/x"));
  }
  EXPECT_EQ(Lines(dir / "audit.log").size(), 2u);
  EXPECT_FALSE(AuditLog::Open(dir / "none/audit.log", 1 << 20).ok());
}

TEST(Audit, ThreadsDoNotMixTheirLines) {
  TempDir dir;
  auto log = AuditLog::Open(dir / "audit.log", 20'000);
  ASSERT_TRUE(log.ok());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) (*log)->Write(Sample("jobs/x"));
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::size_t lines = 0;
  for (const char* suffix : {"", ".1", ".2", ".3"}) {
    for (const std::string& line : Lines(dir / ("audit.log" + std::string(suffix)))) {
      EXPECT_TRUE(IsObject(line)) << line;
      ++lines;
    }
  }
  EXPECT_EQ(lines, 200u);
}

}  // namespace
}  // namespace kbench::server::auth
