// Two kernels of one translation unit, one of them known to it alone: what the tests look for.
extern "C" __global__ void SampleKernel(float* x) { x[threadIdx.x] *= 2; }

namespace {
__global__ void HiddenKernel(int* x) { x[threadIdx.x] += 1; }
}  // namespace

void LaunchBoth(float* x, int* y) {
  SampleKernel<<<1, 32>>>(x);
  HiddenKernel<<<1, 32>>>(y);
}
