// ResultService over the store; what a device's canaries say comes from the coordinator.
// Thread-safe.
#pragma once

#include <map>
#include <string>

#include "kbench/v1/result_service.grpc.pb.h"
#include "server/rpc/coordinator.h"
#include "server/store/store.h"

namespace kbench::server {

class ResultService final : public kbench::v1::ResultService::Service {
 public:
  ResultService(store::Store& store, Coordinator& coordinator)
      : store_(store), coordinator_(coordinator) {}

  grpc::Status GetResult(grpc::ServerContext* context, const kbench::v1::GetResultRequest* request,
                         kbench::v1::Result* result) override;
  grpc::Status ListResults(grpc::ServerContext* context,
                           const kbench::v1::ListResultsRequest* request,
                           kbench::v1::ListResultsResponse* response) override;
  grpc::Status CompareResults(grpc::ServerContext* context,
                              const kbench::v1::CompareResultsRequest* request,
                              kbench::v1::CompareResultsResponse* response) override;
  grpc::Status ListArtifacts(grpc::ServerContext* context,
                             const kbench::v1::ListArtifactsRequest* request,
                             kbench::v1::ListArtifactsResponse* response) override;
  grpc::Status GetArtifact(grpc::ServerContext* context,
                           const kbench::v1::GetArtifactRequest* request,
                           grpc::ServerWriter<kbench::v1::ArtifactChunk>* writer) override;

 private:
  absl::StatusOr<kbench::v1::CompareResultsResponse> Compare(
      const kbench::v1::CompareResultsRequest& request);
  // Every result that the pairs name, by full name. NOT_FOUND names the first that is not there.
  absl::StatusOr<std::map<std::string, kbench::v1::Result>> Load(
      const kbench::v1::CompareResultsRequest& request);

  store::Store& store_;
  Coordinator& coordinator_;
};

}  // namespace kbench::server
