// The grammar of sizes, kernel by kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/catalog/catalog.h"

namespace kbench {
namespace {

using testing::Contains;
using testing::HasSubstr;

struct Good {
  const char* kernel;
  const char* size;
  const char* canonical;
};

TEST(Size, IsReadByPositionAndByName) {
  const Good cases[] = {
      {"null", "", "n=1"},
      {"null", "4096", "n=1"},
      {"null", "n=7", "n=1"},
      {"copy", "64Mi", "n=67108864"},
      {"copy", "n=3k", "n=3000"},
      {"sum", "2^26", "n=67108864"},
      {"sum", "1", "n=1"},
      {"softmax", "4096", "rows=4096,cols=4096"},
      {"softmax", "128x65536", "rows=128,cols=65536"},
      {"softmax", "128X64Ki", "rows=128,cols=65536"},
      {"softmax", "cols=5,rows=3", "rows=3,cols=5"},
      {"matmul", "4096", "m=4096,n=4096,k=4096,layout=nn"},
      {"matmul", "4096x2048x1024", "m=4096,n=2048,k=1024,layout=nn"},
      {"matmul", "k=3,m=1,n=2", "m=1,n=2,k=3,layout=nn"},
      {"matmul", "m=1,n=2,k=3,layout=tn", "m=1,n=2,k=3,layout=tn"},
      {"matmul", "layout=tt,m=1,n=2,k=3", "m=1,n=2,k=3,layout=tt"},
      {"matmul", "2^12,layout=nt", "m=4096,n=4096,k=4096,layout=nt"},
      {"attention", "8192", "b=1,h=16,s=8192,d=64"},
      {"attention", "8192,causal", "b=1,h=16,s=8192,d=64,causal"},
      {"attention", "2x8x1Kix128", "b=2,h=8,s=1024,d=128"},
      {"attention", "b=4,h=16,s=8192,d=128,causal", "b=4,h=16,s=8192,d=128,causal"},
      {"attention", "causal,b=4,h=16,s=8192,d=128", "b=4,h=16,s=8192,d=128,causal"},
      {"attention", "b=1,h=16,s=8,d=64,hkv=4", "b=1,h=16,s=8,d=64,hkv=4"},
      {"attention", "b=1,h=16,s=8,d=64,hkv=16", "b=1,h=16,s=8,d=64"},
      {"attention", "1024,hkv=2,causal", "b=1,h=16,s=1024,d=64,hkv=2,causal"},
      {"chain", "1Mi", "n=1048576,depth=30"},
      {"chain", "1Mi,depth=8", "n=1048576,depth=8"},
      {"chain", "depth=64,n=5", "n=5,depth=64"},
  };
  for (const Good& c : cases) {
    auto problem = MakeProblem(c.kernel, "fp32", c.size, "");
    ASSERT_TRUE(problem.ok()) << c.kernel << " " << c.size << ": " << problem.error().message;
    EXPECT_EQ(problem->shape.Canonical(), c.canonical) << c.kernel << " " << c.size;
  }
}

TEST(Size, EightBitProductsAreContiguousAlongKUnlessTheLayoutSaysOtherwise) {
  for (const char* dtype : {"fp8e4m3", "int8"}) {
    EXPECT_EQ(MakeProblem("matmul", dtype, "64", "")->shape.Canonical(),
              "m=64,n=64,k=64,layout=nt");
    EXPECT_EQ(MakeProblem("matmul", dtype, "64,layout=tn", "")->shape.layout, "tn");
  }
  EXPECT_EQ(MakeProblem("matmul", "bf16", "64", "")->shape.layout, "nn");
}

// A result names its canonical shape, and a replay types it again.
TEST(Size, CanonicalShapesAreReadAgain) {
  for (const auto& [kernel, size] :
       {std::pair{"null", ""}, std::pair{"copy", "3k"}, std::pair{"sum", "7"},
        std::pair{"softmax", "3x5"}, std::pair{"matmul", "1x2x3,layout=tn"},
        std::pair{"attention", "9,causal,hkv=8"}}) {
    auto first = MakeProblem(kernel, "fp32", size, "");
    ASSERT_TRUE(first.ok()) << kernel << first.error().message;
    auto second = MakeProblem(kernel, "fp32", first->shape.Canonical(), "");
    ASSERT_TRUE(second.ok()) << kernel << second.error().message;
    EXPECT_EQ(first->shape, second->shape);
  }
}

struct Bad {
  const char* kernel;
  const char* size;
  const char* says;     // part of the message
  const char* nearest;  // one of the suggestions, or null
};

TEST(Size, BadOnesAreRefusedWithAReason) {
  const Bad cases[] = {
      {"copy", "", "missing", nullptr},
      {"copy", "0", "zero", "1"},
      {"copy", "-1", "negative", "1"},
      {"copy", "abc", "not a whole number", "1"},
      {"copy", "4096abc", "not a whole number", "4096"},
      {"copy", "99999999999999999999999", "too large", "2^62"},
      {"copy", "2^41", "at most 2^40", "2^40"},
      {"copy", "1x2", "takes no size of 2 extents", nullptr},
      {"copy", "m=3", "no dimension 'm'", "n"},
      {"copy", "n=", "missing", "1"},
      {"copy", "n=0", "zero", "1"},
      {"copy", "n=1,n=2", "twice", nullptr},
      {"copy", "n=1,", "empty field", nullptr},
      {"copy", ",", "empty field", nullptr},
      {"copy", "4096,causal", "'causal' is not name=value", nullptr},
      {"copy", "4096,layout=nn", "no dimension 'layout'", nullptr},
      {"sum", "2^26,n=5", "by name and by position", nullptr},
      {"softmax", "1x2x3", "takes no size of 3 extents", nullptr},
      {"softmax", "rows=4", "dimension cols is missing", "cols=1"},
      {"softmax", "4096x", "missing", "1"},
      {"softmax", "x4096", "missing", "1"},
      {"matmul", "4096x4096", "takes no size of 2 extents", nullptr},
      {"matmul", "4096x0x4096", "zero", "1"},
      {"matmul", "m=1,n=2", "dimension k is missing", "k=1"},
      {"matmul", "m=1,k=2,kk=3", "no dimension 'kk'", "k"},
      {"matmul", "m=1,n=2,k=3,layout=xx", "no layout 'xx'", "nn"},
      {"matmul", "m=1,n=2,k=3,layout=", "no layout ''", "nn"},
      {"matmul", "m=1,n=2,k=3,layout=nn,layout=tt", "twice", nullptr},
      {"matmul", "m=1,n=2,k=3,causal", "'causal' is not name=value", nullptr},
      {"matmul", "m=1,n=2,k=3 ", "not a whole number", nullptr},
      {"matmul", "m=1=2,n=1,k=1", "not a whole number", nullptr},
      {"matmul", "layout=nn", "dimension m, n, k is missing", "m=1"},
      {"matmul", "2^30x2^30x1", "larger than 2^50 bytes", nullptr},
      {"matmul", "2^40", "larger than 2^50 bytes", nullptr},
      {"attention", "1x2x3", "takes no size of 3 extents", nullptr},
      {"attention", "causal", "dimension b, h, s, d is missing", "b=1"},
      {"attention", "8192,causal,causal", "twice", nullptr},
      {"attention", "8192,casual", "neither name=value nor 'causal'", "causal"},
      {"attention", "8192,hkv=3", "does not divide h=16", "hkv=2"},
      {"attention", "8192,hkv=32", "does not divide h=16", "hkv=16"},
      {"chain", "1Mi,depth=65", "depth=65 is too deep: at most 64", "depth=64"},
      {"chain", "depth=5", "dimension n is missing", "n=1"},
      {"chain", "2x3", "takes no size of 2 extents", nullptr},
      {"attention", "b=2^40,h=2^40,s=2^40,d=2^40", "larger than 2^50 bytes", nullptr},
      {"null", "abc", "not a whole number", nullptr},
      {"null", "0", "zero", nullptr},
  };
  for (const Bad& c : cases) {
    auto problem = MakeProblem(c.kernel, "fp32", c.size, "");
    ASSERT_FALSE(problem.ok()) << c.kernel << " " << c.size;
    const CatalogError& error = problem.error();
    EXPECT_EQ(error.field, "size") << c.size;
    EXPECT_EQ(error.reason, "BAD_SIZE") << c.size;
    EXPECT_THAT(error.message, HasSubstr(c.says)) << c.kernel << " " << c.size;
    if (c.nearest != nullptr) {
      EXPECT_THAT(error.nearest, Contains(c.nearest)) << c.kernel << " " << c.size;
    }
  }
}

TEST(Size, Fp16SoftmaxRefusesRowsItCannotHold) {
  EXPECT_TRUE(MakeProblem("softmax", "fp16", "1x2^20", "").ok());
  auto problem = MakeProblem("softmax", "fp16", "3x2^21", "");
  ASSERT_FALSE(problem.ok());
  EXPECT_THAT(problem.error().nearest, Contains("3x1048576"));
  EXPECT_TRUE(MakeProblem("softmax", "bf16", "3x2^21", "").ok());
}

}  // namespace
}  // namespace kbench
