#include "client/commands/queue_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "client/output/text_table.h"
#include "proto/support/error.h"

namespace kbench::client {

using kbench::v1::QueueSnapshot;

void QueueOptions::Declare(Arguments& arguments, int default_most) {
  most = default_most;
  arguments.Option("--device", &device, "NAME", "Only this device and what waits for it");
  arguments.Option("--owner", &owner, "NAME", "Only the waiting jobs of this person");
  arguments.Integer("-n,--limit", &most, 1, 1000, "N",
                    fmt::format("How many waiting jobs at most (default {})", default_most));
}

kbench::v1::GetQueueRequest QueueOptions::Request() const {
  kbench::v1::GetQueueRequest request;
  request.set_most_waiting(most);
  request.set_device(device);
  request.set_owner(owner);
  return request;
}

std::string QueueOptions::NothingFound(const QueueSnapshot& queue) const {
  if (owner.empty() || queue.waiting_size() > 0) return "";
  std::vector<std::string> owners;
  for (const auto& one : queue.owners()) owners.push_back(one.owner());
  // What the owner has may wait for another device, or run.
  if (std::find(owners.begin(), owners.end(), owner) != owners.end()) {
    return fmt::format("nothing of {} waits{}", Plain(owner),
                       device.empty() ? "" : " for " + Plain(device));
  }
  std::string note = fmt::format("{} has nothing queued or running", Plain(owner));
  if (owners.empty()) return note;
  return note +
         Plain(fmt::format("; who has: {}", fmt::join(NearestWords(owner, owners, 5), ", ")));
}

absl::StatusOr<QueueSnapshot> ReadQueue(const Backend& backend,
                                        const kbench::v1::GetQueueRequest& request) {
  return Unary<QueueSnapshot>(backend, [&](grpc::ClientContext* call, QueueSnapshot* reply) {
    return backend.jobs->GetQueue(call, request, reply);
  });
}

}  // namespace kbench::client
