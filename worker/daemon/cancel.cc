#include "worker/daemon/cancel.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>

namespace kbench {

CancelToken::CancelToken() : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

CancelToken::~CancelToken() {
  if (fd_ >= 0) close(fd_);
}

void CancelToken::Cancel(Why why) {
  Why none = Why::kNone;
  why_.compare_exchange_strong(none, why);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(fd_, &one, sizeof(one));
}

}  // namespace kbench
