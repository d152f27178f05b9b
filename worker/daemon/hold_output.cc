#include "worker/daemon/hold_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace kbench {
namespace {

constexpr std::size_t kTailBytes = 1024;
constexpr std::size_t kLineBytes = 200;

void CloseFd(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

void AddText(const std::string& name, const CappedLog& log, v1::AttemptResult* result) {
  if (log.empty()) return;
  v1::Artifact& artifact = *result->add_artifacts();
  artifact.set_name(name);
  artifact.set_media_type("text/plain");
  artifact.set_content(log.Text());
}

}  // namespace

HoldOutput::~HoldOutput() {
  for (Stream* stream : {&out_, &err_}) {
    CloseFd(&stream->read);
    CloseFd(&stream->write);
  }
}

absl::Status HoldOutput::Open(int* out, int* err) {
  for (Stream* stream : {&out_, &err_}) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return absl::ResourceExhaustedError("cannot make pipes");
    stream->read = fds[0];
    stream->write = fds[1];
    fcntl(stream->read, F_SETFL, fcntl(stream->read, F_GETFL) | O_NONBLOCK);
  }
  *out = out_.write;
  *err = err_.write;
  return absl::OkStatus();
}

void HoldOutput::CloseWriters() {
  CloseFd(&out_.write);
  CloseFd(&err_.write);
}

bool HoldOutput::DrainOne(Stream& stream) {
  bool some = false;
  std::array<char, 16384> buffer;
  while (stream.read >= 0) {
    const ssize_t count = read(stream.read, buffer.data(), buffer.size());
    if (count > 0) {
      some = true;
      stream.log.Append(buffer.data(), static_cast<std::size_t>(count));
      tail_.append(buffer.data(), static_cast<std::size_t>(count));
      if (tail_.size() > kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
    } else if (count == 0) {
      CloseFd(&stream.read);
    } else if (errno != EINTR) {
      break;
    }
  }
  return some;
}

bool HoldOutput::Drain() {
  const bool out = DrainOne(out_);
  const bool err = DrainOne(err_);
  return out || err;
}

std::string HoldOutput::LastLine() const {
  std::string text = tail_;
  // Plain ASCII alone: the message of a progress must be valid UTF-8, and is one line.
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c != '\n' && (c < ' ' || c > '~'); },
      ' ');
  const std::size_t end = text.find_last_not_of(" \n");
  if (end == std::string::npos) return "";
  const std::size_t begin = text.find_last_of('\n', end);
  const std::string line = text.substr(begin == std::string::npos ? 0 : begin + 1,
                                       end - (begin == std::string::npos ? 0 : begin + 1) + 1);
  return line.substr(0, kLineBytes);
}

void HoldOutput::AddArtifacts(v1::AttemptResult* result) const {
  AddText("stdout.txt", out_.log, result);
  AddText("stderr.txt", err_.log, result);
}

}  // namespace kbench
