// A terminal while a verb draws on it: another screen, no cursor, keys one by one without echo.
// Given back as it was on every way out: the end of the object, a signal that ends or stops the
// process, and RestoreTerminal() before an _exit(). One at a time in a process.
#pragma once

#include "client/top/screen.h"

namespace kbench::client {

class Terminal {
 public:
  // `keys` may be -1: no keys. Owns neither descriptor.
  Terminal(int out, int keys);
  ~Terminal();
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  ScreenSize Size() const;
  // Writes all of it; false when the terminal is gone.
  bool Write(const std::string& text) const;

 private:
  const int out_;
};

// Gives the terminal back when a Terminal lives; else nothing. Async-signal-safe, idempotent.
void RestoreTerminal();

}  // namespace kbench::client
