#include "server/rpc/history_service.h"

#include <fmt/format.h>

#include "server/auth/caller.h"
#include "server/rpc/reply.h"

namespace kbench::server {
namespace {

// As it was asked for: what may be left out may be missing.
void NoteCell(const kbench::v1::CellKey& cell) {
  auth::NoteDevice(cell.device());
  auth::NoteSubject(fmt::format("cell {} {} {} {} {}", cell.kernel(), cell.dtype(), cell.shape(),
                                cell.implementation(), cell.mode()));
}

}  // namespace

grpc::Status HistoryService::ListCells(grpc::ServerContext*,
                                       const kbench::v1::ListCellsRequest* request,
                                       kbench::v1::ListCellsResponse* response) {
  return Reply(keeper_.List(*request), response);
}

grpc::Status HistoryService::GetHistory(grpc::ServerContext*,
                                        const kbench::v1::GetHistoryRequest* request,
                                        kbench::v1::History* history) {
  return Reply(keeper_.Get(*request), history);
}

grpc::Status HistoryService::PinBaseline(grpc::ServerContext*,
                                         const kbench::v1::PinBaselineRequest* request,
                                         kbench::v1::CellState* state) {
  NoteCell(request->cell());
  const std::string& owner = auth::CurrentCaller().owner;
  return Reply(keeper_.Pin(*request, owner.empty() ? "anonymous" : owner), state);
}

grpc::Status HistoryService::DropBaseline(grpc::ServerContext*,
                                          const kbench::v1::DropBaselineRequest* request,
                                          kbench::v1::CellState* state) {
  NoteCell(request->cell());
  return Reply(keeper_.Drop(*request), state);
}

grpc::Status HistoryService::Why(grpc::ServerContext*, const kbench::v1::WhyRequest* request,
                                 kbench::v1::Cause* cause) {
  return Reply(keeper_.Why(*request), cause);
}

grpc::Status HistoryService::CompareEpochs(grpc::ServerContext*,
                                           const kbench::v1::CompareEpochsRequest* request,
                                           kbench::v1::EpochReport* report) {
  return Reply(keeper_.Compare(*request), report);
}

}  // namespace kbench::server
