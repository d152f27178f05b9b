// Keeps an attached hold alive: a thread that tells the coordinator every so often that its client
// is there. One object for each hold; what it notices it tells from that thread.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "absl/status/statusor.h"
#include "client/backend.h"
#include "client/interrupt.h"
#include "kbench/v1/job_service.pb.h"

namespace kbench::client {

// One KeepHold, at most 10 s.
absl::StatusOr<kbench::v1::KeepHoldResponse> KeepOnce(const Backend& backend,
                                                      const std::string& job,
                                                      Interrupt* stop = nullptr);
// Whether the call says that the hold does not have the device (yet, or any more).
bool IsNotHeld(const absl::Status& status);

class Keeper {
 public:
  struct Notices {
    // The coordinator says that the device is somebody else's; at most once, nothing comes after.
    std::function<void()> lost;
    // True: nobody has answered for the whole lapse, so if the coordinator is there and only the
    // link is not, the device is given away. False: it has answered since, and the device is ours.
    std::function<void(bool)> unsure;
  };
  // Calls four times within `lapse_seconds`; a coordinator that is away is asked again and again:
  // it grants the whole time anew when it comes back.
  Keeper(const Backend& backend, std::string job, double lapse_seconds, Notices notices);
  ~Keeper();
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;

 private:
  void Loop();

  const Backend& backend_;
  const std::string job_;
  const double lapse_seconds_;
  const double pause_seconds_;
  const Notices notices_;
  Interrupt stop_;
  std::thread thread_;
};

}  // namespace kbench::client
