// What a runner printed, with a cap: the beginning and the end are kept, the middle is counted.
// Used from one thread.
#pragma once

#include <cstddef>
#include <string>

namespace kbench {

class CappedLog {
 public:
  explicit CappedLog(std::size_t cap = 64 * 1024) : half_(cap / 2) {}
  void Append(const char* data, std::size_t size);
  bool empty() const { return head_.empty(); }
  // The text, with a line that says how many bytes are missing.
  std::string Text() const;
  void Clear();

 private:
  std::size_t half_;
  std::string head_;
  std::string tail_;
  std::size_t dropped_ = 0;
};

}  // namespace kbench
