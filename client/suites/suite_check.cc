#include "client/suites/suite_check.h"

#include <fmt/format.h>

#include <algorithm>

#include "client/implementation_name.h"
#include "client/submission.h"

namespace kbench::client {
namespace {

using kbench::v1::ImplementationInfo;
using kbench::v1::ListDevicesResponse;
using kbench::v1::SuiteEntry;

template <typename Holds>
bool AnyImplementation(const ListDevicesResponse& known, const Holds& holds) {
  return std::any_of(known.devices().begin(), known.devices().end(), [&](const auto& device) {
    const auto& all = device.implementations();
    return std::any_of(all.begin(), all.end(), holds);
  });
}

// A name or a family, in an environment where the word says one.
bool Answers(const ImplementationInfo& one, const std::string& word) {
  const std::string environment = EnvironmentOf(word);
  if (one.name() == word) return true;
  if (one.hidden()) return false;
  if (!environment.empty() && one.environment() != environment) return false;
  return IsOrHas(BaseOf(word), one.name()) || one.family() == BaseOf(word);
}

template <typename Texts>
std::vector<std::string> Words(const Texts& texts) {
  return SplitList(fmt::format("{}", fmt::join(texts, ",")));
}

void CheckEntry(const SuiteEntry& entry, const ListDevicesResponse& known,
                std::vector<std::string>* missing) {
  for (const std::string& kernel : Words(entry.kernels())) {
    for (const std::string& dtype : Words(entry.dtypes())) {
      const bool there = AnyImplementation(known, [&](const auto& one) {
        return one.kernel() == kernel && !one.hidden() &&
               std::find(one.dtypes().begin(), one.dtypes().end(), dtype) != one.dtypes().end();
      });
      if (!there) {
        missing->push_back(
            fmt::format("no device has an implementation of {} for {}", kernel, dtype));
      }
    }
  }
  for (const std::string& word : Words(entry.implementations())) {
    // What an optional word asks for need not be there.
    if (word == "all" || word == "default" || word.back() == '?') continue;
    const bool there =
        AnyImplementation(known, [&](const auto& one) { return Answers(one, word); });
    if (!there) missing->push_back("no device has the implementation " + word);
  }
  for (const std::string& word : Words(entry.environments())) {
    const bool there =
        AnyImplementation(known, [&](const auto& one) { return one.environment() == word; });
    if (!there) missing->push_back("no device has the environment " + word);
  }
}

}  // namespace

std::vector<std::string> MissingOnDevices(const kbench::v1::Suite& suite,
                                          const ListDevicesResponse& known) {
  std::vector<std::string> sentences;
  for (int i = 0; i < suite.entries_size(); ++i) {
    std::vector<std::string> missing;
    CheckEntry(suite.entries(i), known, &missing);
    for (const std::string& sentence : missing) {
      sentences.push_back(fmt::format("entry {}: {}", i + 1, sentence));
    }
  }
  return sentences;
}

}  // namespace kbench::client
