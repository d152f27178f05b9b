// The worker's session with the coordinator: one stream, kept up for ever. A thread blocked in Read
// for each connection, and Run()'s thread as the only writer. What is running or spooled survives a
// broken stream; both sides say again what they hold when a new one stands. Run() is called once;
// Drain() and Shutdown() from any thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "grpcpp/channel.h"
#include "kbench/v1/worker_service.grpc.pb.h"
#include "proto/support/mutex.h"
#include "worker/daemon/attempts.h"
#include "worker/daemon/device_condition.h"
#include "worker/daemon/kept_bytes.h"
#include "worker/device/device.h"

namespace kbench {

class Session {
 public:
  struct Options {
    // A new channel for each try, so that no back-off of gRPC's own delays it.
    std::function<std::shared_ptr<grpc::Channel>()> connect;
    std::string address;    // for messages
    v1::WorkerHello hello;  // held is filled in here
    double first_retry_seconds = 0.1;
    double last_retry_seconds = 3;
    // Called once when this process should be started again: the driver's library it holds is not
    // the one that fits the driver any more. On Run()'s thread; may be null.
    std::function<void()> start_again = nullptr;
    double goodbye_seconds = 1.5;  // to hand over what is held on Shutdown()
    KeptBytes kept = KeptBytes({});
  };

  // All three outlive the session.
  Session(Options options, Attempts* attempts, DeviceMonitor* monitor, DeviceCondition* condition);
  ~Session();

  // OK after Shutdown(); ALREADY_EXISTS or ABORTED when another worker holds the device or has
  // taken this one's place.
  absl::Status Run();
  // Takes nothing new and says so; what runs goes on, the session too.
  void Drain();
  bool busy() const { return attempts_->busy(); }
  // Hands back what runs and ends the session.
  void Shutdown();

 private:
  using Stream = grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>;

  // One connection from hello to its end.
  grpc::Status Connect(bool* welcomed);
  void ReadLoop(Stream* stream);
  void WriteLoop(Stream* stream);
  void Handle(const v1::CoordinatorMessage& message);
  void HandleWelcome(const v1::Welcome& welcome);
  std::string DeviceState(const DeviceCondition::Snapshot& condition) const;
  // Asks the monitor what else is new: faults, and whether the driver fits its library.
  void LookAtDevice();
  v1::WorkerMessage MakeHello();
  v1::WorkerMessage MakeHeartbeat();
  // True when the stream has ended by itself.
  bool WaitForEnd();
  // False when the loop has to end.
  bool WaitForWork(double* next_heartbeat);
  bool SleepUnlessStopping(double seconds);

  const Options options_;
  Attempts* const attempts_;
  DeviceMonitor* const monitor_;
  DeviceCondition* const condition_;
  // Of the calibration that this stream has heard of. Used by Run()'s thread only.
  std::int64_t told_version_ = 0;
  std::int64_t told_offer_ = 0;  // the same of what the runners can do
  bool start_again_ = false;     // is due, and has been asked for. The same thread's.
  bool asked_ = false;
  KeptBytes kept_;
  bool mismatch_ = false;  // the driver did not fit at the last look. The same thread's.
  Mutex mutex_;
  CondVar wake_;
  bool signalled_ ABSL_GUARDED_BY(mutex_) = false;  // something new to send
  bool was_busy_ ABSL_GUARDED_BY(mutex_) = false;
  bool was_holding_ ABSL_GUARDED_BY(mutex_) = false;
  bool broken_ ABSL_GUARDED_BY(mutex_) = false;  // the current stream has ended
  bool welcomed_ ABSL_GUARDED_BY(mutex_) = false;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
  bool told_draining_ ABSL_GUARDED_BY(mutex_) = false;  // on this stream
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  double stop_at_ ABSL_GUARDED_BY(mutex_) = 0;
  double heartbeat_seconds_ ABSL_GUARDED_BY(mutex_) = 5;
};

}  // namespace kbench
