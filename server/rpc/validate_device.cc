#include "server/rpc/validate_device.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "server/rpc/validate.h"
#include "server/scheduler/selector.h"

namespace kbench::server {
namespace {

using kbench::v1::Device;
using scheduler::Selector;
using scheduler::SelectorTerm;
using Kind = SelectorTerm::Kind;

constexpr char kField[] = "spec.device";
constexpr char kNoWorker[] =
    "no device is known: no worker has connected yet; start one with `kbench-client up`";

std::string Join(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

std::set<std::string> ModelsOf(const std::vector<const Device*>& devices) {
  std::set<std::string> models;
  for (const Device* device : devices) models.insert(device->model());
  return models;
}

// "gpu0 (NVIDIA H200), gpu1 (NVIDIA L4)".
std::string WithModels(const std::vector<const Device*>& devices) {
  std::vector<std::string> words;
  for (const Device* device : devices) {
    words.push_back(fmt::format("{} ({})", device->name(), device->model()));
  }
  return Join(words);
}

// What the known devices have where a term of a selector asks for something.
std::vector<std::string> Choices(Kind kind, const std::vector<const Device*>& devices) {
  std::set<std::string> choices;
  for (const Device* device : devices) {
    if (kind == Kind::kModel) choices.insert(device->model());
    if (kind == Kind::kDevice) choices.insert(device->name());
    if (kind == Kind::kCapability || kind == Kind::kCapabilityAtLeast) {
      choices.insert(device->architecture());
    }
    if (kind != Kind::kLabel) continue;
    for (const auto& [key, value] : device->labels()) choices.insert(key + "=" + value);
  }
  return {choices.begin(), choices.end()};
}

const char* ChoiceWord(Kind kind) {
  switch (kind) {
    case Kind::kModel:
      return "models";
    case Kind::kCapability:
    case Kind::kCapabilityAtLeast:
      return "architectures";
    case Kind::kLabel:
      return "labels";
    default:
      return "devices";
  }
}

std::string WordOf(const SelectorTerm& term) {
  switch (term.kind) {
    case Kind::kModel:
      return term.text.substr(6);
    case Kind::kLabel:
      return term.key + "=" + term.value;
    default:
      return term.value;
  }
}

absl::Status NoSuchDevice(const std::string& message, const std::vector<std::string>& known,
                          const std::vector<std::string>& nearest) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message,
                   {.reason = "UNKNOWN_DEVICE",
                    .metadata = {{"devices", Join(known)}, {"nearest", Join(nearest)}},
                    .violations = {{kField, message}}});
}

// Names the first term that no device meets, or says that none meets all of them.
absl::Status ExplainNoMatch(const std::string& text, const Selector& selector,
                            const DeviceRegistry& devices) {
  const std::vector<std::string> known = devices.Names();
  if (known.empty()) return NoSuchDevice(kNoWorker, known, {});
  const std::vector<const Device*> all = devices.All();
  for (const SelectorTerm& term : selector.terms) {
    const bool met = std::any_of(all.begin(), all.end(), [&](const Device* device) {
      return Holds(term, SelectableOf(*device));
    });
    if (met) continue;
    if (term.kind == Kind::kAnyOfKind || term.kind == Kind::kDevice) {
      return NoSuchDevice("there is no device " + term.text + "; known devices: " + Join(known),
                          known, NearestWords(term.value, known));
    }
    const std::vector<std::string> choices = Choices(term.kind, all);
    return NoSuchDevice(
        fmt::format("no device has {}; known devices: {}; their {}: {}", term.text, Join(known),
                    ChoiceWord(term.kind), choices.empty() ? "none" : Join(choices)),
        known, NearestWords(WordOf(term), choices));
  }
  return NoSuchDevice("no device is all of " + text + "; known devices: " + WithModels(all), known,
                      {});
}

absl::Status SeveralModels(const std::string& message) {
  return MakeError(absl::StatusCode::kFailedPrecondition, message,
                   {.reason = "SEVERAL_MODELS", .violations = {{kField, message}}});
}

// A word of the first device's model that fits no other model; empty: none does.
std::string TellingWord(const std::vector<const Device*>& devices) {
  std::istringstream words(devices.front()->model());
  for (std::string word; words >> word;) {
    Selector selector;
    std::string error;
    if (word.find_first_of("0123456789") == std::string::npos ||
        !ParseSelector("model=" + word, &selector, &error)) {
      continue;
    }
    const bool others = std::any_of(devices.begin(), devices.end(), [&](const Device* device) {
      return device->model() != devices.front()->model() &&
             Selects(selector, SelectableOf(*device));
    });
    if (!others) return word;
  }
  return "";
}

std::string HowToName(const std::vector<const Device*>& devices) {
  const std::string word = TellingWord(devices);
  return "--device " + devices.front()->name() + (word.empty() ? "" : " or --device model=" + word);
}

// Nothing is named and nothing set: the scheduler takes a GPU where there is one.
absl::Status CheckNothingNamed(const DeviceRegistry& devices) {
  std::vector<const Device*> candidates = devices.Matching("gpu");
  if (candidates.empty()) candidates = devices.Matching("cpu");
  if (ModelsOf(candidates).size() < 2) return absl::OkStatus();
  return SeveralModels(fmt::format(
      "there are devices of several models, and none is the default: {}; name one with {}, or set "
      "your default once: kbench-client default {}",
      WithModels(candidates), HowToName(candidates), candidates.front()->name()));
}

}  // namespace

absl::StatusOr<std::string> ResolveDevice(const std::string& selector,
                                          const DeviceContext& context) {
  std::string text = context.devices->Resolve(selector);
  const bool named = !text.empty();
  if (!named) text = context.devices->Resolve(context.default_device);
  if (text.empty()) {
    KB_RETURN_IF_ERROR(CheckNothingNamed(*context.devices));
    return text;
  }
  Selector parsed;
  std::string error;
  if (!ParseSelector(text, &parsed, &error)) return FieldError(kField, "BAD_SELECTOR", error);
  const std::vector<const Device*> matching = context.devices->Matching(text);
  if (matching.empty() && context.just_started) {
    return MakeError(absl::StatusCode::kUnavailable,
                     "device " + text + " has not come back yet after the coordinator's start",
                     {.reason = "DEVICE_UNKNOWN_YET", .retry_after_seconds = 1});
  }
  if (matching.empty()) return ExplainNoMatch(text, parsed, *context.devices);
  // "gpu" as typed is a choice; as a default it would choose in silence.
  const bool mixes = named && scheduler::MayMixModels(text);
  if (mixes || ModelsOf(matching).size() < 2) return text;
  return SeveralModels(fmt::format("{} fits devices of several models: {}; name one with {}",
                                   named ? text : "the default device " + text,
                                   WithModels(matching), HowToName(matching)));
}

}  // namespace kbench::server
