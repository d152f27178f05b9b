#include "kernels/cublas/lt_tuned_matmul.h"

#include <charconv>

#include "kernels/cublas/lt_instance.h"

namespace kbench {
namespace {

// Where the heuristic knows fewer (8 on an H200 with cuBLAS 13.1), the rest are refused by create.
constexpr int kProposals = 16;

std::vector<std::string> Places(const Problem&) {
  std::vector<std::string> places;
  for (int place = 0; place < kProposals; ++place) places.push_back(std::to_string(place));
  return places;
}

Expected<std::unique_ptr<Instance>, ImplementationError> Create(const Problem& problem,
                                                                const OperandPointers& operands,
                                                                const DeviceContext& context) {
  int place = 0;
  const std::string& text = context.candidate;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, place);
  const bool number = error == std::errc() && stopped == end && place >= 0 && place < kProposals;
  if (!text.empty() && !number) {
    return ImplementationError{
        ImplementationError::Kind::kUnsupported,
        "cublaslt-tuned has no candidate '" + text + "': 0 to " + std::to_string(kProposals - 1),
        0};
  }
  return cublas::CreateLt(problem, operands, place);
}

}  // namespace

Implementation CublasLtTunedMatmul() {
  Implementation line = cublas::LtLine();
  line.name = line.family = "cublaslt-tuned";
  line.summary = "cublasLtMatmul, the fastest of up to 16 algorithms that its heuristic proposes";
  line.candidates = Places;
  line.create = Create;
  return line;
}

}  // namespace kbench
