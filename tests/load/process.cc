#include "tests/load/process.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace kbench::load {
namespace {

[[noreturn]] void Die(const std::string& what) {
  std::fprintf(stderr, "kbench-load: %s\n", what.c_str());
  std::exit(5);
}

}  // namespace

Folder::Folder() {
  const char* place = std::getenv("KBENCH_LOAD_DIR");
  if (place == nullptr) place = std::getenv("TMPDIR");
  path_ = std::string(place != nullptr ? place : "/tmp") + "/kbl-XXXXXX";
  if (mkdtemp(path_.data()) == nullptr) Die(path_ + " cannot be made");
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ServerProcess::ServerProcess(std::vector<std::string> argv, const std::string& socket,
                             const std::string& log)
    : socket_(socket) {
  ProcessSpec spec;
  spec.argv = std::move(argv);
  const int out = open(log.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  spec.descriptors = {-1, out, out};
  auto process = Spawn(spec);
  close(out);
  if (!process.ok()) Die(process.status().ToString());
  process_ = *process;
}

void ServerProcess::End(int signal) {
  if (process_.pid <= 0) return;
  kill(process_.pid, signal);
  WaitProcess(process_, 60);
  close(process_.pidfd);
  process_.pid = -1;
}

std::shared_ptr<grpc::Channel> ServerProcess::Connect() const {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 20);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 20);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  auto channel =
      grpc::CreateCustomChannel("unix:" + socket_, grpc::InsecureChannelCredentials(), arguments);
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + std::chrono::seconds(60))) {
    Die("nobody listens on " + socket_);
  }
  return channel;
}

double ServerProcess::RssMiB() const {
  std::ifstream status("/proc/" + std::to_string(process_.pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::atof(line.c_str() + 6) / 1024;
  }
  return 0;
}

double ServerProcess::CpuSeconds() const {
  std::ifstream file("/proc/" + std::to_string(process_.pid) + "/stat");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  // Behind the name, which may hold anything: 11 fields, then the ticks of user and system.
  std::istringstream fields(text.substr(text.rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  return (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

std::unique_ptr<ServerProcess> StartCoordinator(const Folder& folder, const std::string& program,
                                                const std::vector<std::string>& more) {
  std::vector<std::string> argv = {program.empty() ? KBENCH_SERVER : program,
                                   "--listen",
                                   "unix:" + (folder / "s"),
                                   "--data-dir",
                                   folder / "data",
                                   "--submits-per-second",
                                   "0",
                                   "--most-queued-cases",
                                   "1000000",
                                   "--most-jobs-per-owner",
                                   "1000000",
                                   "--most-cases-per-owner",
                                   "1000000"};
  if (more.empty()) argv.insert(argv.end(), {"--metrics-listen", ""});
  argv.insert(argv.end(), more.begin(), more.end());
  return std::make_unique<ServerProcess>(std::move(argv), folder / "s", folder / "log");
}

}  // namespace kbench::load
