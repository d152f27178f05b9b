// What the tests of the queue's calls share. For tests.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "proto/support/rpc_status.h"
#include "tests/server/rpc/harness.h"

namespace kbench::server::queue_testing {

using kbench::v1::AttemptId;
using kbench::v1::Explanation;
using kbench::v1::ForeignProcess;
using kbench::v1::GetQueueRequest;
using kbench::v1::Heartbeat;
using kbench::v1::HeldAttempt;
using kbench::v1::Progress;
using kbench::v1::QueueSnapshot;
using kbench::v1::SubmitJobRequest;
using kbench::v1::WorkerMessage;

inline CoordinatorOptions Quick() {
  CoordinatorOptions options = TestServer::DefaultOptions();
  options.queue_seconds = 0.02;
  return options;
}

inline absl::StatusOr<QueueSnapshot> GetQueue(TestServer& server,
                                              const GetQueueRequest& request = {}) {
  grpc::ClientContext context;
  QueueSnapshot snapshot;
  const grpc::Status status = server.jobs().GetQueue(&context, request, &snapshot);
  if (!status.ok()) return FromGrpc(status);
  return snapshot;
}

inline absl::StatusOr<Explanation> Explain(TestServer& server, const std::string& job) {
  grpc::ClientContext context;
  kbench::v1::ExplainJobRequest request;
  request.set_name(job);
  Explanation why;
  const grpc::Status status = server.jobs().ExplainJob(&context, request, &why);
  if (!status.ok()) return FromGrpc(status);
  return why;
}

inline SubmitJobRequest JobOf(const std::string& owner, int cases = 1,
                              const std::string& device = "") {
  SubmitJobRequest request = MatmulJob(cases, device);
  request.set_owner(owner);
  return request;
}

inline WorkerMessage ProgressOf(const AttemptId& id, const std::string& phase, int round,
                                const std::string& message = "") {
  WorkerMessage out;
  *out.mutable_progress()->mutable_id() = id;
  Progress& progress = *out.mutable_progress()->mutable_progress();
  progress.set_phase(phase);
  progress.set_round(round);
  progress.set_max_rounds(60);
  progress.set_message(message);
  return out;
}

inline Heartbeat BusyBeat(const std::vector<HeldAttempt>& held = {}) {
  Heartbeat beat;
  beat.set_device_state(held.empty() ? "READY" : "BUSY");
  for (const HeldAttempt& item : held) *beat.add_held() = item;
  ForeignProcess& other = *beat.add_foreign();
  other.set_pid(4711);
  other.set_user("bob");
  other.set_command("python");
  other.set_memory_bytes(std::int64_t{12} << 30);
  other.set_utilization(0.37);
  return beat;
}

// Looks until the condition holds, at most 10 s.
inline QueueSnapshot Until(TestServer& server,
                           const std::function<bool(const QueueSnapshot&)>& holds,
                           const GetQueueRequest& request = {}) {
  QueueSnapshot last;
  for (int i = 0; i < 1000; ++i) {
    const auto snapshot = GetQueue(server, request);
    if (snapshot.ok()) last = *snapshot;
    if (snapshot.ok() && holds(last)) return last;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "the queue stayed " << last.ShortDebugString();
  return last;
}

inline Explanation ExplainUntil(TestServer& server, const std::string& job,
                                const std::string& rule) {
  absl::StatusOr<Explanation> why;
  for (int i = 0; i < 1000; ++i) {
    why = Explain(server, job);
    if (why.ok() && why->rule() == rule) return *why;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ADD_FAILURE() << "not " << rule << ": "
                << (why.ok() ? why->ShortDebugString() : why.status().ToString());
  return Explanation();
}

}  // namespace kbench::server::queue_testing
