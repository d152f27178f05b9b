// The load that is shown, side by side with what bounds it. Each prints its figures and judges them
// (scenarios that are small only check that nothing is lost).
#pragma once

#include <string>

#include "tests/load/figures.h"

namespace kbench::load {

struct Size {
  bool small = false;
  std::string program;  // this one, to start the echo server
  std::string server;   // another kbench-server to look at; empty: this build's
};

// Durable submits of 16 connections, beside an empty call and the disk's fdatasync.
void RunSubmits(const Size& size, Verdicts& verdicts);
// 100,000 waiting jobs: what a call takes beside an empty queue, memory, restart.
void RunQueue(const Size& size, Verdicts& verdicts);
// 1,000 watchers of 50 jobs that finish at 50 a second, and some that stop reading.
void RunWatchers(const Size& size, Verdicts& verdicts);

// GetJob that answers at once with nothing, on `socket`, served as kbench-server serves. Until a
// signal.
int ServeEcho(const std::string& socket);

}  // namespace kbench::load
