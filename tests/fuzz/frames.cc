// Frames from a runner: any bytes, cut anywhere, make lines, errors or the end, never more than a
// frame's limit; a frame that is understood is written back as one that means the same.
#include "worker/runner/frames.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "google/protobuf/util/message_differencer.h"
#include "kbench/v1/runner.pb.h"
#include "proto/support/json.h"
#include "tests/fuzz/check.h"

namespace {

template <typename Message>
void TryAs(const std::string& line) {
  Message message;
  if (!kbench::FromFrame(line, &message).ok()) return;
  const auto again = kbench::ToFrame(message);
  if (!again.ok()) return;  // over the limit once its defaults are spelled out
  KB_FUZZ_CHECK(again->find('\n') == std::string::npos);
  Message same;
  KB_FUZZ_CHECK(kbench::FromFrame(*again, &same).ok());
  KB_FUZZ_CHECK(same.SerializeAsString() == message.SerializeAsString());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int fd = memfd_create("frames", 0);
  if (ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) < 0 || lseek(fd, 0, SEEK_SET) != 0) {
    return 0;
  }
  kbench::FrameReader reader(fd);
  for (std::size_t lines = 0;; ++lines) {
    KB_FUZZ_CHECK(lines <= size + 1);
    const auto line = reader.Next();
    if (!line.ok()) continue;  // too long: skipped
    if (!line->has_value()) return 0;
    KB_FUZZ_CHECK((*line)->size() <= kbench::kMaxFrameBytes);
    TryAs<kbench::v1::RunnerRequest>(**line);
    TryAs<kbench::v1::RunnerReply>(**line);
  }
}
