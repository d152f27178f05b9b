#include "server/rpc/result_service.h"

#include <algorithm>
#include <string>

#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/rpc_status.h"
#include "server/rpc/reply.h"
#include "server/rpc/validate.h"

namespace kbench::server {
namespace {

constexpr std::size_t kChunkBytes = 64u << 10;

// "results/x" from "results/x" or "x".
std::string FullName(const std::string& collection, const std::string& name) {
  return name.rfind(collection, 0) == 0 ? name : collection + name;
}

}  // namespace

grpc::Status ResultService::GetResult(grpc::ServerContext*,
                                      const kbench::v1::GetResultRequest* request,
                                      kbench::v1::Result* result) {
  return Reply(store_.GetResult(FullName("results/", request->name())), result);
}

grpc::Status ResultService::ListResults(grpc::ServerContext*,
                                        const kbench::v1::ListResultsRequest* request,
                                        kbench::v1::ListResultsResponse* response) {
  const absl::StatusOr<int> size = PageSize(request->page_size());
  if (!size.ok()) return ToGrpc(size.status());
  store::ResultFilter filter;
  filter.page_size = *size;
  filter.page_token = request->page_token();
  if (!request->job().empty()) filter.job = JobName(request->job());
  filter.kernel = request->kernel();
  filter.dtype = request->dtype();
  filter.shape = request->shape();
  filter.implementation = request->implementation();
  filter.device = request->device();
  absl::StatusOr<store::ResultPage> page = store_.ListResults(filter);
  if (!page.ok()) return ToGrpc(page.status());
  response->set_next_page_token(page->next_page_token);
  for (kbench::v1::Result& result : page->results) *response->add_results() = std::move(result);
  return grpc::Status::OK;
}

grpc::Status ResultService::ListArtifacts(grpc::ServerContext*,
                                          const kbench::v1::ListArtifactsRequest* request,
                                          kbench::v1::ListArtifactsResponse* response) {
  absl::StatusOr<std::vector<kbench::v1::Artifact>> artifacts =
      store_.ListArtifacts(JobName(request->job()));
  if (!artifacts.ok()) return ToGrpc(artifacts.status());
  for (kbench::v1::Artifact& artifact : *artifacts) {
    *response->add_artifacts() = std::move(artifact);
  }
  return grpc::Status::OK;
}

grpc::Status ResultService::GetArtifact(grpc::ServerContext* context,
                                        const kbench::v1::GetArtifactRequest* request,
                                        grpc::ServerWriter<kbench::v1::ArtifactChunk>* writer) {
  const absl::StatusOr<kbench::v1::Artifact> artifact =
      store_.GetArtifact(FullName("artifacts/", request->name()));
  if (!artifact.ok()) return ToGrpc(artifact.status());
  const std::string& content = artifact->content();
  kbench::v1::ArtifactChunk chunk;
  chunk.set_size_bytes(static_cast<std::int64_t>(content.size()));
  std::size_t offset = 0;
  do {  // an empty artifact is one empty chunk
    chunk.set_offset(static_cast<std::int64_t>(offset));
    chunk.set_content(content.substr(offset, kChunkBytes));
    if (context->IsCancelled() || !writer->Write(chunk)) {
      return ToGrpc(absl::CancelledError("the reader has gone"));
    }
    offset += kChunkBytes;
  } while (offset < content.size());
  return grpc::Status::OK;
}

}  // namespace kbench::server
