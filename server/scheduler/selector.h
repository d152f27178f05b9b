// Which devices a job may run on: the text of JobSpec.device, as a person types it. Terms joined
// with "," must all hold:
//   gpu0, GPU-3f2a...   a device's stable name or its UUID
//   gpu, cpu            any of the kind
//   model=H200          words of the model, upper or lower case: "H200" also fits "NVIDIA H200"
//   cc=9.0, cc>=8.9     the compute capability
//   label:rack=a        a label of the worker's configuration
// The only place that knows this: the scheduler, the checks of a submission and DeviceRegistry all
// ask here. Pure; thread-safe.
#pragma once

#include <string>
#include <vector>

#include "server/scheduler/types.h"

namespace kbench::scheduler {

struct SelectorTerm {
  enum class Kind { kDevice, kAnyOfKind, kModel, kCapability, kCapabilityAtLeast, kLabel };
  Kind kind = Kind::kDevice;
  std::string text;    // as typed, without spaces around it
  std::string key;     // of a label
  std::string value;   // name, UUID, kind, words of the model (lower case), value of a label
  int capability = 0;  // 90 for 9.0
};

struct Selector {
  std::vector<SelectorTerm> terms;  // none: the empty selector
};

// False: `error` says which term is wrong and what would be right.
bool ParseSelector(const std::string& text, Selector* selector, std::string* error);

bool Holds(const SelectorTerm& term, const WorkerEntry& device);
// The empty selector names every device; that a GPU goes before the CPU then is the scheduler's
// choice.
bool Selects(const Selector& selector, const WorkerEntry& device);
// The same of its text. A text that cannot be read names nothing. Quick where it is one word.
bool Selects(const std::string& selector, const WorkerEntry& device);

// "gpu" or "cpu" alone, or empty: may fit devices of several models.
bool MayMixModels(const std::string& selector);

}  // namespace kbench::scheduler
