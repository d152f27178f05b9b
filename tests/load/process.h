// Real processes on the disk that is measured: a kbench-server over a folder of its own, or this
// program as the echo server. Ended with the object. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "grpcpp/channel.h"
#include "proto/support/process.h"

namespace kbench::load {

// A folder in $KBENCH_LOAD_DIR (else $TMPDIR, else /tmp), gone with the object.
class Folder {
 public:
  Folder();
  ~Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

class ServerProcess {
 public:
  // `argv` must make it listen on `socket`; its output goes to `log`.
  ServerProcess(std::vector<std::string> argv, const std::string& socket, const std::string& log);
  ~ServerProcess() { End(9); }
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  // A connection of its own; ready.
  std::shared_ptr<grpc::Channel> Connect() const;
  double RssMiB() const;
  double CpuSeconds() const;  // user and system, since its start
  // Waits for its end.
  void End(int signal);

 private:
  std::string socket_;
  Process process_;
};

// kbench-server with its data in `folder`; `program` empty: this build's.
std::unique_ptr<ServerProcess> StartCoordinator(const Folder& folder,
                                                const std::string& program = "");

}  // namespace kbench::load
