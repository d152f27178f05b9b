#include "server/rpc/selection.h"

#include <algorithm>
#include <utility>

#include "fmt/format.h"
#include "kernels/catalog/catalog.h"

namespace kbench::server {
namespace {

using kbench::v1::AbsentFramework;
using kbench::v1::CaseSpec;
using kbench::v1::Device;
using kbench::v1::ImplementationInfo;

constexpr char kDefaultEnvironment[] = "default";

bool HasDType(const ImplementationInfo& implementation, const std::string& dtype) {
  return std::find(implementation.dtypes().begin(), implementation.dtypes().end(), dtype) !=
         implementation.dtypes().end();
}

std::string FamilyOf(const ImplementationInfo& implementation) {
  if (!implementation.family().empty()) return implementation.family();
  return implementation.name().substr(0, implementation.name().find_first_of("/@"));
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

bool IsAmong(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

void AddOnce(std::vector<std::string>& names, const std::string& name) {
  if (!IsAmong(names, name)) names.push_back(name);
}

// Empty: not Python.
const std::string& EnvironmentOf(const ImplementationInfo& implementation) {
  return implementation.environment();
}

std::string BaseOf(const std::string& name) { return name.substr(0, name.find('@')); }

std::string NameIn(const std::string& base, const std::string& environment) {
  return environment == kDefaultEnvironment ? base : base + "@" + environment;
}

// Whether a word without "@" means something different in each environment.
bool IsPython(const Device& device, const std::string& word) {
  const std::string family = word.substr(0, word.find('/'));
  const auto& all = device.implementations();
  const auto& absent = device.absent();
  return std::any_of(all.begin(), all.end(),
                     [&](const auto& known) {
                       return !EnvironmentOf(known).empty() &&
                              (BaseOf(known.name()) == word || FamilyOf(known) == family);
                     }) ||
         std::any_of(absent.begin(), absent.end(),
                     [&](const auto& one) { return one.framework() == family; });
}

// The exact names that a name or family stands for among the implementations that are not Python
// and those of the environment; its name there when nothing answers to it.
std::vector<std::string> ExpandIn(const std::string& base, const std::string& environment,
                                  const Device& device, const CaseSpec& spec) {
  const std::string name = NameIn(base, environment);
  const auto& all = device.implementations();
  const bool exact =
      std::any_of(all.begin(), all.end(), [&](const auto& known) { return known.name() == name; });
  if (exact) return {name};
  const auto member = [&](const ImplementationInfo& known) {
    const std::string& where = EnvironmentOf(known);
    return FamilyOf(known) == base && (where.empty() || where == environment);
  };
  std::vector<std::string> names;
  for (const ImplementationInfo* implementation : Able(device, spec)) {
    if (member(*implementation)) AddOnce(names, implementation->name());
  }
  if (!names.empty()) return names;
  for (const ImplementationInfo& implementation : all) {
    if (implementation.hidden()) continue;
    if (member(implementation) && implementation.kernel() == spec.kernel()) {
      AddOnce(names, implementation.name());
    }
  }
  if (names.empty()) names.push_back(name);
  return names;
}

// The exact names that one word asks for; itself when nothing able answers to it.
std::vector<std::string> Expand(const std::string& word,
                                const std::vector<std::string>& environments, const Device& device,
                                const CaseSpec& spec) {
  const std::size_t at = word.find('@');
  if (at != std::string::npos) {
    return ExpandIn(word.substr(0, at), word.substr(at + 1), device, spec);
  }
  if (!IsPython(device, word)) return ExpandIn(word, kDefaultEnvironment, device, spec);
  std::vector<std::string> names;
  for (const std::string& environment : environments) {
    for (const std::string& name : ExpandIn(word, environment, device, spec)) AddOnce(names, name);
  }
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

// What may run without being asked for, of the implementations that are not Python and those of
// the environments.
class Choice {
 public:
  Choice(const Device& device, const std::vector<std::string>& environments,
         const std::vector<const ImplementationInfo*>& able)
      : device_(device), environments_(environments) {
    for (const ImplementationInfo* one : able) {
      if (Wanted(*one)) able_.push_back(one);
    }
  }

  const std::vector<const ImplementationInfo*>& able() const { return able_; }
  bool HasDefault() const {
    return std::any_of(able_.begin(), able_.end(), [&](const auto* one) { return Eligible(*one); });
  }
  // Eligible, and nothing of its family stands on a higher rung.
  bool IsDefault(const ImplementationInfo& one) const {
    return Eligible(one) && std::none_of(able_.begin(), able_.end(), [&](const auto* other) {
             return Eligible(*other) && SameFamily(*other, one) && other->rung() > one.rung();
           });
  }
  // The default choices of its family on lower rungs, the highest first.
  std::vector<std::string> LowerThan(const ImplementationInfo& one) const {
    std::vector<const ImplementationInfo*> lower;
    for (const ImplementationInfo* other : able_) {
      const bool stands_below =
          Eligible(*other) && SameFamily(*other, one) && other->rung() < one.rung();
      if (stands_below) lower.push_back(other);
    }
    std::stable_sort(lower.begin(), lower.end(),
                     [](const auto* a, const auto* b) { return a->rung() > b->rung(); });
    std::vector<std::string> names;
    for (const ImplementationInfo* other : lower) names.push_back(other->name());
    return names;
  }

 private:
  bool Wanted(const ImplementationInfo& one) const {
    const std::string& where = EnvironmentOf(one);
    return where.empty() ||
           std::find(environments_.begin(), environments_.end(), where) != environments_.end();
  }
  static bool SameFamily(const ImplementationInfo& a, const ImplementationInfo& b) {
    return FamilyOf(a) == FamilyOf(b) && EnvironmentOf(a) == EnvironmentOf(b);
  }
  // Runners announce a default choice in "default" alone. An environment that was asked for makes
  // the same choice; where there is no such implementation in "default", it is one.
  bool Eligible(const ImplementationInfo& one) const {
    const std::string& where = EnvironmentOf(one);
    if (where.empty() || where == kDefaultEnvironment) return one.default_choice();
    const std::string base = BaseOf(one.name());
    for (const ImplementationInfo& twin : device_.implementations()) {
      if (twin.name() == base && twin.kernel() == one.kernel()) return twin.default_choice();
    }
    return true;
  }

  const Device& device_;
  const std::vector<std::string>& environments_;
  std::vector<const ImplementationInfo*> able_;
};

// Environments are asked for to be compared: where no baseline of the kernel runs, the others stand
// beside what runs in the first of them.
std::string FirstOfEnvironment(const std::vector<const ImplementationInfo*>& able,
                               const std::vector<std::string>& chosen,
                               const std::string& environment) {
  for (const ImplementationInfo* one : able) {
    if (EnvironmentOf(*one) != environment) continue;
    if (std::find(chosen.begin(), chosen.end(), one->name()) != chosen.end()) return one->name();
  }
  return "";
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

// What an optional word asks for: nothing where nothing able answers to it.
void DropUnable(const std::vector<const ImplementationInfo*>& able,
                std::vector<std::string>& names) {
  const auto unable = [&](const std::string& name) {
    return std::none_of(able.begin(), able.end(),
                        [&](const auto* one) { return one->name() == name; });
  };
  names.erase(std::remove_if(names.begin(), names.end(), unable), names.end());
}

}  // namespace

bool IsOptional(const std::string& word) { return word.size() > 1 && word.back() == '?'; }

std::string WithoutMark(const std::string& word) {
  return IsOptional(word) ? word.substr(0, word.size() - 1) : word;
}

Selection SelectImplementations(const std::vector<std::string>& names, const Device& device,
                                const CaseSpec& spec, std::vector<std::string> environments) {
  if (environments.empty()) environments = {kDefaultEnvironment};
  Selection selection;
  const std::vector<const ImplementationInfo*> able = Able(device, spec);
  for (const std::string& word : names) {
    if (word == kAllWord || word == kDefaultWord) continue;
    std::vector<std::string> found = Expand(WithoutMark(word), environments, device, spec);
    if (IsOptional(word)) DropUnable(able, found);
    for (const std::string& name : found) AddOnce(selection.requested, name);
  }
  selection.implementations = selection.requested;
  const Choice choice(device, environments, able);
  const bool all = IsAmong(names, kAllWord);
  if (all || names.empty() || IsAmong(names, kDefaultWord)) {
    for (const ImplementationInfo* implementation : choice.able()) {
      if (!all && choice.HasDefault() && !choice.IsDefault(*implementation)) continue;
      AddOnce(selection.implementations, implementation->name());
      // With "all" the lower ones run anyway; who asks by name gets an answer about that one.
      if (all || IsAmong(selection.requested, implementation->name())) continue;
      auto lower = choice.LowerThan(*implementation);
      if (!lower.empty()) selection.lower[implementation->name()] = std::move(lower);
    }
  }
  SortInDeviceOrder(device, selection.implementations);
  SortInDeviceOrder(device, selection.requested);
  selection.baseline = ChooseBaseline(able, selection.implementations, spec.kernel());
  if (selection.baseline.empty() && environments.size() > 1) {
    selection.baseline = FirstOfEnvironment(able, selection.implementations, environments.front());
  }
  return selection;
}

std::string NeedOf(const CaseSpec& spec) {
  // Holding a device takes no implementation.
  return spec.kernel() == kHoldKernel ? "" : spec.kernel() + "/" + spec.dtype();
}

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
      const std::string& where = EnvironmentOf(implementation);
      words.insert(implementation.name());
      words.insert(FamilyOf(implementation));
      if (where.empty()) continue;
      words.insert(BaseOf(implementation.name()));
      words.insert(NameIn(FamilyOf(implementation), where));
    }
  }
  return {words.begin(), words.end()};
}

std::vector<std::string> KnownEnvironments(const std::vector<const Device*>& devices) {
  std::set<std::string> names;
  for (const Device* device : devices) {
    for (const ImplementationInfo& one : device->implementations()) {
      if (!EnvironmentOf(one).empty()) names.insert(EnvironmentOf(one));
    }
    for (const AbsentFramework& one : device->absent()) {
      if (one.starting()) names.insert(one.environment());
    }
  }
  return {names.begin(), names.end()};
}

bool MayComeSoon(const std::vector<const Device*>& devices, const std::string& word) {
  const std::string framework = word.substr(0, word.find_first_of("/@"));
  return std::any_of(devices.begin(), devices.end(), [&](const Device* device) {
    const auto& absent = device->absent();
    return std::any_of(absent.begin(), absent.end(), [&](const AbsentFramework& one) {
      return one.starting() && one.framework() == framework;
    });
  });
}

std::string WhyAbsent(const std::vector<const Device*>& devices, const std::string& framework,
                      const std::string& environment) {
  for (const Device* device : devices) {
    for (const AbsentFramework& one : device->absent()) {
      if (one.starting() || (!framework.empty() && one.framework() != framework)) continue;
      if (!environment.empty() && one.environment() != environment) continue;
      return fmt::format("{} ({}) is absent on {}: {}{}", one.framework(), one.environment(),
                         device->name(), one.message(),
                         one.install().empty() ? "" : "; install it with: " + one.install());
    }
  }
  return "";
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
