#include "server/rpc/result_service.h"

#include <algorithm>
#include <string>

#include "fmt/format.h"
#include "proto/support/error.h"
#include "proto/support/ids.h"
#include "proto/support/rpc_status.h"
#include "server/history/compare.h"
#include "server/rpc/reply.h"
#include "server/rpc/validate.h"
#include "worker/stats/comparison.h"

namespace kbench::server {
namespace {

constexpr std::size_t kChunkBytes = 64u << 10;
constexpr int kMostPairs = 1000;
constexpr char kResults[] = "results/";

// "results/x" from "results/x" or "x".
std::string FullName(const std::string& collection, const std::string& name) {
  return name.rfind(collection, 0) == 0 ? name : collection + name;
}

absl::Status CheckCompare(const kbench::v1::CompareResultsRequest& request) {
  if (request.pairs().empty()) {
    return FieldError("pairs", "NO_PAIRS", "a comparison needs at least one pair of results");
  }
  if (request.pairs_size() > kMostPairs) {
    return FieldError("pairs", "TOO_MANY_PAIRS",
                      fmt::format("{} pairs are too many for one request: at most {}",
                                  request.pairs_size(), kMostPairs));
  }
  for (int i = 0; i < request.pairs_size(); ++i) {
    const auto& pair = request.pairs(i);
    if (!pair.a().empty() && !pair.b().empty()) continue;
    return FieldError(fmt::format("pairs[{}].{}", i, pair.a().empty() ? "a" : "b"), "NO_NAME",
                      "a pair needs the names of two results: results/JOB-CASE-CELL");
  }
  return CheckMargin("margin_ratio", request.margin_ratio());
}

// By device name: the relative standard deviation of medians between sessions.
std::map<std::string, double> BetweenSessions(const std::vector<kbench::v1::Device>& devices) {
  std::map<std::string, double> ratios;
  for (const kbench::v1::Device& device : devices) {
    ratios[device.name()] = stats::BetweenSessionRatio(device.calibration().between_session_ratio(),
                                                       device.calibration().canaries());
  }
  return ratios;
}

}  // namespace

grpc::Status ResultService::GetResult(grpc::ServerContext*,
                                      const kbench::v1::GetResultRequest* request,
                                      kbench::v1::Result* result) {
  return Reply(store_.GetResult(FullName(kResults, request->name())), result);
}

grpc::Status ResultService::ListResults(grpc::ServerContext*,
                                        const kbench::v1::ListResultsRequest* request,
                                        kbench::v1::ListResultsResponse* response) {
  // Filters that nothing applies yet: a list that is not theirs would look like one that is.
  if (request->user_kernels() || !request->owner().empty()) {
    const char* field = request->user_kernels() ? "user_kernels" : "owner";
    return ToGrpc(FieldError(field, "NOT_YET",
                             "this coordinator does not list results by this yet; leave it out"));
  }
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

absl::StatusOr<std::map<std::string, kbench::v1::Result>> ResultService::Load(
    const kbench::v1::CompareResultsRequest& request) {
  std::map<std::string, kbench::v1::Result> results;
  for (const auto& pair : request.pairs()) {
    for (const std::string& name : {pair.a(), pair.b()}) {
      const std::string full = FullName(kResults, name);
      if (results.count(full) > 0) continue;
      KB_ASSIGN_OR_RETURN(results[full], store_.GetResult(full));
    }
  }
  return results;
}

absl::StatusOr<kbench::v1::CompareResultsResponse> ResultService::Compare(
    const kbench::v1::CompareResultsRequest& request) {
  KB_RETURN_IF_ERROR(CheckCompare(request));
  KB_ASSIGN_OR_RETURN(const auto results, Load(request));
  const std::map<std::string, double> between = BetweenSessions(coordinator_.Devices());
  const auto ratio_of = [&](const kbench::v1::Result& result) {
    const auto known = between.find(result.device());
    return known == between.end() ? stats::kBetweenSessionPrior : known->second;
  };
  std::vector<kbench::v1::BaselineComparison> family;
  for (const auto& pair : request.pairs()) {
    const kbench::v1::Result& a = results.at(FullName(kResults, pair.a()));
    const kbench::v1::Result& b = results.at(FullName(kResults, pair.b()));
    family.push_back(
        history::CompareResults(a, b,
                                {.margin_ratio = request.margin_ratio(),
                                 .force = request.force(),
                                 .between_session_ratio = std::max(ratio_of(a), ratio_of(b))}));
  }
  std::vector<kbench::v1::BaselineComparison*> members;
  for (kbench::v1::BaselineComparison& comparison : family) members.push_back(&comparison);
  history::BoundFalseDiscoveries(members);
  kbench::v1::CompareResultsResponse response;
  for (kbench::v1::BaselineComparison& comparison : family) {
    *response.add_comparisons() = std::move(comparison);
  }
  return response;
}

grpc::Status ResultService::CompareResults(grpc::ServerContext*,
                                           const kbench::v1::CompareResultsRequest* request,
                                           kbench::v1::CompareResultsResponse* response) {
  return Reply(Compare(*request), response);
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
