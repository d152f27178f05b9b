#include "server/history/device_epochs.h"

#include <map>

#include "fmt/format.h"
#include "server/history/environment.h"

namespace kbench::history {
namespace {

// What is the device's, whichever runner says it. The threads are the runner's own.
bool OfMachine(const std::string& name) {
  static const std::set<std::string> names = {"device", "card",        "driver",
                                              "cpus",   "governor",    "power limit in watts",
                                              "ecc",    "mig profile", "application clocks"};
  return names.count(name) > 0;
}

// The clock's mechanism is the mode's, and modes come in any order.
bool OfNobody(const std::string& name) { return name == "mechanism" || name == kPythonEnvironment; }

struct Change {
  std::string text;
  bool machine = false;
};

class Following {
 public:
  void Add(const v1::Epoch& epoch) {
    const auto python = epoch.environment().find(kPythonEnvironment);
    const std::string runner = python == epoch.environment().end() ? "" : python->second;
    const std::vector<Change> changes = ChangesBy(epoch, runner);
    if (epochs_.empty() || Opens(changes, runner)) {
      if (!epochs_.empty()) Close();
      epochs_.emplace_back();
      *epochs_.back().epoch.mutable_since() = epoch.since();
      heard_.clear();
    }
    heard_.insert(runner);
    std::string& changed = *epochs_.back().epoch.mutable_changed();
    for (const Change& change : changes) {
      changed += (changed.empty() ? "" : "; ") + change.text;
    }
    for (const auto& [name, value] : epoch.environment()) {
      if (!OfNobody(name)) known_[Shown(name, runner)] = value;
    }
    epochs_.back().of_results.insert(epoch.id());
  }

  std::vector<DeviceEpoch> Take() {
    if (!epochs_.empty()) Close();
    return std::move(epochs_);
  }

 private:
  static std::string Shown(const std::string& name, const std::string& runner) {
    return runner.empty() || OfMachine(name) ? name : fmt::format("{} ({})", name, runner);
  }

  std::vector<Change> ChangesBy(const v1::Epoch& epoch, const std::string& runner) const {
    std::vector<Change> changes;
    const Environment sorted(epoch.environment().begin(), epoch.environment().end());
    for (const auto& [name, value] : sorted) {
      const std::string shown = Shown(name, runner);
      const auto before = known_.find(shown);
      if (OfNobody(name) || before == known_.end() || before->second == value) continue;
      changes.push_back(
          {fmt::format("{} {} -> {}", shown, before->second, value), OfMachine(name)});
    }
    return changes;
  }

  bool Opens(const std::vector<Change>& changes, const std::string& runner) const {
    if (changes.empty()) return false;
    if (epochs_.size() < 2 || heard_.count(runner) > 0) return true;
    for (const Change& change : changes) {
      if (change.machine) return true;
    }
    return false;
  }

  void Close() {
    v1::Epoch& epoch = epochs_.back().epoch;
    epoch.set_id(EpochId(known_));
    epoch.mutable_environment()->insert(known_.begin(), known_.end());
  }

  std::vector<DeviceEpoch> epochs_;
  Environment known_;
  std::set<std::string> heard_;  // runners with a result in the last epoch
};

}  // namespace

std::vector<DeviceEpoch> DeviceEpochs(std::span<const v1::Epoch> epochs) {
  Following following;
  for (const v1::Epoch& epoch : epochs) following.Add(epoch);
  return following.Take();
}

const DeviceEpoch* FindEpoch(std::span<const DeviceEpoch> epochs, const std::string& id) {
  for (std::size_t i = epochs.size(); i > 0; --i) {
    const DeviceEpoch& one = epochs[i - 1];
    if (one.epoch.id() == id || one.of_results.count(id) > 0) return &one;
  }
  return nullptr;
}

}  // namespace kbench::history
