// artifacts: raw samples, captured output and device code of a job.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/fetch.h"
#include "client/output/text_table.h"
#include "client/output/units.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::Artifact;
using kbench::v1::ListArtifactsResponse;

constexpr char kPrefix[] = "artifacts/";

std::string ShortName(const std::string& name) {
  return name.rfind(kPrefix, 0) == 0 ? name.substr(sizeof(kPrefix) - 1) : name;
}

class Artifacts final : public Command {
 public:
  std::string name() const override { return "artifacts"; }
  std::string help() const override { return "List or fetch a job's samples, logs, PTX and SASS"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("JOB", &job_, "As submit or list printed it");
    arguments.Option("--get", &get_, "NAME", "Write this one to standard output");
    arguments.Option("--all", &directory_, "DIR", "Write all of them into this folder");
    arguments.Exclusive({"--get", "--all"});
    DeclareFormat(arguments, &format_, {"table", "json"});
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    kbench::v1::ListArtifactsRequest request;
    request.set_job(JobName(job_));
    const auto reply = Unary<ListArtifactsResponse>(
        *backend, [&](grpc::ClientContext* call, ListArtifactsResponse* out) {
          return backend->results->ListArtifacts(call, request, out);
        });
    if (!reply.ok()) return ReportError(context.io, reply.status());
    if (!get_.empty()) return GetOne(context.io, *backend, *reply);
    if (!directory_.empty()) return GetAll(context.io, *backend, *reply);
    Print(context.io, *reply);
    return kExitOk;
  }

 private:
  int GetOne(Io& io, const Backend& backend, const ListArtifactsResponse& listed) const {
    std::vector<std::string> names;
    for (const Artifact& artifact : listed.artifacts()) {
      const std::string name = ShortName(artifact.name());
      names.push_back(name);
      // The file's own part is enough where it is the only one.
      if (name != ShortName(get_) && name != JobId(job_) + "-" + get_) continue;
      const absl::Status status = FetchArtifact(backend, artifact.name(), io.out);
      io.out.flush();
      return status.ok() ? kExitOk : ReportError(io, status);
    }
    return ReportUsage(
        io, fmt::format("artifact: job {} has no artifact {}; nearest: {}", JobId(job_), get_,
                        fmt::join(NearestWords(get_, names), ", ")));
  }

  int GetAll(Io& io, const Backend& backend, const ListArtifactsResponse& listed) const {
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    for (const Artifact& artifact : listed.artifacts()) {
      // A name is never a path: nothing is written outside the folder.
      const std::string file =
          std::filesystem::path(ShortName(artifact.name())).filename().string();
      const std::string path = directory_ + "/" + file;
      std::ofstream out(path, std::ios::binary | std::ios::trunc);
      if (!out) {
        return ReportError(io, absl::PermissionDeniedError("cannot write " + path +
                                                           "; name a folder you may write to"));
      }
      const absl::Status status = FetchArtifact(backend, artifact.name(), out);
      if (!status.ok()) return ReportError(io, status);
      io.out << Plain(path) << "\n";
    }
    return kExitOk;
  }

  void Print(Io& io, const ListArtifactsResponse& reply) const {
    if (format_ == "json") {
      for (const Artifact& one : reply.artifacts()) {
        io.out << "{\"artifact\":" << ToJsonLine(one) << "}\n";
      }
      return;
    }
    if (reply.artifacts().empty()) {
      io.out << "job " << JobId(job_) << " has no artifacts\n";
      return;
    }
    TextTable table{{"artifact", "size", "type"}, {}, {false, true, false}};
    for (const Artifact& one : reply.artifacts()) {
      table.rows.push_back({ShortName(one.name()),
                            FormatSize(static_cast<double>(one.size_bytes())), one.media_type()});
    }
    io.out << table.ToString();
  }

  std::string job_;
  std::string get_;
  std::string directory_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeArtifacts() { return std::make_unique<Artifacts>(); }

}  // namespace kbench::client
