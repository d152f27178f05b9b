// What this build has code for. A kernel whose instructions need a newer architecture compiles to
// less, or to nothing, for an older one, and a card runs the newest code that is not above it: what
// it lacks must not be asked for. Host code; needs no context.
#pragma once

#include <optional>
#include <string>

namespace kbench::cuda {

// The architecture, among those of a list ("89,90a"), whose code a card of this compute
// capability (90) runs: the highest one that is not above it; "90a" is for 90 alone. 0: none. Pure.
int CodeFor(const std::string& architectures, int capability);
// Whether the list has sm_90a, Hopper's own instructions: TMA by tensor maps, wgmma. Pure.
bool HasHopperCode(const std::string& architectures);

// Of this build, on the current device.
int CodeForThisDevice();
// Why Hopper's own instructions cannot run here, or nothing. Nothing too where there is no device.
std::optional<std::string> NeedsHopper();

}  // namespace kbench::cuda
