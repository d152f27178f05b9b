#include "server/rpc/selection.h"

#include <algorithm>

#include "kernels/catalog/catalog.h"

namespace kbench::server {
namespace {

using kbench::v1::CaseSpec;
using kbench::v1::Device;
using kbench::v1::ImplementationInfo;

bool HasDType(const ImplementationInfo& implementation, const std::string& dtype) {
  return std::find(implementation.dtypes().begin(), implementation.dtypes().end(), dtype) !=
         implementation.dtypes().end();
}

std::string FamilyOf(const ImplementationInfo& implementation) {
  if (!implementation.family().empty()) return implementation.family();
  return implementation.name().substr(0, implementation.name().find('/'));
}

// The device's implementations that run the case, in its order; hidden ones are no one's choice.
std::vector<const ImplementationInfo*> Able(const Device& device, const CaseSpec& spec) {
  std::vector<const ImplementationInfo*> able;
  for (const ImplementationInfo& implementation : device.implementations()) {
    if (implementation.hidden()) continue;
    if (implementation.kernel() == spec.kernel() && HasDType(implementation, spec.dtype())) {
      able.push_back(&implementation);
    }
  }
  return able;
}

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
}

// The exact names that one word asks for; itself when nothing able answers to it.
std::vector<std::string> Expand(const std::string& word, const Device& device,
                                const CaseSpec& spec) {
  const auto& all = device.implementations();
  const bool exact =
      std::any_of(all.begin(), all.end(), [&](const auto& known) { return known.name() == word; });
  if (exact) return {word};
  std::vector<std::string> names;
  for (const ImplementationInfo* implementation : Able(device, spec)) {
    if (FamilyOf(*implementation) == word) AddOnce(names, implementation->name());
  }
  if (!names.empty()) return names;
  for (const ImplementationInfo& implementation : all) {
    if (implementation.hidden()) continue;
    if (FamilyOf(implementation) == word && implementation.kernel() == spec.kernel()) {
      AddOnce(names, implementation.name());
    }
  }
  if (names.empty()) names.push_back(word);
  return names;
}

void SortInDeviceOrder(const Device& device, std::vector<std::string>& names) {
  const auto place = [&](const std::string& name) {
    const auto& all = device.implementations();
    return std::find_if(all.begin(), all.end(),
                        [&](const auto& known) { return known.name() == name; }) -
           all.begin();
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return place(a) < place(b); });
}

// Runs without being asked for: eligible, and nothing of its family stands on a higher rung.
bool IsDefault(const ImplementationInfo& one, const std::vector<const ImplementationInfo*>& able) {
  return one.default_choice() && std::none_of(able.begin(), able.end(), [&](const auto* other) {
           return other->default_choice() && FamilyOf(*other) == FamilyOf(one) &&
                  other->rung() > one.rung();
         });
}

// The default choices of its family on lower rungs, the highest first.
std::vector<std::string> LowerThan(const ImplementationInfo& one,
                                   const std::vector<const ImplementationInfo*>& able) {
  std::vector<const ImplementationInfo*> lower;
  for (const ImplementationInfo* other : able) {
    const bool stands_below =
        other->default_choice() && FamilyOf(*other) == FamilyOf(one) && other->rung() < one.rung();
    if (stands_below) lower.push_back(other);
  }
  std::stable_sort(lower.begin(), lower.end(),
                   [](const auto* a, const auto* b) { return a->rung() > b->rung(); });
  std::vector<std::string> names;
  for (const ImplementationInfo* other : lower) names.push_back(other->name());
  return names;
}

std::string ChooseBaseline(const std::vector<const ImplementationInfo*>& able,
                           const std::vector<std::string>& chosen, const std::string& kernel) {
  const KernelEntry* entry = FindKernel(kernel);
  if (entry == nullptr) return "";
  for (const std::string& baseline : entry->baselines) {
    const bool runs = std::any_of(able.begin(), able.end(),
                                  [&](const auto* known) { return known->name() == baseline; });
    if (runs && std::find(chosen.begin(), chosen.end(), baseline) != chosen.end()) return baseline;
  }
  return "";
}

}  // namespace

Selection SelectImplementations(const std::vector<std::string>& names, const Device& device,
                                const CaseSpec& spec) {
  Selection selection;
  const std::vector<const ImplementationInfo*> able = Able(device, spec);
  for (const std::string& word : names) {
    if (word == "all") continue;
    for (const std::string& name : Expand(word, device, spec)) AddOnce(selection.requested, name);
  }
  selection.implementations = selection.requested;
  const bool all = std::find(names.begin(), names.end(), "all") != names.end();
  const bool has_default = std::any_of(able.begin(), able.end(),
                                       [](const auto* known) { return known->default_choice(); });
  if (all || names.empty()) {
    for (const ImplementationInfo* implementation : able) {
      if (!all && has_default && !IsDefault(*implementation, able)) continue;
      AddOnce(selection.implementations, implementation->name());
      if (all) continue;  // they run anyway
      auto lower = LowerThan(*implementation, able);
      if (!lower.empty()) selection.lower[implementation->name()] = std::move(lower);
    }
  }
  SortInDeviceOrder(device, selection.implementations);
  SortInDeviceOrder(device, selection.requested);
  selection.baseline = ChooseBaseline(able, selection.implementations, spec.kernel());
  return selection;
}

std::string NeedOf(const CaseSpec& spec) { return spec.kernel() + "/" + spec.dtype(); }

std::set<std::string> CapabilitiesOf(const Device& device) {
  std::set<std::string> capabilities;
  for (const ImplementationInfo& implementation : device.implementations()) {
    for (const std::string& dtype : implementation.dtypes()) {
      capabilities.insert(implementation.kernel() + "/" + dtype);
    }
  }
  return capabilities;
}

std::vector<std::string> KnownImplementationWords(const std::vector<const Device*>& devices) {
  std::set<std::string> words;
  for (const Device* device : devices) {
    for (const ImplementationInfo& implementation : device->implementations()) {
      if (implementation.hidden()) continue;
      words.insert(implementation.name());
      words.insert(FamilyOf(implementation));
    }
  }
  return {words.begin(), words.end()};
}

bool IsHidden(const std::vector<const Device*>& devices, const std::string& name) {
  return std::any_of(devices.begin(), devices.end(), [&](const Device* device) {
    const auto& all = device->implementations();
    return std::any_of(all.begin(), all.end(), [&](const ImplementationInfo& one) {
      return one.hidden() && one.name() == name;
    });
  });
}

std::vector<std::string> DTypesOf(const std::vector<const Device*>& devices,
                                  const std::string& kernel) {
  std::set<std::string> offered;
  for (const Device* device : devices) {
    for (const ImplementationInfo& implementation : device->implementations()) {
      if (implementation.kernel() != kernel) continue;
      offered.insert(implementation.dtypes().begin(), implementation.dtypes().end());
    }
  }
  std::vector<std::string> ordered;
  for (const std::string& dtype : DTypeNames()) {
    if (offered.count(dtype) > 0) ordered.push_back(dtype);
  }
  return ordered;
}

}  // namespace kbench::server
