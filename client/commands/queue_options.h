// What `queue` and `top` share: which part of the queue is looked at. Used from one thread.
#pragma once

#include <string>

#include "client/arguments.h"
#include "client/backend.h"
#include "kbench/v1/job_service.pb.h"

namespace kbench::client {

struct QueueOptions {
  std::string device;
  std::string owner;
  int most = 0;

  void Declare(Arguments& arguments, int default_most);
  kbench::v1::GetQueueRequest Request() const;
  // Where the owner asked for has nothing at all: who has; else empty.
  std::string NothingFound(const kbench::v1::QueueSnapshot& queue) const;
};

absl::StatusOr<kbench::v1::QueueSnapshot> ReadQueue(const Backend& backend,
                                                    const kbench::v1::GetQueueRequest& request);

}  // namespace kbench::client
