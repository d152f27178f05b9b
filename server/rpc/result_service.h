// ResultService over the store. Thread-safe.
#pragma once

#include "kbench/v1/result_service.grpc.pb.h"
#include "server/store/store.h"

namespace kbench::server {

class ResultService final : public kbench::v1::ResultService::Service {
 public:
  explicit ResultService(store::Store& store) : store_(store) {}

  grpc::Status GetResult(grpc::ServerContext* context, const kbench::v1::GetResultRequest* request,
                         kbench::v1::Result* result) override;
  grpc::Status ListResults(grpc::ServerContext* context,
                           const kbench::v1::ListResultsRequest* request,
                           kbench::v1::ListResultsResponse* response) override;
  grpc::Status ListArtifacts(grpc::ServerContext* context,
                             const kbench::v1::ListArtifactsRequest* request,
                             kbench::v1::ListArtifactsResponse* response) override;
  grpc::Status GetArtifact(grpc::ServerContext* context,
                           const kbench::v1::GetArtifactRequest* request,
                           grpc::ServerWriter<kbench::v1::ArtifactChunk>* writer) override;

 private:
  store::Store& store_;
};

}  // namespace kbench::server
