// What the command of a hold prints: both streams, kept with a cap, and the latest line for those
// who watch. Owned by the hold's driver; one thread.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "kbench/v1/worker_service.pb.h"
#include "worker/daemon/capped_log.h"

namespace kbench {

class HoldOutput {
 public:
  HoldOutput() = default;
  ~HoldOutput();
  HoldOutput(const HoldOutput&) = delete;
  HoldOutput& operator=(const HoldOutput&) = delete;

  // Makes the pipes: `out` and `err` are the command's ends, to be closed by CloseWriters() once it
  // has started.
  absl::Status Open(int* out, int* err);
  void CloseWriters();

  // To poll; -1 after its end.
  int out_fd() const { return out_.read; }
  int err_fd() const { return err_.read; }
  // Takes what can be read now. True when there was something.
  bool Drain();
  // The last whole or begun line with something in it, made plain: at most 200 bytes.
  std::string LastLine() const;
  // stdout.txt and stderr.txt, where they hold something.
  void AddArtifacts(v1::AttemptResult* result) const;

 private:
  static constexpr std::size_t kCapBytes = 1 << 20;  // of each stream
  struct Stream {
    int read = -1;
    int write = -1;
    CappedLog log{kCapBytes};
  };
  bool DrainOne(Stream& stream);

  Stream out_;
  Stream err_;
  std::string tail_;  // the end of what was printed, of both
};

}  // namespace kbench
