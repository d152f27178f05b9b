// copy: the output is the input, bit for bit. The reference is a digest of each chunk, of all
// chunks up to 2^31 elements and of a sample of them beyond.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/reference/bulk.h"
#include "kernels/reference/inputs.h"
#include "kernels/reference/kernel_reference.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/parallel.h"

namespace kbench::reference {
namespace {

constexpr std::int64_t kChunk = std::int64_t{1} << 20;
constexpr std::int64_t kMostChunks = std::int64_t{1} << 11;
constexpr std::int64_t kPiece = 4096;

// Four independent lanes of 64 bits; a zero byte counts as much as any other, and so does its
// place.
class Digest {
 public:
  void Add(const void* data, std::size_t bytes) {
    const char* at = static_cast<const char*>(data);
    for (; bytes >= 32; at += 32, bytes -= 32) {
      for (int lane = 0; lane < 4; ++lane) {
        std::uint64_t word;
        std::memcpy(&word, at + 8 * lane, 8);
        Mix(lane, word);
      }
    }
    for (; bytes > 0; ++at, --bytes) Mix(0, static_cast<unsigned char>(*at) + 1u);
  }
  std::uint64_t Value() {
    for (int lane = 1; lane < 4; ++lane) Mix(0, lanes_[lane]);
    return lanes_[0];
  }

 private:
  void Mix(int lane, std::uint64_t word) {
    lanes_[lane] = (std::rotl(lanes_[lane], 29) ^ word) * 0x9E3779B97F4A7C15u;
  }
  std::uint64_t lanes_[4] = {1, 2, 3, 4};
};

class CopyReference final : public KernelReference {
 public:
  CopyReference(const Problem& problem, std::uint64_t seed)
      : KernelReference(problem, seed),
        n_(output_spec().elements()),
        bytes_(Info(problem.dtype).storage_bytes),
        chunks_(SampleIndices((n_ + kChunk - 1) / kChunk, kMostChunks, seed, kRowStream)) {}

  std::size_t StateSize() const override { return chunks_.size(); }

  void Compute(int threads) override {
    state_.resize(chunks_.size());
    ParallelFor(static_cast<std::int64_t>(chunks_.size()), threads, [&](std::int64_t i) {
      const std::size_t at = static_cast<std::size_t>(i);
      std::vector<char> piece(kPiece * bytes_);
      Digest digest;
      const std::int64_t end = std::min(n_, (chunks_[at] + 1) * kChunk);
      for (std::int64_t begin = chunks_[at] * kChunk; begin < end; begin += kPiece) {
        const std::int64_t count = std::min(kPiece, end - begin);
        FillInput(operands_.front(), 0, seed_, piece.data(), begin, count);
        digest.Add(piece.data(), static_cast<std::size_t>(count) * bytes_);
      }
      state_[at] = std::bit_cast<double>(digest.Value());
    });
  }

  CheckResult Check(const void* output, int threads) const override {
    const std::int64_t bad = FirstNotFinite(problem_.dtype, output, n_, threads);
    if (bad >= 0) return NotFinite(Method(), bad);
    std::vector<std::uint8_t> wrong(chunks_.size());
    ParallelFor(static_cast<std::int64_t>(chunks_.size()), threads, [&](std::int64_t i) {
      const std::size_t at = static_cast<std::size_t>(i);
      const std::int64_t begin = chunks_[at] * kChunk;
      const std::int64_t end = std::min(n_, begin + kChunk);
      Digest digest;
      for (std::int64_t from = begin; from < end; from += kPiece) {
        const std::int64_t count = std::min(kPiece, end - from);
        digest.Add(ElementAt(problem_.dtype, output, from),
                   static_cast<std::size_t>(count) * bytes_);
      }
      wrong[at] = digest.Value() != std::bit_cast<std::uint64_t>(state_[at]);
    });
    Errors errors;
    for (std::size_t i = 0; i < chunks_.size() && errors.relative == 0; ++i) {
      if (wrong[i] != 0) errors = Differences(output, chunks_[i]);
    }
    return Judge(Method(), errors);
  }

 private:
  std::string Method() const {
    const std::int64_t all = (n_ + kChunk - 1) / kChunk;
    return static_cast<std::int64_t>(chunks_.size()) == all ? "full" : "digest";
  }

  // How a chunk with a wrong digest differs.
  Errors Differences(const void* output, std::int64_t chunk) const {
    const std::int64_t begin = chunk * kChunk, end = std::min(n_, begin + kChunk);
    std::vector<char> piece(kPiece * bytes_);
    std::vector<double> expected(kPiece), found(kPiece);
    std::int64_t differing = 0, first = -1;
    Difference total;
    for (std::int64_t from = begin; from < end; from += kPiece) {
      const std::int64_t count = std::min(kPiece, end - from);
      FillInput(operands_.front(), 0, seed_, piece.data(), from, count);
      for (std::int64_t i = 0; i < count; ++i) {
        if (std::memcmp(piece.data() + static_cast<std::size_t>(i) * bytes_,
                        ElementAt(problem_.dtype, output, from + i), bytes_) == 0) {
          continue;
        }
        ++differing;
        if (first < 0) first = from + i;
      }
      ToDoubles(problem_.dtype, piece.data(), expected.data(), count);
      ToDoubles(problem_.dtype, ElementAt(problem_.dtype, output, from), found.data(), count);
      const Difference part = Compare(found.data(), expected.data(), count);
      total.squared_output += part.squared_output;
      total.squared_reference += part.squared_reference;
    }
    Errors errors;
    errors.relative = static_cast<double>(differing) / static_cast<double>(end - begin);
    errors.output_norm = std::sqrt(total.squared_output);
    errors.reference_norm = std::sqrt(total.squared_reference);
    errors.where = "element " + std::to_string(first);
    return errors;
  }

  std::int64_t n_;
  std::size_t bytes_;
  std::vector<std::int64_t> chunks_;
};

}  // namespace

std::unique_ptr<KernelReference> MakeCopyReference(const Problem& problem, std::uint64_t seed) {
  return std::make_unique<CopyReference>(problem, seed);
}

}  // namespace kbench::reference
