// The queue as lines of text: who runs, who is next, who else is on the devices. Pure; thread-safe.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "client/output/text_table.h"
#include "kbench/v1/queue.pb.h"

namespace kbench::client {

// `now` is on the coordinator's clock, as QueueSnapshot.time; `width` in columns.

// "gpu0 (NVIDIA H200) runs matmul fp16 4096 of ana: measuring, round 12 of at most 60", and below
// it, indented, when it yields, what keeps it, and who else is on it.
std::vector<std::string> DeviceLines(const kbench::v1::DeviceQueue& device, double now,
                                     std::size_t width = kTableWidth);

// Who waits, in the order in which they would start, with what leaves out columns where the width
// does not hold them; lines for reasons and for what is not shown. Empty where nobody waits.
std::vector<std::string> WaitingLines(const kbench::v1::QueueSnapshot& queue, double now,
                                      std::size_t width = kTableWidth);

// Who has used how much; empty where nobody has anything queued or running.
std::vector<std::string> OwnerLines(const kbench::v1::QueueSnapshot& queue,
                                    std::size_t width = kTableWidth);

// "3 jobs (12 cases) wait", "nobody waits".
std::string WaitingSummary(const kbench::v1::QueueSnapshot& queue);

// All of it, with empty lines between the parts.
std::vector<std::string> QueueLines(const kbench::v1::QueueSnapshot& queue, double now,
                                    std::size_t width = kTableWidth);

// "python (pid 4711, user bob), 12.0 GiB, 37 %".
std::string ForeignText(const kbench::v1::ForeignProcess& process);

}  // namespace kbench::client
