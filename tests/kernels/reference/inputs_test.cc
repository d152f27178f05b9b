#include "kernels/reference/inputs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "kernels/reference/random.h"

namespace kbench::reference {
namespace {

constexpr DType kStorages[] = {DType::kFp64, DType::kFp32,    DType::kFp16,
                               DType::kBf16, DType::kFp8E4M3, DType::kInt8};

OperandSpec Spec(DType storage, bool positive, std::int64_t count) {
  return {"x", storage, {count}, false, positive};
}

// What a device makes element by element is what the host makes in bulk.
TEST(FillInput, GivesTheElementsOfStoreInputAt) {
  constexpr std::int64_t kCount = 10007;
  for (DType storage : kStorages) {
    for (bool positive : {false, true}) {
      const OperandSpec spec = Spec(storage, positive, kCount);
      std::vector<char> bulk(static_cast<std::size_t>(spec.bytes())), single(bulk.size());
      FillInput(spec, 1, 42, bulk.data(), 0, kCount);
      for (std::uint64_t i = 0; i < kCount; ++i) {
        StoreInputAt(storage, positive, 42, 1, i, single.data());
      }
      EXPECT_EQ(bulk, single) << Info(storage).name << " " << positive;
    }
  }
}

TEST(FillInput, DoesNotDependOnHowItIsCut) {
  constexpr std::int64_t kCount = 3 * 1024 * 1024 + 5;
  for (DType storage : {DType::kFp64, DType::kFp16, DType::kInt8}) {
    const OperandSpec spec = Spec(storage, false, kCount);
    const std::size_t bytes = Info(storage).storage_bytes;
    std::vector<char> whole(static_cast<std::size_t>(spec.bytes())), parts(whole.size());
    FillInput(spec, 0, 7, whole.data(), 0, kCount, 3);
    std::int64_t begin = 0;
    for (std::int64_t count : {1L, 2L, 3L, 4095L, 1L, 70001L, kCount}) {
      count = std::min<std::int64_t>(count, kCount - begin);
      FillInput(spec, 0, 7, parts.data() + static_cast<std::size_t>(begin) * bytes, begin, count);
      begin += count;
    }
    EXPECT_TRUE(whole == parts) << Info(storage).name;
  }
}

TEST(FillInput, DiffersBySeedAndOperand) {
  const OperandSpec spec = Spec(DType::kFp32, false, 1000);
  std::vector<float> a(1000), b(1000), c(1000);
  FillInput(spec, 0, 1, a.data(), 0, 1000);
  FillInput(spec, 0, 2, b.data(), 0, 1000);
  FillInput(spec, 1, 1, c.data(), 0, 1000);
  int same = 0;
  for (std::size_t i = 0; i < 1000; ++i) same += (a[i] == b[i]) + (a[i] == c[i]);
  EXPECT_LT(same, 5);
}

TEST(InputValues, AreTheStoredNumbers) {
  for (DType storage : kStorages) {
    const OperandSpec spec = Spec(storage, false, 5000);
    std::vector<double> values(3000);
    InputValues(spec, 0, 5, 1001, 3000, values.data());
    for (std::uint64_t i = 0; i < 3000; ++i) {
      const float uniform = UniformAt(5, 0, 1001 + i);
      double expected = uniform;
      if (storage == DType::kFp64) expected = Uniform64At(5, 0, 1001 + i);
      if (storage == DType::kFp16) expected = HalfBitsToFloat(FloatToHalfBits(uniform));
      if (storage == DType::kBf16) expected = Bf16BitsToFloat(FloatToBf16Bits(uniform));
      if (storage == DType::kFp8E4M3) expected = Fp8E4M3BitsToFloat(FloatToFp8E4M3Bits(uniform));
      if (storage == DType::kInt8) expected = WordToInt8(WordAt(5, 0, 1001 + i), false);
      ASSERT_EQ(values[i], expected) << Info(storage).name << " " << i;
    }
  }
}

}  // namespace
}  // namespace kbench::reference
