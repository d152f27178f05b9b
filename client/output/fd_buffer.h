// Standard output that knows why it could not be written: the streams of the standard library
// forget errno. Owned by main(); used from one thread.
#pragma once

#include <streambuf>
#include <string>

#include "client/io.h"

namespace kbench::client {

class FdBuffer final : public std::streambuf {
 public:
  // Does not own `fd`. Writes at the end of each line where it is a terminal, else in blocks.
  explicit FdBuffer(int fd);

  // The errno of the first write that failed; 0 when all went well. What follows it is dropped.
  int error() const { return error_; }

 protected:
  int_type overflow(int_type c) override;
  std::streamsize xsputn(const char* text, std::streamsize count) override;
  int sync() override;

 private:
  const int fd_;
  const bool by_line_;
  std::string pending_;
  int error_ = 0;
};

// Writes what is pending. `code`, or why the output is incomplete: one line and 5; 141 in silence
// when nobody reads on, as of a program that SIGPIPE ends.
int FinishOutput(Io& io, const FdBuffer& buffer, int code);

}  // namespace kbench::client
