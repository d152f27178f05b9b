// What device code the cases of one job have sent: a sweep runs the same kernel hundreds of times,
// and sends its code once. Owned by the executor; used from the case thread.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace kbench {

class CodeMemory {
 public:
  // The full names of the artifacts, or nullptr.
  const std::vector<std::string>* Find(const std::string& key) const {
    const auto found = sent_.find(key);
    return found == sent_.end() ? nullptr : &found->second;
  }
  void Keep(const std::string& key, std::vector<std::string> names) {
    sent_[key] = std::move(names);
  }
  // When another job begins.
  void Forget() { sent_.clear(); }

 private:
  std::map<std::string, std::vector<std::string>> sent_;
};

}  // namespace kbench
