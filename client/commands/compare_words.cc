#include "client/commands/compare_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace kbench::client {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::Device;
using kbench::v1::ImplementationInfo;

using Names = std::set<std::string>;

bool MayRunOn(const Device& device, const std::string& selector) {
  const bool gpu = device.kind() == "cuda";
  return selector.empty() || device.name() == selector || device.uuid() == selector ||
         (selector == "gpu" && gpu) || (selector == "cpu" && !gpu);
}

bool Runs(const ImplementationInfo& one, const CaseSpec& spec) {
  return one.kernel() == spec.kernel() &&
         std::find(one.dtypes().begin(), one.dtypes().end(), spec.dtype()) != one.dtypes().end();
}

// The implementations a word stands for on the device, as the coordinator expands it: a name before
// a family, and of Python ones those of the environment behind the "@", else of "default".
Names MeantOn(const Device& device, const CaseSpec& spec, const std::string& word) {
  const std::size_t at = word.find('@');
  const std::string family = word.substr(0, at);
  const std::string environment = at == std::string::npos ? "default" : word.substr(at + 1);
  Names names;
  for (const ImplementationInfo& one : device.implementations()) {
    if (one.name() == word) return {word};
    if (!Runs(one, spec)) continue;
    if (!one.environment().empty() && one.environment() != environment) continue;
    if (word == "all" || one.family() == family) names.insert(one.name());
  }
  return names;
}

// Several on every device that knows the word; empty otherwise.
Names Several(const kbench::v1::ListDevicesResponse& devices, const std::string& selector,
              const CaseSpec& spec, const std::string& word) {
  Names several;
  for (const Device& device : devices.devices()) {
    if (!MayRunOn(device, selector)) continue;
    const Names names = MeantOn(device, spec, word);
    if (names.size() == 1) return {};
    several.insert(names.begin(), names.end());
  }
  return several;
}

// The one implementation that both words mean wherever both mean something; else empty.
std::string SameTwice(const kbench::v1::ListDevicesResponse& devices, const std::string& selector,
                      const CaseSpec& spec, const std::string& one, const std::string& other) {
  std::string same;
  for (const Device& device : devices.devices()) {
    if (!MayRunOn(device, selector)) continue;
    const Names names = MeantOn(device, spec, one);
    if (names.empty()) continue;
    if (names.size() != 1 || names != MeantOn(device, spec, other)) return "";
    same = *names.begin();
  }
  return same;
}

}  // namespace

std::string WrongPair(const kbench::v1::ListDevicesResponse& devices,
                      const kbench::v1::JobSpec& spec) {
  for (const CaseSpec& item : spec.cases()) {
    for (const std::string& word : spec.implementations()) {
      const Names several = Several(devices, spec.device(), item, word);
      if (several.empty()) continue;
      return fmt::format("{} stands for {} implementations of {} {}; name one of {}", word,
                         several.size(), item.kernel(), item.dtype(), fmt::join(several, ", "));
    }
    if (spec.implementations_size() != 2) continue;
    const std::string same =
        SameTwice(devices, spec.device(), item, spec.implementations(0), spec.implementations(1));
    if (!same.empty()) {
      return fmt::format("{} and {} are the same implementation twice: {}", spec.implementations(0),
                         spec.implementations(1), same);
    }
  }
  return "";
}

}  // namespace kbench::client
