#include "worker/engine/digest.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace kbench::engine {
namespace {

TEST(DigestTest, SeesEveryByteItsPlaceAndTheLength) {
  std::vector<unsigned char> data(37, 0);
  std::set<std::uint64_t> seen = {HostDigest(data.data(), 37)};
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = 1;
    EXPECT_TRUE(seen.insert(HostDigest(data.data(), 37)).second) << i;
    data[i] = 0;
  }
  for (std::int64_t bytes = 0; bytes < 37; ++bytes) {
    EXPECT_TRUE(seen.insert(HostDigest(data.data(), bytes)).second) << bytes;
  }
}

TEST(DigestTest, SwappedWordsDiffer) {
  const std::uint64_t one[2] = {1, 2}, other[2] = {2, 1};
  EXPECT_NE(HostDigest(one, sizeof(one)), HostDigest(other, sizeof(other)));
}

// The sum may be taken word by word in any order: what the GPU does.
TEST(DigestTest, IsTheSumOfItsMixedWords) {
  std::vector<unsigned char> data(1003);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<unsigned char>(i * 31 + 5);
  const auto bytes = static_cast<std::int64_t>(data.size());
  std::uint64_t sum = static_cast<std::uint64_t>(bytes);
  for (std::int64_t i = (bytes + 7) / 8 - 1; i >= 0; --i) {
    sum += MixWord(LoadWord(data.data(), bytes, i), static_cast<std::uint64_t>(i));
  }
  EXPECT_EQ(sum, HostDigest(data.data(), bytes));
}

}  // namespace
}  // namespace kbench::engine
