#include "client/commands/report_epoch.h"

#include "client/errors.h"
#include "client/exit_code.h"
#include "client/output/epoch_table.h"

namespace kbench::client {

using kbench::v1::EpochReport;

int ReportEpoch(Context& context, const EpochOptions& options) {
  auto backend = context.connect(context.address);
  if (!backend.ok()) return ReportError(context.io, backend.status());
  kbench::v1::CompareEpochsRequest request;
  request.set_device(options.device);
  request.set_before(options.before);
  request.set_after(options.after);
  request.set_pinned_only(options.pinned);
  const auto report =
      Unary<EpochReport>(*backend, [&](grpc::ClientContext* call, EpochReport* reply) {
        return backend->history->CompareEpochs(call, request, reply);
      });
  if (!report.ok()) return ReportError(context.io, report.status());
  PrintEpochs(context.io, ParseFormat(options.format), *report, options.before.empty());
  return kExitOk;
}

}  // namespace kbench::client
