#include "kernels/reference/checker.h"

#include <exception>
#include <new>
#include <utility>

#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/reference_file.h"

namespace kbench::reference {
namespace {

using Maker = std::unique_ptr<KernelReference> (*)(const Problem&, std::uint64_t);
constexpr std::pair<const char*, Maker> kMakers[] = {
    {"null", MakeNullReference},     {"copy", MakeCopyReference},
    {"sum", MakeSumReference},       {"softmax", MakeSoftmaxReference},
    {"matmul", MakeMatmulReference}, {"attention", MakeAttentionReference},
    {"chain", MakeChainReference}};

std::unique_ptr<KernelReference> Make(const Problem& problem, std::uint64_t seed) {
  for (const auto& [kernel, make] : kMakers) {
    if (problem.kernel == kernel) return make(problem, seed);
  }
  return nullptr;
}

}  // namespace

Reference::Reference(std::unique_ptr<KernelReference> kernel, bool loaded)
    : kernel_(std::move(kernel)), loaded_(loaded) {}

Reference::~Reference() = default;

Expected<std::unique_ptr<Reference>, std::string> Reference::ComputeOrLoad(const Problem& problem,
                                                                           std::uint64_t seed,
                                                                           const std::string& dir,
                                                                           int threads) try {
  std::unique_ptr<KernelReference> kernel = Make(problem, seed);
  if (!kernel) return "there is no reference for kernel " + problem.kernel;
  const std::string name = problem.kernel + "-" + Info(problem.dtype).name;
  const std::string key = name + " " + problem.shape.Canonical() + " seed=" + std::to_string(seed);
  const std::string path = dir.empty() ? "" : ReferencePath(dir, name, key);
  const bool loaded =
      !path.empty() && LoadReference(path, key, kernel->StateSize(), &kernel->state());
  if (!loaded) {
    kernel->Compute(threads);
    if (!path.empty()) SaveReference(path, key, kernel->state());
  }
  return std::unique_ptr<Reference>(new Reference(std::move(kernel), loaded));
} catch (const std::bad_alloc&) {
  return "there is not enough memory for the reference of " + problem.kernel + " " +
         problem.shape.Canonical() + ": choose a smaller size";
} catch (const std::exception& error) {
  return "the reference of " + problem.kernel + " failed: " + error.what();
}

CheckResult Reference::Check(const void* host_output, int threads) const try {
  return kernel_->Check(host_output, threads);
} catch (const std::exception& error) {
  CheckResult result;
  result.method = "none";
  result.reason = "CHECK_FAILED";
  result.message = std::string("the output could not be checked: ") + error.what();
  return result;
}

}  // namespace kbench::reference
