// Whether the words of `compare --impl` name one implementation each: asked before anything is
// submitted. Pure; thread-safe.
#pragma once

#include <string>

#include "kbench/v1/device_service.pb.h"
#include "kbench/v1/job.pb.h"

namespace kbench::client {

// One sentence: a word that stands for several implementations on every device that may run a case,
// or two words that mean the same one. Empty where nothing of the kind is known: the coordinator
// refuses a word nobody knows.
std::string WrongPair(const kbench::v1::ListDevicesResponse& devices,
                      const kbench::v1::JobSpec& spec);

}  // namespace kbench::client
