#include "server/store/spec_pool.h"

#include <algorithm>

namespace kbench::store {

SpecPool::Spec SpecPool::Get(std::string_view bytes) {
  const std::size_t hash = std::hash<std::string_view>()(bytes);
  const auto [begin, end] = specs_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const Spec known = it->second.lock();
    if (known != nullptr && known->SerializeAsString() == bytes) return known;
  }
  auto spec = std::make_shared<kbench::v1::JobSpec>();
  if (!spec->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) return nullptr;
  if (specs_.size() >= sweep_at_) Sweep();
  specs_.emplace(hash, spec);
  return spec;
}

void SpecPool::Sweep() {
  std::erase_if(specs_, [](const auto& item) { return item.second.expired(); });
  sweep_at_ = std::max<std::size_t>(1024, 2 * specs_.size());
}

}  // namespace kbench::store
