// kernels: what can be measured, and which implementations exist here.
#include <fmt/format.h>

#include <algorithm>

#include "client/commands/await.h"
#include "client/commands/verbs.h"
#include "client/default_choice.h"
#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/text_table.h"
#include "client/output/words.h"
#include "proto/support/json.h"

namespace kbench::client {
namespace {

using kbench::v1::KernelInfo;
using kbench::v1::ListKernelsResponse;

void PrintKernel(Io& io, const KernelInfo& kernel) {
  io.out << Wrap(kernel.name() + ": " + kernel.summary(), kTableWidth, 4) << "\n";
  const std::string dtypes = fmt::format("dtypes: {}", fmt::join(kernel.dtypes(), " "));
  io.out << "  " << Wrap(dtypes, kTableWidth - 2, 4) << "\n";
  io.out << "  " << Wrap("size: " + kernel.size_help(), kTableWidth - 2, 4) << "\n";
  TextTable table{{"  implementation", "default", "dtypes"}, {}, {}};
  for (const auto& one : kernel.implementations()) {
    table.rows.push_back({"  " + one.name(), DefaultText(kernel, one),
                          fmt::format("{}", fmt::join(one.dtypes(), " "))});
  }
  if (table.rows.empty()) {
    io.out << "  no worker offers it now\n";
  } else {
    io.out << table.ToString();
  }
}

// The fixtures of selftest are listed nowhere.
KernelInfo WithoutHidden(const KernelInfo& kernel) {
  KernelInfo shown = kernel;
  auto* all = shown.mutable_implementations();
  all->erase(std::remove_if(all->begin(), all->end(), [](const auto& one) { return one.hidden(); }),
             all->end());
  return shown;
}

class Kernels final : public Command {
 public:
  std::string name() const override { return "kernels"; }
  std::string help() const override { return "List kernels, dtypes, sizes, implementations"; }

  void Declare(Arguments& arguments) override {
    arguments.Positional("KERNEL", &only_, "Only this one", false);
    DeclareFormat(arguments, &format_, {"table", "json"});
  }

  int Run(Context& context) override {
    auto backend = context.connect(context.address);
    if (!backend.ok()) return ReportError(context.io, backend.status());
    const auto reply = Unary<ListKernelsResponse>(
        *backend, [&](grpc::ClientContext* call, ListKernelsResponse* out) {
          return backend->devices->ListKernels(call, {}, out);
        });
    if (!reply.ok()) return ReportError(context.io, reply.status());
    bool found = false;
    std::vector<std::string> names;
    for (const KernelInfo& kernel : reply->kernels()) {
      names.push_back(kernel.name());
      if (!only_.empty() && kernel.name() != only_) continue;
      if (format_ == "json") {
        context.io.out << "{\"kernel\":" << ToJsonLine(WithoutHidden(kernel)) << "}\n";
      } else {
        if (found) context.io.out << "\n";
        PrintKernel(context.io, WithoutHidden(kernel));
      }
      found = true;
    }
    if (found || only_.empty()) {
      PrintAbsent(context.io, *reply, found);
      return kExitOk;
    }
    return ReportUsage(context.io, fmt::format("kernel: there is no kernel {}; take one of {}",
                                               only_, fmt::join(names, ", ")));
  }

 private:
  void PrintAbsent(Io& io, const ListKernelsResponse& reply, bool apart) const {
    if (reply.absent().empty()) return;
    if (apart && format_ != "json") io.out << "\n";
    for (const kbench::v1::AbsentOnDevice& absent : reply.absent()) {
      if (format_ == "json") {
        io.out << "{\"absent\":" << ToJsonLine(absent) << "}\n";
      } else {
        const std::string line = absent.device() + ": " + AbsentText(absent.framework());
        io.out << Wrap(Plain(line), kTableWidth, 4) << "\n";
      }
    }
  }

  std::string only_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeKernels() { return std::make_unique<Kernels>(); }

}  // namespace kbench::client
