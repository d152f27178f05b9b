// fp32 scratch for a matmul in a half type on a library that has none: the inputs are widened into
// it before the product and the output narrowed from it after, inside the launch. Used from one
// thread.
#pragma once

#include <cstdint>

#include "kernels/cpu/convert.h"
#include "kernels/cpu/host_instance.h"
#include "kernels/cpu/matmul_operands.h"

namespace kbench {

class HalfMatmulScratch {
 public:
  static std::int64_t NeededBytes(const MatmulOperands& shape) {
    return 4 * (shape.a_elements() + shape.b_elements() + shape.c_elements());
  }

  // Throws std::bad_alloc.
  HalfMatmulScratch(DType dtype, const MatmulOperands& shape, const OperandPointers& operands,
                    int threads)
      : dtype_(dtype),
        threads_(threads),
        from_a_(static_cast<const std::uint16_t*>(operands.inputs[0])),
        from_b_(static_cast<const std::uint16_t*>(operands.inputs[1])),
        to_c_(static_cast<std::uint16_t*>(operands.output)),
        a_(4 * shape.a_elements()),
        b_(4 * shape.b_elements()),
        c_(4 * shape.c_elements()) {}

  float* a() const { return a_.as<float>(); }
  float* b() const { return b_.as<float>(); }
  float* c() const { return c_.as<float>(); }

  void WidenInputs() const {
    ConvertToFp32(dtype_, from_a_, a(), a_.bytes() / 4, threads_);
    ConvertToFp32(dtype_, from_b_, b(), b_.bytes() / 4, threads_);
  }
  void NarrowOutput() const { ConvertFromFp32(dtype_, c(), to_c_, c_.bytes() / 4, threads_); }

 private:
  DType dtype_;
  int threads_;
  const std::uint16_t* from_a_;
  const std::uint16_t* from_b_;
  std::uint16_t* to_c_;
  HostBuffer a_, b_, c_;
};

}  // namespace kbench
