// Which implementations of a device run for a case. Pure functions.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "kbench/v1/case.pb.h"
#include "kbench/v1/device.pb.h"

namespace kbench::server {

// What stands in the place of a kernel where a job holds the device; the catalog knows none of this
// name.
inline constexpr char kHoldKernel[] = "hold";

// The words that stand for more than one implementation, beside families.
inline constexpr char kAllWord[] = "all";
inline constexpr char kDefaultWord[] = "default";

// "torch?" asks for torch where the device has it for the case, and for nothing elsewhere.
bool IsOptional(const std::string& word);
// Without the mark.
std::string WithoutMark(const std::string& word);

struct Selection {
  std::vector<std::string> implementations;  // exact names, in the device's order
  std::vector<std::string> requested;        // those of them the user asked for by name or family
  // Of those that run as the best of their family and were not asked for: the lower ones, the
  // highest first, for a shape that the best does not take.
  std::map<std::string, std::vector<std::string>> lower;
  std::string baseline;  // the first of the catalog's baselines among them
};

// Without names: every default choice with the dtype (every one with the dtype where there is no
// default); so too for "default", beside others. "all": every one with the dtype. A family: its
// members with the dtype. A name or a family that exists but lacks the kernel or the dtype stays:
// the worker answers UNSUPPORTED, no row is dropped in silence, except of an optional word. A
// hidden implementation runs only by its exact name. Empty when the device has nothing for the case
// and nothing was asked for.
//
// Of Python implementations all this means those of each of the `environments` (none: "default");
// "torch@torch211" means that one, or that family, whatever the environments.
Selection SelectImplementations(const std::vector<std::string>& names,
                                const kbench::v1::Device& device, const kbench::v1::CaseSpec& spec,
                                std::vector<std::string> environments = {});

// What a worker must offer to run a case, and what a device's worker offers: the words of
// scheduler::Case::need and scheduler::WorkerEntry::capabilities.
std::string NeedOf(const kbench::v1::CaseSpec& spec);
std::set<std::string> CapabilitiesOf(const kbench::v1::Device& device);

// Names and families that devices offer, for "did you mean"; not the hidden ones.
std::vector<std::string> KnownImplementationWords(
    const std::vector<const kbench::v1::Device*>& devices);
// Environments in which devices have something, or are about to.
std::vector<std::string> KnownEnvironments(const std::vector<const kbench::v1::Device*>& devices);
// Whether the word may name something of a framework whose runner is being started.
bool MayComeSoon(const std::vector<const kbench::v1::Device*>& devices, const std::string& word);
// Why the framework is not there in the environment (empty: any); empty where nobody looked for it.
std::string WhyAbsent(const std::vector<const kbench::v1::Device*>& devices,
                      const std::string& framework, const std::string& environment);
// Whether one of the devices has a hidden implementation of this exact name.
bool IsHidden(const std::vector<const kbench::v1::Device*>& devices, const std::string& name);
// The dtypes for which one of the devices has an implementation of the kernel, in catalog order.
std::vector<std::string> DTypesOf(const std::vector<const kbench::v1::Device*>& devices,
                                  const std::string& kernel);

}  // namespace kbench::server
