#include "kernels/cuda/compiled_for.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "kernels/cuda/device_instance.h"

namespace kbench::cuda {

int CodeFor(const std::string& architectures, int capability) {
  int best = 0;
  std::istringstream words(architectures);
  for (std::string word; std::getline(words, word, ',');) {
    const int architecture = std::atoi(word.c_str());
    const bool exact = !word.empty() && word.back() == 'a';
    if (exact ? architecture == capability : architecture <= capability) {
      best = std::max(best, architecture);
    }
  }
  return best;
}

bool HasHopperCode(const std::string& architectures) {
  return ("," + architectures + ",").find(",90a,") != std::string::npos;
}

int CodeForThisDevice() {
  return CodeFor(KBENCH_ARCHITECTURES, CurrentDevice().compute_capability);
}

// The card first: no build gives an older one these instructions.
std::optional<std::string> NeedsHopper() {
  if (auto why = NeedsCapability(90, true)) return why;
  if (HasHopperCode(KBENCH_ARCHITECTURES)) return std::nullopt;
  return "this build has no code for Hopper's own instructions, only for " KBENCH_ARCHITECTURES
         "; configure it with -DKBENCH_CUDA_ARCHITECTURES=90a";
}

}  // namespace kbench::cuda
