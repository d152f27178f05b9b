// Times to come, as people say them: relative, and rounded as coarsely as they are uncertain. Pure;
// thread-safe.
#pragma once

#include <string>

#include "kbench/v1/job.pb.h"

namespace kbench::client {

// Seconds since the epoch of a stamp.
double StampSeconds(const google::protobuf::Timestamp& time);

// "40 s", "3 min", "1.5 h", "2 days": coarser the longer; rounded up or down.
std::string SpanWord(double seconds, bool up);

// "now", "in about 2 min", "in 2 to 5 min", "in 40 s to 3 min", "within 3 min"; a range too wide to
// be of use: "in 1 min to 4 h (hard to say)"; one that is not known: "nobody can say when".
// `now` is on the clock that the range was stamped by.
std::string WhenText(const kbench::v1::TimeRange& range, double now);

// The same for a column: "now", "~2 min", "2-5 min", "40 s-3 min", "<3 min", "?".
std::string WhenCell(const kbench::v1::TimeRange& range, double now);

}  // namespace kbench::client
