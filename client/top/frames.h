// What `top` shows: the lines of a frame, and for a log the lines that have changed. Pure.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/top/queue_feed.h"

namespace kbench::client {

// `steady` is now, as QueueFeed::State has its times; `address` where the queue is.
std::vector<std::string> TopLines(const QueueFeed::State& state, const std::string& address,
                                  double steady, std::size_t width);

// One line for each device whose doing has changed since the last call, and one when the queue has
// got longer or shorter: for output that nobody can draw over. Numbers that only move on (rounds,
// times to come) are no change.
class ChangeLog {
 public:
  std::vector<std::string> Take(const kbench::v1::QueueSnapshot& queue);

 private:
  std::map<std::string, std::string> told_;  // by device; "" the queue itself
};

}  // namespace kbench::client
