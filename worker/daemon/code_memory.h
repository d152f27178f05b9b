// What device code the cases of one job have sent: a sweep runs the same kernel hundreds of times,
// and sends its code once. And what was disassembled in any job, because that takes longer than
// many a case. Owned by the executor; used from the case thread.
#pragma once

#include <cstddef>
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

  // The text of a cubin, or nullptr.
  const std::string* FindText(const std::string& key) const {
    const auto found = texts_.find(key);
    return found == texts_.end() ? nullptr : &found->second;
  }
  void KeepText(const std::string& key, const std::string& text) {
    constexpr std::size_t kMostBytes = 64 << 20;
    if (text_bytes_ + text.size() > kMostBytes) {
      texts_.clear();
      text_bytes_ = 0;
    }
    text_bytes_ += text.size();
    texts_[key] = text;
  }

 private:
  std::map<std::string, std::string> texts_;
  std::size_t text_bytes_ = 0;
  std::map<std::string, std::vector<std::string>> sent_;
};

}  // namespace kbench
