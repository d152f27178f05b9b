// The queue in plain words: what a case is, why a job is where it is. Pure functions.
#pragma once

#include <string>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/job.pb.h"
#include "kbench/v1/queue.pb.h"

namespace kbench::server {

// Above this share of a device's time somebody computes on it; an idle notebook does not.
inline constexpr double kBusyShare = 0.01;

// "matmul fp16 4096", "hold 30m".
std::string CaseText(const kbench::v1::JobSpec& spec, int index);

// "30m", "1h30m", "45s": as a person would type it.
std::string DurationText(double seconds);

// "12 s", "4 min", "3.5 h": an amount of device time.
std::string SpanText(double seconds);

// "python (pid 4711, user bob)", "a process of another container".
std::string WhoText(const kbench::v1::ForeignProcess& process);

// Who computes on the device most, as a clause: "python (pid 4711, user bob) uses 37 % of it";
// empty where nobody does. With `unknown` also a process of which the driver tells no utilisation.
std::string BusyText(const google::protobuf::RepeatedPtrField<kbench::v1::ForeignProcess>& foreign,
                     bool unknown);

// "measuring, round 12 of at most 60"; "starting" without a phase.
std::string PhaseText(const kbench::v1::Progress& progress);

// Why a device does not take a job, from scheduler::Fit::reason, for a person.
std::string FitText(const std::string& reason, const kbench::v1::Device* device);

}  // namespace kbench::server
