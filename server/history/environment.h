// What a result was measured in. Two results whose environments differ are no regression of each
// other: between them a new epoch begins. Pure; thread-safe.
//
// The machine: device model, driver, clock policy (power limit, application clocks, a
// processor's governor), ECC, MIG profile, a processor's threads and CPUs. Where it differs,
// CompareResults refuses (NOT_COMPARABLE): this is the one list of it.
// The software: engine, and the libraries of the runner. CompareResults takes two implementations
// that run in two runners and so warns only; the history of one cell has one runner, and a change
// of a library is a change of environment. The card itself (UUID) belongs to it too: another card
// behind the same name has another silicon; so does the mechanism of the clock.
// Not in it: the version of kbench, the binary and the configuration of the kernel. What changes
// with those is what regressions are looked for in.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kbench/v1/device.pb.h"
#include "kbench/v1/history_service.pb.h"
#include "kbench/v1/result.pb.h"

namespace kbench::history {

// Names as a person reads them ("power limit in watts"); a fact that is not known is not there.
using Environment = std::map<std::string, std::string>;

// The fact that tells a Python runner's libraries from those of another one, or of a C++ runner.
inline constexpr char kPythonEnvironment[] = "python environment";

// In the order in which a person looks for them; those unknown are empty.
std::vector<std::pair<std::string, std::string>> MachineFacts(const v1::Result& result);

Environment EnvironmentOf(const v1::Result& result);
// Of a device as it is now: the machine and the engine it was calibrated by. No runner's libraries.
Environment EnvironmentOf(const v1::Device& device);

// 12 hexadecimal digits; the same from every process and version for the same facts.
std::string EpochId(const Environment& environment);

// "driver 580.95.05 -> 580.159.04; cublas 13.0 -> 13.1", by name, "none" for what is not known.
// Empty where both are the same.
std::string ChangeBetween(const Environment& before, const Environment& after);

// An epoch that begins with this result; `changed` is empty.
v1::Epoch EpochOf(const v1::Result& result);
// Appends `epoch` with what changed, unless its environment is that of the last one: then false.
bool AppendEpoch(const v1::Epoch& epoch, std::vector<v1::Epoch>* epochs);

}  // namespace kbench::history
