#include "server/history/environment.h"

#include <cstdint>

#include "fmt/format.h"
#include "proto/support/fnv.h"

namespace kbench::history {
namespace {

using Settings = google::protobuf::Map<std::string, std::string>;

struct Setting {
  const char* name;  // as a person reads it
  const char* key;   // as the worker records it
  bool processor;    // beside a GPU it tells of the host, which does not do the work
};

constexpr Setting kSettings[] = {
    {"threads", "threads", true},
    {"cpus", "cpus", true},
    {"governor", "governor", true},
    {"power limit in watts", "power_limit_watts", false},
    {"application clocks", "application_clocks", false},
    {"ecc", "ecc", false},
    {"mig profile", "mig_profile", false},
};

std::vector<std::pair<std::string, std::string>> Machine(const std::string& model,
                                                         const std::string& uuid,
                                                         const std::string& driver,
                                                         const Settings& settings) {
  std::vector<std::pair<std::string, std::string>> facts = {{"device", model}, {"driver", driver}};
  for (const Setting& setting : kSettings) {
    const auto found = settings.find(setting.key);
    const bool known = found != settings.end() && (!setting.processor || uuid.empty());
    facts.emplace_back(setting.name, known ? found->second : "");
  }
  return facts;
}

void Put(const std::string& name, const std::string& value, Environment* environment) {
  if (!value.empty()) (*environment)[name] = value;
}

std::string Shown(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  return found == environment.end() ? "none" : found->second;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> MachineFacts(const v1::Result& result) {
  const auto& environment = result.environment();
  return Machine(environment.device_name(), environment.device_uuid(), environment.driver(),
                 environment.settings());
}

Environment EnvironmentOf(const v1::Result& result) {
  Environment environment;
  for (const auto& [name, value] : MachineFacts(result)) Put(name, value, &environment);
  Put("card", result.environment().device_uuid(), &environment);
  Put("engine", result.environment().engine_version(), &environment);
  Put("mechanism", result.mechanism(), &environment);
  const auto& settings = result.environment().settings();
  if (const auto python = settings.find("environment"); python != settings.end()) {
    Put(kPythonEnvironment, python->second, &environment);
  }
  for (const auto& [name, version] : result.environment().libraries()) {
    Put(name, version, &environment);
  }
  return environment;
}

Environment EnvironmentOf(const v1::Device& device) {
  Environment environment;
  for (const auto& [name, value] :
       Machine(device.model(), device.uuid(), device.driver(), device.settings())) {
    Put(name, value, &environment);
  }
  Put("card", device.uuid(), &environment);
  Put("engine", device.calibration().engine_version(), &environment);
  return environment;
}

std::string EpochId(const Environment& environment) {
  std::uint64_t hash = kFnvBegin;
  const auto add = [&](const std::string& text) {
    // The length first, so that no value can pretend to be two.
    hash = Fnv1a(fmt::format("{}:{}", text.size(), text), hash);
  };
  for (const auto& [name, value] : environment) {
    add(name);
    add(value);
  }
  return fmt::format("{:012x}", hash >> 16);
}

std::string ChangeBetween(const Environment& before, const Environment& after) {
  Environment names = before;
  names.insert(after.begin(), after.end());
  std::string change;
  for (const auto& [name, unused] : names) {
    const std::string was = Shown(before, name);
    const std::string is = Shown(after, name);
    if (was == is) continue;
    change += fmt::format("{}{} {} -> {}", change.empty() ? "" : "; ", name, was, is);
  }
  return change;
}

v1::Epoch EpochOf(const v1::Result& result) {
  const Environment environment = EnvironmentOf(result);
  v1::Epoch epoch;
  epoch.set_id(EpochId(environment));
  *epoch.mutable_since() = result.create_time();
  epoch.mutable_environment()->insert(environment.begin(), environment.end());
  return epoch;
}

bool AppendEpoch(const v1::Epoch& epoch, std::vector<v1::Epoch>* epochs) {
  if (!epochs->empty() && epochs->back().id() == epoch.id()) return false;
  v1::Epoch next = epoch;
  next.clear_changed();
  if (!epochs->empty()) {
    const auto& before = epochs->back().environment();
    next.set_changed(
        ChangeBetween(Environment(before.begin(), before.end()),
                      Environment(epoch.environment().begin(), epoch.environment().end())));
  }
  epochs->push_back(std::move(next));
  return true;
}

}  // namespace kbench::history
