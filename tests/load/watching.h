// One stream of WatchJob over gRPC's callback API, that notes what came and when. A reader that
// stops asks for nothing after the snapshot. Thread-safe.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "grpcpp/client_context.h"
#include "grpcpp/support/client_callback.h"
#include "kbench/v1/job_service.grpc.pb.h"
#include "tests/load/figures.h"

namespace kbench::load {

// How many of all are still open.
class OpenStreams {
 public:
  void Begin();
  void End();
  bool WaitForNone(double seconds);
  // Snapshots that have come.
  void Attached();
  bool WaitForAttached(int count, double seconds);

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int open_ = 0;
  int attached_ = 0;
};

class Watching final : public grpc::ClientReadReactor<kbench::v1::JobEvent> {
 public:
  Watching(kbench::v1::JobService::Stub& stub, const std::string& job, bool reads,
           OpenStreams& streams);

  void OnReadDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;
  void Cancel() { context_.TryCancel(); }

  // After the end: whether every durable event came once and in order, and `final` last.
  bool consistent() const { return good_ && final_; }
  std::int64_t last_sequence() const { return last_; }
  // From the coordinator's stamp to here, of durable events after the snapshot.
  const Times& delays() const { return delays_; }

 private:
  void Note();

  const bool reads_;
  OpenStreams& streams_;
  grpc::ClientContext context_;
  kbench::v1::WatchJobRequest request_;
  kbench::v1::JobEvent event_;
  std::int64_t last_ = -1;
  bool good_ = true;
  bool final_ = false;
  Times delays_;
};

}  // namespace kbench::load
