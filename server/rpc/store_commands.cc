#include "server/rpc/store_commands.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "google/protobuf/struct.pb.h"
#include "google/protobuf/util/json_util.h"
#include "kbench/v1/admin_service.grpc.pb.h"
#include "proto/support/channel.h"
#include "proto/support/clock.h"
#include "proto/support/credentials.h"
#include "proto/support/error.h"
#include "proto/support/paths.h"
#include "proto/support/rpc_status.h"
#include "server/auth/setup.h"
#include "server/store/backup.h"
#include "server/store/check.h"
#include "server/store/data_dir_lock.h"
#include "server/store/migrations.h"
#include "server/store/prune.h"

namespace kbench::server {
namespace {

namespace fs = std::filesystem;
using kbench::v1::AdminService;

constexpr const char* kCommands[] = {"backup", "restore", "check"};
constexpr int kFound = 1;
constexpr int kUsage = 2;
constexpr int kFailed = 5;
constexpr int kCallSeconds = 3600;  // a large store on a slow disk

struct Options {
  std::string config = auth::SetupPaths{auth::ServerConfigDir()}.config();
  std::string data_dir;  // empty: as of the configuration
  std::string server;    // empty: as the running one has noted down
  std::string dir;
  bool force = false;
};

int Report(const absl::Status& status) {
  fmt::print(stderr, "kbench-server: {}\n", MessageOf(status));
  return status.code() == absl::StatusCode::kInvalidArgument ? kUsage : kFailed;
}

// The store of a directory that no server uses.
struct OfflineStore {
  std::unique_ptr<store::DataDirLock> lock;
  std::unique_ptr<store::Database> db;
};

absl::StatusOr<OfflineStore> OpenOffline(const std::string& data_dir) {
  OfflineStore offline;
  const std::string path = data_dir + "/kbench.db";
  std::error_code error;
  if (!fs::exists(path, error)) {
    return MakeError(absl::StatusCode::kNotFound,
                     data_dir + " holds no store; give the --data-dir of the server",
                     {.reason = "NO_STORE"});
  }
  KB_ASSIGN_OR_RETURN(offline.lock, store::DataDirLock::Take(data_dir));
  KB_ASSIGN_OR_RETURN(offline.db, store::Database::Open(path, store::Database::Access::kReadWrite));
  return offline;
}

bool InUse(const absl::Status& status) { return DetailsOf(status).reason == "DATA_DIR_IN_USE"; }

// Where the server that uses the data directory listens, as it has noted down (Server::WriteState).
absl::StatusOr<std::string> NotedAddress(const std::string& data_dir) {
  std::ifstream file(data_dir + "/server.json");
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  google::protobuf::Struct note;
  if (google::protobuf::util::JsonStringToMessage(text, &note).ok()) {
    const auto& listen = note.fields().find("listen");
    std::string address;
    if (listen != note.fields().end()) {
      // Behind a HOST:PORT may be TLS, and nobody who knows us; on a socket we are its user.
      for (const auto& one : listen->second.list_value().values()) {
        const bool socket = one.string_value().rfind("unix:", 0) == 0;
        if (address.empty() || socket) address = one.string_value();
        if (socket) break;
      }
    }
    if (!address.empty()) return address;
  }
  return MakeError(absl::StatusCode::kUnavailable,
                   "a server uses " + data_dir +
                       " and does not serve (yet, or any more); try again, or give --server",
                   {.reason = "NOT_SERVING"});
}

absl::Status Explained(const absl::Status& status, const std::string& address,
                       const std::string& data_dir) {
  if (!DetailsOf(status).reason.empty()) return status;
  const absl::Status connection = ExplainConnection(MessageOf(status), address);
  return MakeError(absl::StatusCode::kUnavailable,
                   fmt::format("the server that uses {} does not answer on {} ({}); name another "
                               "of its addresses with --server",
                               data_dir, address, MessageOf(connection.ok() ? status : connection)),
                   {.reason = "NOT_SERVING"});
}

// Calls the server that uses the data directory.
template <typename Request, typename Response>
absl::StatusOr<Response> Ask(const Options& options, const Request& request,
                             grpc::Status (AdminService::Stub::*method)(grpc::ClientContext*,
                                                                        const Request&,
                                                                        Response*)) {
  std::string address = options.server;
  if (address.empty()) {
    KB_ASSIGN_OR_RETURN(address, NotedAddress(options.data_dir));
  }
  KB_ASSIGN_OR_RETURN(address, NormalizeAddress(address));
  KB_ASSIGN_OR_RETURN(const auto credentials, CredentialsFor(address, ClientCredentialsPath()));
  const auto stub = AdminService::NewStub(MakeChannel(address, credentials));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kCallSeconds));
  Response response;
  const grpc::Status status = ((*stub).*method)(&context, request, &response);
  if (!status.ok()) return Explained(FromGrpc(status), address, options.data_dir);
  return response;
}

// Within one file system by its name alone; else by a copy that is synced before it gets its name.
absl::Status MoveTo(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (!error) return absl::OkStatus();
  KB_ASSIGN_OR_RETURN(const auto db, store::Database::Open(from + "/kbench.db",
                                                           store::Database::Access::kReadOnly));
  KB_RETURN_IF_ERROR(store::BackUpDatabase(*db, to).status());
  fs::remove_all(from, error);
  return absl::OkStatus();
}

absl::Status Backup(const Options& options) {
  const std::string dir = fs::absolute(options.dir).lexically_normal().string();
  std::error_code error;
  if (fs::exists(dir, error)) {
    return MakeError(absl::StatusCode::kAlreadyExists, dir + " is there already; give another name",
                     {.reason = "BACKUP_EXISTS"});
  }
  const absl::StatusOr<OfflineStore> offline = OpenOffline(options.data_dir);
  std::int64_t bytes = 0;
  if (offline.ok()) {
    KB_ASSIGN_OR_RETURN(bytes, store::BackUpDatabase(*offline->db, dir));
  } else if (InUse(offline.status())) {
    KB_ASSIGN_OR_RETURN(const auto made,
                        Ask(options, kbench::v1::BackupRequest(), &AdminService::Stub::Backup));
    KB_RETURN_IF_ERROR(MoveTo(made.path(), dir));
    bytes = made.size_bytes();
  } else {
    return offline.status();
  }
  fmt::print("backed up to {} ({} bytes)\n", dir, bytes);
  const std::string access = fs::path(options.config).parent_path().string();
  if (fs::exists(auth::SetupPaths{access}.ca_key(), error)) {
    fmt::print(
        stderr,
        "configuration, authority and whom you invited are not in it: save {} as well, where "
        "nobody else reads it\n",
        access);
  }
  return absl::OkStatus();
}

absl::Status Restore(const Options& options) {
  KB_ASSIGN_OR_RETURN(const std::string done,
                      store::RestoreBackup(options.dir, options.data_dir, options.force,
                                           SystemClock().WallMicros()));
  fmt::print("{}\n", done);
  return absl::OkStatus();
}

absl::StatusOr<kbench::v1::StoreInfo> Examine(const Options& options) {
  const absl::StatusOr<OfflineStore> offline = OpenOffline(options.data_dir);
  if (!offline.ok() && InUse(offline.status())) {
    kbench::v1::GetStoreRequest request;
    request.set_check(true);
    return Ask(options, request, &AdminService::Stub::GetStore);
  }
  KB_RETURN_IF_ERROR(offline.status());
  KB_RETURN_IF_ERROR(store::CheckSchema(*offline->db));
  kbench::v1::StoreInfo info;
  KB_ASSIGN_OR_RETURN(const auto problems, store::FindProblems(*offline->db));
  info.set_checked(true);
  info.set_problem(fmt::format("{}", fmt::join(problems, "\n")));
  if (!problems.empty()) return info;
  KB_ASSIGN_OR_RETURN(const auto bytes, store::ReadKeptBytes(*offline->db));
  info.mutable_bytes()->insert(bytes.begin(), bytes.end());
  return info;
}

int Check(const Options& options) {
  const absl::StatusOr<kbench::v1::StoreInfo> info = Examine(options);
  if (!info.ok()) return Report(info.status());
  const std::map<std::string, std::int64_t> bytes(info->bytes().begin(), info->bytes().end());
  for (const auto& [kind, size] : bytes) fmt::print("{:<10} {:>16} bytes\n", kind, size);
  if (info->problem().empty()) {
    fmt::print("the store in {} is sound\n", options.data_dir);
    return 0;
  }
  fmt::print("{}\nthe store in {} is damaged: restore a backup (kbench-server restore)\n",
             info->problem(), options.data_dir);
  return kFound;
}

void DeclareWhere(CLI::App& command, Options& options) {
  command.add_option("--config", options.config, "The configuration of the server, for data-dir")
      ->capture_default_str();
  command.add_option("--data-dir", options.data_dir,
                     "Where the server keeps jobs and results (default: as the configuration says, "
                     "else " +
                         DataDir() + ")");
}

// Where the server looks: the flag, else the configuration, else its default.
absl::Status FindDataDir(Options& options, bool config_named) {
  if (!options.data_dir.empty()) return absl::OkStatus();
  std::error_code error;
  if (config_named && !fs::exists(options.config, error)) {
    return MakeError(absl::StatusCode::kInvalidArgument,
                     options.config + " is not there; name the configuration of the server",
                     {.reason = "BAD_CONFIGURATION"});
  }
  KB_ASSIGN_OR_RETURN(const auto named, auth::ConfigValues(options.config, "data-dir"));
  options.data_dir = named.empty() || named[0].empty() ? DataDir() : named[0];
  return absl::OkStatus();
}

}  // namespace

bool IsStoreCommand(const std::string& word) {
  return std::find(std::begin(kCommands), std::end(kCommands), word) != std::end(kCommands);
}

int RunStoreCommand(int argc, const char* const* argv) {
  Options options;
  CLI::App app("The store of the coordinator.", "kbench-server");
  app.require_subcommand(1);
  CLI::App* backup = app.add_subcommand("backup", "Copy the store as of now, also while it serves");
  backup->add_option("DIR", options.dir, "The folder to make")->required();
  CLI::App* restore = app.add_subcommand("restore", "Put a backup in place of the store");
  restore->add_option("DIR", options.dir, "The folder that backup made")->required();
  restore->add_flag("--force", options.force,
                    "Also where a store is there already: it is moved aside");
  CLI::App* check = app.add_subcommand("check", "Look for damage, and at the bytes kept of what");
  for (CLI::App* command : {backup, restore, check}) DeclareWhere(*command, options);
  for (CLI::App* command : {backup, check}) {
    command->add_option("--server", options.server,
                        "The address of the server that uses it (default: as it has noted down)");
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    fmt::print(stderr, "kbench-server: {}; see kbench-server {} --help\n", error.what(), argv[1]);
    return kUsage;
  }
  const CLI::App& used = *app.get_subcommands().front();
  const absl::Status found = FindDataDir(options, used.get_option("--config")->count() > 0);
  if (!found.ok()) return Report(found);
  if (*check) return Check(options);
  const absl::Status status = *backup ? Backup(options) : Restore(options);
  return status.ok() ? 0 : Report(status);
}

}  // namespace kbench::server
