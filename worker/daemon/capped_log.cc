#include "worker/daemon/capped_log.h"

#include <algorithm>

namespace kbench {

void CappedLog::Append(const char* data, std::size_t size) {
  const std::size_t to_head = std::min(size, half_ - head_.size());
  head_.append(data, to_head);
  tail_.append(data + to_head, size - to_head);
  // Cut rarely, so that a flood costs one copy per half cap and not one per read.
  if (tail_.size() > 2 * half_) {
    const std::size_t excess = tail_.size() - half_;
    dropped_ += excess;
    tail_.erase(0, excess);
  }
}

std::string CappedLog::Text() const {
  const std::size_t excess = tail_.size() > half_ ? tail_.size() - half_ : 0;
  const std::size_t dropped = dropped_ + excess;
  if (dropped == 0) return head_ + tail_;
  return head_ + "\n... " + std::to_string(dropped) + " bytes left out ...\n" +
         tail_.substr(excess);
}

void CappedLog::Clear() {
  head_.clear();
  tail_.clear();
  dropped_ = 0;
}

}  // namespace kbench
