// What a coordinator says of the history of cells, as a test tells it to. Used from one thread at a
// time.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "kbench/v1/history_service.grpc.pb.h"
#include "proto/support/rpc_status.h"

namespace kbench::client::testing {

class FakeHistory final : public kbench::v1::HistoryService::Service {
 public:
  // Filters as the coordinator does, in pages of two.
  grpc::Status ListCells(grpc::ServerContext*, const kbench::v1::ListCellsRequest* request,
                         kbench::v1::ListCellsResponse* reply) override {
    listed.push_back(*request);
    if (!status.ok()) return ToGrpc(status);
    std::vector<kbench::v1::CellState> found;
    for (const auto& one : cells) {
      if (Wanted(*request, one)) found.push_back(one);
    }
    std::size_t at = request->page_token().empty() ? 0 : std::stoul(request->page_token());
    for (int i = 0; i < 2 && at < found.size(); ++i, ++at) *reply->add_cells() = found[at];
    if (at < found.size()) reply->set_next_page_token(std::to_string(at));
    return grpc::Status::OK;
  }
  grpc::Status GetHistory(grpc::ServerContext*, const kbench::v1::GetHistoryRequest* request,
                          kbench::v1::History* reply) override {
    got.push_back(*request);
    *reply = history;
    return ToGrpc(status);
  }
  grpc::Status PinBaseline(grpc::ServerContext*, const kbench::v1::PinBaselineRequest* request,
                           kbench::v1::CellState* reply) override {
    pinned.push_back(*request);
    *reply = state;
    return ToGrpc(status);
  }
  grpc::Status DropBaseline(grpc::ServerContext*, const kbench::v1::DropBaselineRequest* request,
                            kbench::v1::CellState* reply) override {
    dropped.push_back(*request);
    *reply = state;
    return ToGrpc(status);
  }
  grpc::Status Why(grpc::ServerContext*, const kbench::v1::WhyRequest* request,
                   kbench::v1::Cause* reply) override {
    asked.push_back(*request);
    *reply = cause;
    return ToGrpc(why_status);
  }
  grpc::Status CompareEpochs(grpc::ServerContext*, const kbench::v1::CompareEpochsRequest* request,
                             kbench::v1::EpochReport* reply) override {
    compared.push_back(*request);
    *reply = epochs;
    return ToGrpc(status);
  }

  std::vector<kbench::v1::CellState> cells;
  kbench::v1::History history;
  kbench::v1::CellState state;  // answers PinBaseline and DropBaseline
  kbench::v1::Cause cause;
  kbench::v1::EpochReport epochs;
  absl::Status status;
  absl::Status why_status;
  std::vector<kbench::v1::ListCellsRequest> listed;
  std::vector<kbench::v1::GetHistoryRequest> got;
  std::vector<kbench::v1::PinBaselineRequest> pinned;
  std::vector<kbench::v1::DropBaselineRequest> dropped;
  std::vector<kbench::v1::WhyRequest> asked;
  std::vector<kbench::v1::CompareEpochsRequest> compared;

 private:
  static bool Wanted(const kbench::v1::ListCellsRequest& request,
                     const kbench::v1::CellState& one) {
    const auto fits = [](const std::string& wanted, const std::string& is) {
      return wanted.empty() || wanted == is;
    };
    const auto& filter = request.filter();
    bool state = request.states().empty();
    for (const auto wanted : request.states()) state = state || wanted == one.state();
    return state && (!request.pinned_only() || one.baseline().origin() == "pinned") &&
           fits(filter.kernel(), one.cell().kernel()) &&
           fits(filter.implementation(), one.cell().implementation()) &&
           fits(filter.dtype(), one.cell().dtype()) && fits(filter.shape(), one.cell().shape()) &&
           fits(filter.mode(), one.cell().mode()) && fits(filter.device(), one.cell().device());
  }
};

}  // namespace kbench::client::testing
