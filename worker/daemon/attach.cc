#include "worker/daemon/attach.h"

#include <algorithm>
#include <utility>

namespace kbench {

std::string FileName(const std::string& prefix, std::string implementation,
                     const std::string& suffix) {
  std::replace(implementation.begin(), implementation.end(), '/', '_');
  return prefix + implementation + suffix;
}

void AddArtifact(const std::string& name, const std::string& media_type, std::string content,
                 v1::Result* result, v1::AttemptResult* attempt) {
  v1::Artifact& artifact = *attempt->add_artifacts();
  artifact.set_name(name);
  artifact.set_media_type(media_type);
  artifact.set_size_bytes(static_cast<std::int64_t>(content.size()));
  artifact.set_content(std::move(content));
  result->add_artifacts(name);
}

}  // namespace kbench
