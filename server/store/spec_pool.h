// Specifications that are the same, kept once: a hundred thousand waiting jobs are mostly the same
// few. Not thread-safe.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "kbench/v1/job.pb.h"

namespace kbench::store {

class SpecPool {
 public:
  using Spec = std::shared_ptr<const kbench::v1::JobSpec>;

  // The one with these serialized bytes; null where they cannot be parsed. It lives as long as
  // somebody holds it.
  Spec Get(std::string_view bytes);
  std::size_t size() const { return specs_.size(); }

 private:
  void Sweep();

  std::unordered_multimap<std::size_t, std::weak_ptr<const kbench::v1::JobSpec>> specs_;
  std::size_t sweep_at_ = 1024;
};

}  // namespace kbench::store
