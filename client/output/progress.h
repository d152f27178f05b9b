// The one line that moves while a job is awaited. One owner, one thread.
#pragma once

#include <string>

#include "client/io.h"
#include "client/job_view.h"

namespace kbench::client {

// "case 2/10 matmul fp16 4096 on gpu0: measuring cublas, round 12 of 60, +-0.80%, 3 s". Pure.
std::string ProgressText(const JobView& view);

// "measuring cublas, round 12 of 60, +-0.80%, 3 s"; empty before anything is known. Pure.
std::string PhaseText(const kbench::v1::Progress& progress);

// "2 cases ahead, starts in 40 s to 3 min", "next, nobody can say when it starts". `now` is on the
// clock that the estimate was stamped by. Pure.
std::string PlaceText(const kbench::v1::Job& job, double now);

// Draws only on a terminal; otherwise every call does nothing.
class ProgressLine {
 public:
  explicit ProgressLine(Io& io) : io_(io) {}
  ~ProgressLine() { Erase(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void Show(const std::string& text);
  void Erase();

 private:
  Io& io_;
  std::string shown_;
};

}  // namespace kbench::client
