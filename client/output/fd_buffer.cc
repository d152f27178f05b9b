#include "client/output/fd_buffer.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "client/exit_code.h"

namespace kbench::client {
namespace {

constexpr std::size_t kBlock = 64 << 10;

}  // namespace

FdBuffer::FdBuffer(int fd) : fd_(fd), by_line_(isatty(fd) == 1) {}

FdBuffer::int_type FdBuffer::overflow(int_type c) {
  if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
  const char one = traits_type::to_char_type(c);
  return xsputn(&one, 1) == 1 ? c : traits_type::eof();
}

std::streamsize FdBuffer::xsputn(const char* text, std::streamsize count) {
  if (error_ != 0) return 0;
  pending_.append(text, static_cast<std::size_t>(count));
  const bool line_ended = by_line_ && std::memchr(text, '\n', static_cast<std::size_t>(count));
  if (pending_.size() >= kBlock || line_ended) return sync() == 0 ? count : 0;
  return count;
}

int FdBuffer::sync() {
  std::size_t done = 0;
  while (error_ == 0 && done < pending_.size()) {
    const ssize_t wrote = write(fd_, pending_.data() + done, pending_.size() - done);
    if (wrote >= 0) {
      done += static_cast<std::size_t>(wrote);
    } else if (errno != EINTR) {
      error_ = errno;
    }
  }
  pending_.clear();
  return error_ == 0 ? 0 : -1;
}

int FinishOutput(Io& io, const FdBuffer& buffer, int code) {
  io.out.flush();
  if (buffer.error() == 0) return code;
  if (buffer.error() == EPIPE) return 128 + SIGPIPE;
  io.err << "kbench-client: cannot write the output: " << std::strerror(buffer.error())
         << std::endl;
  return kExitInfrastructure;
}

}  // namespace kbench::client
