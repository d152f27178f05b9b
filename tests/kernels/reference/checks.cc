#include "tests/kernels/reference/checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/reference/random.h"

namespace kbench::reference {
namespace {

double Read(DType storage, const void* at) {
  if (storage == DType::kFp64) return *static_cast<const double*>(at);
  if (storage == DType::kFp16) return HalfBitsToFloat(*static_cast<const std::uint16_t*>(at));
  if (storage == DType::kBf16) return Bf16BitsToFloat(*static_cast<const std::uint16_t*>(at));
  if (storage == DType::kInt8) return *static_cast<const std::int8_t*>(at);
  if (storage == DType::kFp8E4M3) return Fp8E4M3BitsToFloat(*static_cast<const std::uint8_t*>(at));
  return *static_cast<const float*>(at);
}

std::vector<double> Input(const OperandSpec& spec, std::uint32_t operand, std::uint64_t seed,
                          const std::function<double(double)>& see) {
  std::vector<char> stored(static_cast<std::size_t>(spec.bytes()));
  std::vector<double> values(static_cast<std::size_t>(spec.elements()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    StoreInputAt(spec.storage, spec.positive, seed, operand, i, stored.data());
    values[i] = Read(spec.storage, stored.data() + i * Info(spec.storage).storage_bytes);
    if (see) values[i] = see(values[i]);
  }
  return values;
}

std::vector<double> Matmul(const Shape& shape, const std::vector<double>& a,
                           const std::vector<double>& b) {
  const std::size_t m = static_cast<std::size_t>(shape["m"]),
                    n = static_cast<std::size_t>(shape["n"]),
                    k = static_cast<std::size_t>(shape["k"]);
  std::vector<double> c(m * n);
  std::vector<double> row(n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      const double factor = shape.layout[0] == 't' ? a[p * m + i] : a[i * k + p];
      for (std::size_t j = 0; j < n; ++j) {
        row[j] = shape.layout[1] == 't' ? b[j * k + p] : b[p * n + j];
      }
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += factor * row[j];
    }
  }
  return c;
}

std::vector<double> Softmax(const Shape& shape, std::vector<double> x) {
  const std::size_t cols = static_cast<std::size_t>(shape["cols"]);
  for (std::size_t begin = 0; begin < x.size(); begin += cols) {
    long double sum = 0;
    for (std::size_t j = 0; j < cols; ++j) sum += x[begin + j] = std::exp(x[begin + j]);
    for (std::size_t j = 0; j < cols; ++j) x[begin + j] /= static_cast<double>(sum);
  }
  return x;
}

std::vector<double> Attention(const Shape& shape, const std::vector<double>& q,
                              const std::vector<double>& k, const std::vector<double>& v) {
  const std::size_t b = static_cast<std::size_t>(shape["b"]),
                    h = static_cast<std::size_t>(shape["h"]),
                    s = static_cast<std::size_t>(shape["s"]),
                    d = static_cast<std::size_t>(shape["d"]);
  const std::size_t kv = shape["hkv"] != 0 ? static_cast<std::size_t>(shape["hkv"]) : h;
  std::vector<double> o(b * h * s * d), p(s);
  for (std::size_t batch = 0; batch < b; ++batch) {
    for (std::size_t head = 0; head < h; ++head) {
      const std::size_t keys = (batch * kv + head / (h / kv)) * s * d;
      for (std::size_t i = 0; i < s; ++i) {
        const std::size_t row = ((batch * h + head) * s + i) * d;
        const std::size_t seen = shape.causal ? i + 1 : s;
        double sum = 0;
        for (std::size_t j = 0; j < seen; ++j) {
          double score = 0;
          for (std::size_t x = 0; x < d; ++x) score += q[row + x] * k[keys + j * d + x];
          sum += p[j] = std::exp(score / std::sqrt(static_cast<double>(d)));
        }
        for (std::size_t j = 0; j < seen; ++j) {
          for (std::size_t x = 0; x < d; ++x) o[row + x] += p[j] / sum * v[keys + j * d + x];
        }
      }
    }
  }
  return o;
}

// Written out, not taken from chain_steps.h.
std::vector<double> Chained(const Shape& shape, std::vector<double> x) {
  for (double& y : x) {
    for (std::int64_t step = 0; step < shape["depth"]; ++step) {
      if (step % 5 == 0) y *= 1.25;
      if (step % 5 == 1) y += 0.375;
      if (step % 5 == 2 && y < 0) y *= 0.75;
      if (step % 5 == 3) y *= 0.875;
      if (step % 5 == 4) y = 0.5 - y;
    }
  }
  return x;
}

}  // namespace

Problem Make(const std::string& kernel, const std::string& dtype, const std::string& size) {
  auto problem = MakeProblem(kernel, dtype, size, "");
  EXPECT_TRUE(problem.ok()) << kernel << " " << dtype << " " << size;
  return *problem;
}

double RoundToTf32(double value) {
  const std::uint32_t bits = BitCast<std::uint32_t>(static_cast<float>(value));
  return BitCast<float>((bits + 0x1000u) & 0xffffe000u);
}

double TruncateToTf32(double value) {
  return BitCast<float>(BitCast<std::uint32_t>(static_cast<float>(value)) & 0xffffe000u);
}

std::vector<double> Compute(const Problem& problem, std::uint64_t seed,
                            const std::function<double(double)>& see) {
  std::vector<std::vector<double>> in;
  for (const OperandSpec& spec : FindKernel(problem.kernel)->operands(problem)) {
    if (!spec.output) in.push_back(Input(spec, static_cast<std::uint32_t>(in.size()), seed, see));
  }
  if (problem.kernel == "matmul") return Matmul(problem.shape, in[0], in[1]);
  if (problem.kernel == "softmax") return Softmax(problem.shape, in[0]);
  if (problem.kernel == "attention") return Attention(problem.shape, in[0], in[1], in[2]);
  if (problem.kernel == "copy") return in[0];
  if (problem.kernel == "chain") return Chained(problem.shape, in[0]);
  long double sum = 0;
  for (double value : in[0]) sum += value;
  return {static_cast<double>(sum)};
}

std::vector<char> Store(const Problem& problem, const std::vector<double>& values) {
  const DType storage = FindKernel(problem.kernel)->operands(problem).back().storage;
  const std::size_t bytes = Info(storage).storage_bytes;
  std::vector<char> stored(values.size() * bytes);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float narrow = static_cast<float>(values[i]);
    const std::uint16_t half = FloatToHalfBits(narrow), bf16 = FloatToBf16Bits(narrow);
    const std::int8_t integer = storage == DType::kInt8 ? static_cast<std::int8_t>(values[i]) : 0;
    const std::int32_t wide = storage == DType::kInt32 ? static_cast<std::int32_t>(values[i]) : 0;
    const void* from = &narrow;
    if (storage == DType::kFp64) from = &values[i];
    if (storage == DType::kFp16) from = &half;
    if (storage == DType::kBf16) from = &bf16;
    if (storage == DType::kInt8) from = &integer;
    if (storage == DType::kInt32) from = &wide;
    std::memcpy(stored.data() + i * bytes, from, bytes);
  }
  return stored;
}

namespace {

std::unique_ptr<Reference> Fresh(const Problem& problem, std::uint64_t seed) {
  auto reference = Reference::ComputeOrLoad(problem, seed, "", 2);
  EXPECT_TRUE(reference.ok()) << reference.error();
  return std::move(*reference);
}

void ExpectReason(const Reference& reference, const Problem& problem,
                  const std::vector<double>& values, const std::string& reasons) {
  const CheckResult result = reference.Check(Store(problem, values).data(), 2);
  EXPECT_FALSE(result.passed) << reasons;
  EXPECT_NE(reasons.find(result.reason), std::string::npos)
      << result.reason << " where expected " << reasons;
  EXPECT_FALSE(result.reason.empty());
  EXPECT_FALSE(result.message.empty());
  if (result.reason == "NOT_FINITE") {
    EXPECT_EQ(result.relative_error, -1);
  } else {
    EXPECT_GT(result.relative_error, result.tolerance);
  }
}

}  // namespace

CheckResult CheckValues(const Problem& problem, std::uint64_t seed,
                        const std::vector<double>& values) {
  return Fresh(problem, seed)->Check(Store(problem, values).data(), 2);
}

void ExpectSoundChecks(const Problem& problem, const std::string& method) {
  SCOPED_TRACE(problem.kernel + " " + Info(problem.dtype).name + " " + problem.shape.Canonical());
  const auto reference = Fresh(problem, 1);
  const std::vector<double> right = Compute(problem, 1);
  const CheckResult result = reference->Check(Store(problem, right).data(), 2);
  EXPECT_TRUE(result.passed) << result.reason << ": " << result.message;
  EXPECT_EQ(result.method, method);
  EXPECT_EQ(result.reason, "");
  EXPECT_EQ(result.tolerance, FindKernel(problem.kernel)->tolerance(problem));
  EXPECT_GE(result.relative_error, 0);
  EXPECT_LE(result.relative_error, result.tolerance);

  ExpectReason(*reference, problem, std::vector<double>(right.size(), 0.0), "NORM");
  std::vector<double> wrong = right;
  for (double& value : wrong) value *= 2;
  ExpectReason(*reference, problem, wrong, "NORM");
  ExpectReason(*reference, problem, Compute(problem, 2), "TOLERANCE NORM");
  if (right.size() > 8) {
    wrong = right;
    std::rotate(wrong.begin(), wrong.begin() + 1, wrong.end());
    ExpectReason(*reference, problem, wrong, "TOLERANCE NORM");
  }
  if (problem.dtype == DType::kInt8) return;
  wrong = right;
  wrong[wrong.size() / 2] = std::nan("");
  ExpectReason(*reference, problem, wrong, "NOT_FINITE");
  wrong[wrong.size() / 2] = std::numeric_limits<double>::infinity();
  ExpectReason(*reference, problem, wrong, "NOT_FINITE");
}

}  // namespace kbench::reference
