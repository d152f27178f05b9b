#include "client/fetch.h"

namespace kbench::client {

absl::Status FetchArtifact(const Backend& backend, const std::string& name, std::ostream& out) {
  grpc::ClientContext context;
  kbench::v1::GetArtifactRequest request;
  request.set_name(name);
  auto reader = backend.results->GetArtifact(&context, request);
  kbench::v1::ArtifactChunk chunk;
  while (reader->Read(&chunk))
    out.write(chunk.content().data(), static_cast<std::streamsize>(chunk.content().size()));
  const grpc::Status status = reader->Finish();
  if (!status.ok()) return Explain(FromGrpc(status), backend.address);
  if (!out.good()) return absl::InternalError("could not write " + name);
  return absl::OkStatus();
}

}  // namespace kbench::client
