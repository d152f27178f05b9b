// --on A,B: one job a device, told side by side.
#include "client/commands/on_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <thread>

#include "client/output/on_table.h"
#include "proto/support/error.h"
#include "tests/client/fake_service.h"
#include "tests/client/samples.h"

namespace kbench::client {
namespace {

using ::testing::AllOf;
using testing::EndedCase;
using testing::Event;
using testing::FakeCoordinator;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing::OkRow;
using testing::Parse;

std::string Row(const std::string& name, double median, const std::string& verdict = "VALID") {
  return "results { implementation: \"" + name + "\" outcome: OUTCOME_OK verdict: VERDICT_" +
         verdict + " device_time { median: " + std::to_string(median) +
         " low: " + std::to_string(median * 0.998) + " high: " + std::to_string(median * 1.002) +
         " } }";
}

kbench::v1::CaseStatus Status(const std::string& rows) {
  return Parse<kbench::v1::CaseStatus>(EndedCase(rows));
}

std::string Collapsed(const std::string& text) {
  std::istringstream words(text);
  std::string one;
  for (std::string word; words >> word;) one += (one.empty() ? "" : " ") + word;
  return one;
}

TEST(OnTable, AColumnADeviceAndRatiosWithoutAVerdict) {
  const std::string text =
      OnTableText({{"gpu0", Status(Row("cublas", 0.004) + Row("triton", 0.006))},
                   {"gpu1", Status(Row("cublas", 0.002) + Row("cuda/mma", 0.010, "SUSPECT"))}});
  EXPECT_EQ(text.substr(0, text.find('\n')), "matmul fp16 m=4096,n=4096,k=4096,layout=nn, cold");
  EXPECT_THAT(Collapsed(text),
              AllOf(HasSubstr("implementation gpu0 gpu1 vs first cublas"),
                    HasSubstr(" cublas 4.000 ms +-0.20% 2.000 ms +-0.20% 2.00x "),
                    HasSubstr(" triton 6.000 ms +-0.20% - - "),
                    HasSubstr(" cuda/mma - 10.00 ms +-0.20% SUSPECT - "),
                    HasSubstr("gpu1: cuda/mma SUSPECT"), Not(HasSubstr("faster"))));
  EXPECT_THAT(Collapsed(OnFooter({"gpu0", "gpu1"})),
              AllOf(HasSubstr("as on gpu0"), HasSubstr("they are no verdict")));
}

TEST(OnTable, ManyDevicesStayWithinNinetyColumns) {
  for (std::size_t count = 2; count <= kMostOnDevices; ++count) {
    std::vector<OnColumn> columns;
    for (std::size_t i = 0; i < count; ++i) {
      columns.push_back({"model=NVIDIA H200 NVL " + std::to_string(i),
                         Status(Row("triton/persistent", 0.1904, "SUSPECT"))});
    }
    std::istringstream lines(OnTableText(columns));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 90u) << line;
  }
}

TEST(OnTable, WhatDidNotRunSaysWhy) {
  auto failed = Parse<kbench::v1::CaseStatus>(EndedCase(""));
  failed.set_state(kbench::v1::JOB_STATE_FAILED);
  failed.set_message("its worker died twice");
  const std::string text = OnTableText({{"gpu0", Status(Row("cublas", 0.004))}, {"gpu1", failed}});
  EXPECT_THAT(text, AllOf(HasSubstr("gpu1: FAILED: its worker died twice"), HasSubstr("cublas")));
}

TEST(ParseOn, TwoDevicesAtLeastAndNoneTwice) {
  EXPECT_THAT(*ParseOn("gpu0, model=L4"), ::testing::ElementsAre("gpu0", "model=L4"));
  EXPECT_THAT(MessageOf(ParseOn("gpu0").status()), HasSubstr("--device NAME"));
  EXPECT_FALSE(ParseOn(",").ok());
  EXPECT_THAT(MessageOf(ParseOn("gpu0,gpu1,gpu0").status()), HasSubstr("twice"));
  std::string many = "g";
  for (int i = 0; i < 16; ++i) many += ",g" + std::to_string(i);
  EXPECT_THAT(MessageOf(ParseOn(many).status()), HasSubstr("at most 6"));
}

struct Ran {
  int code = 0;
  std::string out;
  std::string err;
};

class OnDevicesTest : public ::testing::Test {
 protected:
  Ran Run(const std::vector<std::string>& arguments) {
    std::ostringstream out;
    std::ostringstream err;
    Io io{out, err, false};
    const int code = fake_.Run(arguments, io, interrupt_);
    return {code, out.str(), err.str()};
  }

  // A job on `device` that ends with these rows.
  void Prepare(const std::string& device, const std::string& id, const std::string& rows,
               const std::string& state = "SUCCEEDED") {
    fake_.jobs.job_on[device].set_name("jobs/" + id);
    const std::string ended = EndedCase(rows);
    fake_.jobs.stream_of["jobs/" + id] = {
        .events = {Event("snapshot { name: \"jobs/" + id + "\" state: JOB_STATE_QUEUED " +
                         R"(last_sequence: 1 cases { state: JOB_STATE_QUEUED } })"),
                   Event("sequence: 2 case_changed { " + ended + " }"),
                   Event("sequence: 3 final { name: \"jobs/" + id + "\" state: JOB_STATE_" + state +
                         " cases { " + ended + " } }")}};
  }

  FakeCoordinator fake_;
  Interrupt interrupt_;
};

TEST_F(OnDevicesTest, TheSameSpecificationOnEachAndOneTable) {
  Prepare("gpu0", "aaaaaaaa", Row("cublas", 0.004));
  Prepare("gpu1", "bbbbbbbb", Row("cublas", 0.002));
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--on", "gpu0,gpu1"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.out, AllOf(HasSubstr("gpu0"), HasSubstr("gpu1"), HasSubstr("2.00x"),
                             HasSubstr("vs first: how many times as fast as on gpu0")));
  EXPECT_EQ(ran.out.find("matmul fp16"), ran.out.rfind("matmul fp16")) << "one block";
  // Both are asked first whether they would be taken, then submitted.
  ASSERT_EQ(fake_.jobs.submitted.size(), 4u);
  EXPECT_TRUE(fake_.jobs.submitted[1].validate_only());
  EXPECT_FALSE(fake_.jobs.submitted[2].validate_only());
  auto first = fake_.jobs.submitted[2].spec();
  auto second = fake_.jobs.submitted[3].spec();
  EXPECT_EQ(first.device(), "gpu0");
  EXPECT_EQ(second.device(), "gpu1");
  EXPECT_NE(fake_.jobs.submitted[2].request_id(), fake_.jobs.submitted[3].request_id());
  first.clear_device();
  second.clear_device();
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
}

TEST_F(OnDevicesTest, TheWorstExitCodeCounts) {
  Prepare("gpu0", "aaaaaaaa", Row("cublas", 0.004));
  Prepare("gpu1", "bbbbbbbb", Row("cublas", 0.002, "SUSPECT"));
  EXPECT_EQ(Run({"submit", "matmul", "fp16", "4096", "--on", "gpu0,gpu1"}).code, 4);
  Prepare("gpu0", "aaaaaaaa", "", "FAILED");
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--on", "gpu0,gpu1"});
  EXPECT_EQ(ran.code, 5);
  EXPECT_THAT(ran.err, HasSubstr("gpu0: job aaaaaaaa ended FAILED"));
}

TEST_F(OnDevicesTest, JsonLinesCarryTheDevice) {
  Prepare("gpu0", "aaaaaaaa", Row("cublas", 0.004));
  Prepare("gpu1", "bbbbbbbb", Row("cublas", 0.002));
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--on", "gpu0,gpu1", "-o", "json"});
  EXPECT_EQ(ran.code, 0) << ran.err;
  int results = 0;
  std::istringstream lines(ran.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_THAT(line, ::testing::AnyOf(HasSubstr(",\"device\":\"gpu0\"}"),
                                       HasSubstr(",\"device\":\"gpu1\"}")));
    results += line.rfind("{\"result\":", 0) == 0 ? 1 : 0;
  }
  EXPECT_EQ(results, 2);
}

TEST_F(OnDevicesTest, NothingIsSubmittedUnlessAllWouldBeTaken) {
  Prepare("gpu0", "aaaaaaaa", Row("cublas", 0.004));
  fake_.jobs.refused_on["gpu7"] =
      MakeError(absl::StatusCode::kFailedPrecondition, "there is no device gpu7",
                {.reason = "UNKNOWN_DEVICE"});
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--on", "gpu0,gpu7"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.out, IsEmpty());
  for (const auto& request : fake_.jobs.submitted) EXPECT_TRUE(request.validate_only());
}

TEST_F(OnDevicesTest, DetachPrintsANameALine) {
  Prepare("gpu0", "aaaaaaaa", "");
  Prepare("gpu1", "bbbbbbbb", "");
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--on", "gpu0,gpu1", "--detach"});
  EXPECT_EQ(ran.code, 0);
  EXPECT_EQ(ran.out, "aaaaaaaa\nbbbbbbbb\n");
  EXPECT_TRUE(fake_.jobs.watched.empty());
}

TEST_F(OnDevicesTest, CtrlCLeavesBothJobs) {
  for (const auto& [device, id] : {std::pair{"gpu0", "aaaaaaaa"}, std::pair{"gpu1", "bbbbbbbb"}}) {
    fake_.jobs.job_on[device].set_name(std::string("jobs/") + id);
    fake_.jobs.stream_of[std::string("jobs/") + id] = {.events = {}, .hang = true};
  }
  std::thread ctrl_c([this] {
    while (!interrupt_.Fire()) {
      if (interrupt_.fired()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  const Ran ran = Run({"submit", "matmul", "fp16", "4096", "--on", "gpu0,gpu1"});
  ctrl_c.join();
  EXPECT_EQ(ran.code, 130);
  EXPECT_THAT(ran.err, AllOf(HasSubstr("gpu0: job aaaaaaaa goes on"),
                             HasSubstr("gpu1: job bbbbbbbb goes on")));
}

TEST_F(OnDevicesTest, OnDoesNotGoWithDeviceOrARequestId) {
  EXPECT_EQ(Run({"submit", "sum", "fp32", "1", "--on", "a,b", "--device", "a"}).code, 2);
  EXPECT_EQ(Run({"submit", "sum", "fp32", "1", "--on", "a,b", "--request-id", "x"}).code, 2);
  EXPECT_EQ(Run({"submit", "sum", "fp32", "1", "--on", "a"}).code, 2);
  EXPECT_EQ(Run({"suite", "list", "--on", "a,b"}).code, 2);
  EXPECT_TRUE(fake_.jobs.submitted.empty());
}

}  // namespace
}  // namespace kbench::client
