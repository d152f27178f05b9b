// HistoryService: who asks, and the keeper does the rest. Thread-safe.
#pragma once

#include "kbench/v1/history_service.grpc.pb.h"
#include "server/rpc/history_keeper.h"

namespace kbench::server {

class HistoryService final : public kbench::v1::HistoryService::Service {
 public:
  explicit HistoryService(HistoryKeeper& keeper) : keeper_(keeper) {}

  grpc::Status ListCells(grpc::ServerContext* context, const kbench::v1::ListCellsRequest* request,
                         kbench::v1::ListCellsResponse* response) override;
  grpc::Status GetHistory(grpc::ServerContext* context,
                          const kbench::v1::GetHistoryRequest* request,
                          kbench::v1::History* history) override;
  grpc::Status PinBaseline(grpc::ServerContext* context,
                           const kbench::v1::PinBaselineRequest* request,
                           kbench::v1::CellState* state) override;
  grpc::Status DropBaseline(grpc::ServerContext* context,
                            const kbench::v1::DropBaselineRequest* request,
                            kbench::v1::CellState* state) override;
  grpc::Status Why(grpc::ServerContext* context, const kbench::v1::WhyRequest* request,
                   kbench::v1::Cause* cause) override;
  grpc::Status CompareEpochs(grpc::ServerContext* context,
                             const kbench::v1::CompareEpochsRequest* request,
                             kbench::v1::EpochReport* report) override;

 private:
  HistoryKeeper& keeper_;
};

}  // namespace kbench::server
