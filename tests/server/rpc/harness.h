// A coordinator in this process on a Unix socket in a folder of its own, and workers that do what a
// test tells them. For tests; each object belongs to one thread unless it says otherwise.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "kbench/v1/device_service.grpc.pb.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "kbench/v1/result_service.grpc.pb.h"
#include "kbench/v1/worker_service.grpc.pb.h"
#include "proto/support/error.h"
#include "proto/support/mutex.h"
#include "server/rpc/server.h"
#include "tests/server/store/temp_dir.h"

namespace kbench::server {

class TestServer {
 public:
  // `metrics`: HOST:PORT; none by default, because an HTTP server takes its time to end.
  explicit TestServer(CoordinatorOptions options = DefaultOptions(),
                      const std::string& metrics = "");
  // Quick timers; no time in which unknown devices may come back.
  static CoordinatorOptions DefaultOptions();

  // Ends the server without a farewell and starts another over the same data.
  void Restart();
  // Ends the server, does something to its folders, and starts another.
  template <typename F>
  void StopFor(F work) {
    server_.reset();
    work();
    Start();
  }
  Server& server() { return *server_; }
  std::shared_ptr<grpc::Channel> channel() const { return channel_; }
  kbench::v1::JobService::Stub& jobs() { return *jobs_; }
  kbench::v1::ResultService::Stub& results() { return *results_; }
  kbench::v1::DeviceService::Stub& devices() { return *devices_; }
  const TempDir& dir() const { return dir_; }

  absl::StatusOr<kbench::v1::Job> Submit(const kbench::v1::SubmitJobRequest& request);
  // Fails the test when it is refused.
  kbench::v1::Job MustSubmit(const kbench::v1::SubmitJobRequest& request);
  absl::StatusOr<kbench::v1::Job> Get(const std::string& name);
  absl::StatusOr<kbench::v1::Job> Cancel(const std::string& name);
  // Waits until the job is in the state, at most 10 s.
  kbench::v1::Job WaitFor(const std::string& name, kbench::v1::JobState state);

 private:
  void Start();

  TempDir dir_;
  CoordinatorOptions options_;
  std::string metrics_;
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<kbench::v1::JobService::Stub> jobs_;
  std::unique_ptr<kbench::v1::ResultService::Stub> results_;
  std::unique_ptr<kbench::v1::DeviceService::Stub> devices_;
};

// Waits for the answer.
absl::StatusOr<kbench::v1::Job> SubmitTo(Coordinator& coordinator,
                                         const kbench::v1::SubmitJobRequest& request);

// n cases matmul fp32 64, 65, ...
kbench::v1::SubmitJobRequest MatmulJob(int cases = 1, const std::string& device = "");

// A device as a worker would offer it: matmul in fp32 and fp16 by three implementations, sum in
// fp32.
kbench::v1::Device FakeDevice(const std::string& name, const std::string& kind);

class FakeWorker {
 public:
  FakeWorker(TestServer& server, const std::string& worker_id, kbench::v1::Device device,
             const std::string& boot_id = "boot1",
             const std::vector<kbench::v1::HeldAttempt>& held = {});
  ~FakeWorker() { Disconnect(); }

  // The welcome, or nothing when the stream ended instead.
  std::optional<kbench::v1::Welcome> Welcome();
  // The next message of the kind; nothing within `seconds`, or when the stream ended.
  std::optional<kbench::v1::Assign> Assign(double seconds = 5);
  std::optional<kbench::v1::ResultAck> Ack(double seconds = 5);
  std::optional<kbench::v1::CancelAttempt> CancelRequest(double seconds = 5);

  void Beat(const std::vector<kbench::v1::HeldAttempt>& held = {},
            const std::string& state = "READY");
  void Beat(const kbench::v1::Heartbeat& heartbeat);
  void Progress(const kbench::v1::AttemptId& id, int round);
  void Send(const kbench::v1::WorkerMessage& message) { stream_->Write(message); }
  void SendResult(const kbench::v1::AttemptResult& result);
  // A good result for everything an assignment asks for.
  static kbench::v1::AttemptResult GoodResult(const kbench::v1::Assign& assign);
  // Assign, result, acknowledgement.
  void RunOne();

  void Disconnect();
  // How the stream ended; waits for it.
  absl::Status End();

 private:
  using Stream =
      grpc::ClientReaderWriter<kbench::v1::WorkerMessage, kbench::v1::CoordinatorMessage>;

  template <typename T, typename Has, typename Take>
  std::optional<T> Wait(double seconds, Has has, Take take);

  std::unique_ptr<kbench::v1::WorkerService::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  std::thread reader_;
  bool finished_ = false;
  absl::Status end_;
  Mutex mutex_;
  CondVar arrived_;
  std::deque<kbench::v1::CoordinatorMessage> inbox_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
};

kbench::v1::HeldAttempt HeldOf(const kbench::v1::AttemptId& id, bool finished);

}  // namespace kbench::server
