#include "worker/engine/cuda_device.h"

#include <algorithm>
#include <cstring>

#include "worker/engine/cuda_error.h"

namespace kbench::engine {
namespace {

// A note is so many bytes from each end of the output. More places would take longer to look at
// than what is to be caught.
constexpr std::size_t kNoteBytes = 2048;

}  // namespace

CudaDevice::~CudaDevice() {
  (void)cudaFree(digest_);
  (void)cudaFreeHost(note_);
  if (stream_ != nullptr) (void)cudaStreamDestroy(stream_);
}

EngineError CudaDevice::Open() {
  int count = 0;
  const cudaError_t found = cudaGetDeviceCount(&count);
  if (found != cudaSuccess || count == 0) {
    return {KB_DEVICE_ERROR, std::string("no CUDA device is visible: ") +
                                 (found != cudaSuccess ? cudaGetErrorString(found)
                                                       : "CUDA_VISIBLE_DEVICES hides it")};
  }
  // Waiting threads spin: a wake-up would lie in every end-to-end time.
  (void)cudaSetDeviceFlags(cudaDeviceScheduleSpin);
  if (EngineError error = FromCuda(cudaSetDevice(0), "creating the context")) return error;
  if (EngineError error = FromCuda(cudaFree(nullptr), "creating the context")) return error;
  // An ordinary stream, not a non-blocking one: what an implementation launches on the default
  // stream then waits for the blocker and lies inside the sample all the same.
  if (EngineError error = FromCuda(cudaStreamCreate(&stream_), "creating the stream")) return error;
  if (EngineError error = FromCuda(cudaMalloc(reinterpret_cast<void**>(&digest_), sizeof(*digest_)),
                                   "allocating")) {
    return error;
  }
  if (EngineError error = FromCuda(cudaMallocHost(reinterpret_cast<void**>(&note_), 4 * kNoteBytes),
                                   "allocating")) {
    return error;
  }
  if (EngineError error = timeline_.Open(stream_)) return error;
  return PreloadKernels();
}

EngineError CudaDevice::PreloadKernels() {
  void* data = nullptr;
  if (EngineError error = Allocate(1 << 12, &data)) return error;
  OperandSpec spec;
  spec.extents = {16};
  std::uint64_t digest = 0;
  EngineError error = FillInput(spec, 0, 1, data);
  if (!error) error = Digest(data, spec.bytes(), &digest);
  if (!error) error = EnqueueNote({data, spec.bytes()});
  bool changed = false;
  if (!error) error = ChangedSinceNote({data, spec.bytes()}, &changed);
  Free(data, 1 << 12);
  return error;
}

std::int64_t CudaDevice::FreeBytes() {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
  return static_cast<std::int64_t>(free);
}

std::int64_t CudaDevice::TotalBytes() {
  std::size_t free = 0, total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return 0;
  return static_cast<std::int64_t>(total);
}

EngineError CudaDevice::Allocate(std::int64_t bytes, void** out) {
  EngineError error = FromCuda(cudaMalloc(out, static_cast<std::size_t>(bytes)),
                               "allocating " + std::to_string(bytes) + " bytes");
  if (error.code == KB_OUT_OF_MEMORY) {
    error.needed_bytes = bytes;
    error.free_bytes = FreeBytes();
  }
  return error;
}

void CudaDevice::Free(void* data, std::int64_t) {
  (void)cudaFree(data);  // of a poisoned context nothing can be freed, nor need be
}

EngineError CudaDevice::Wait(cudaError_t enqueued, const char* doing) {
  if (EngineError error = FromCuda(enqueued, doing)) return error;
  return FromCuda(cudaStreamSynchronize(stream_), doing);
}

EngineError CudaDevice::Set(void* data, unsigned char value, std::int64_t bytes) {
  return Wait(cudaMemsetAsync(data, value, static_cast<std::size_t>(bytes), stream_),
              "setting memory");
}

EngineError CudaDevice::EnqueueSet(void* data, unsigned char value, std::int64_t bytes) {
  return FromCuda(cudaMemsetAsync(data, value, static_cast<std::size_t>(bytes), stream_),
                  "setting memory");
}

// By a copy engine, not by a kernel: one that works on another stream may fill the whole device,
// and a kernel of ours would start only when it is done.
EngineError CudaDevice::EnqueueLook(const Buffer& buffer, unsigned char* out) {
  const auto bytes = static_cast<std::size_t>(buffer.bytes);
  const std::size_t piece = std::min(bytes, kNoteBytes);
  const char* last = static_cast<const char*>(buffer.data) + bytes - piece;
  // The end first: most kernels come there last.
  cudaError_t error = cudaMemcpyAsync(out, last, piece, cudaMemcpyDeviceToHost, stream_);
  if (error == cudaSuccess) {
    error = cudaMemcpyAsync(out + kNoteBytes, buffer.data, piece, cudaMemcpyDeviceToHost, stream_);
  }
  return FromCuda(error, "looking at the output");
}

EngineError CudaDevice::EnqueueNote(const Buffer& buffer) { return EnqueueLook(buffer, note_); }

EngineError CudaDevice::ChangedSinceNote(const Buffer& buffer, bool* changed) {
  unsigned char* now = note_ + 2 * kNoteBytes;
  if (EngineError error = EnqueueLook(buffer, now)) return error;
  if (EngineError error = FromCuda(cudaStreamSynchronize(stream_), "looking at the output")) {
    return error;
  }
  const std::size_t piece = std::min(static_cast<std::size_t>(buffer.bytes), kNoteBytes);
  *changed = std::memcmp(note_, now, piece) != 0 ||
             std::memcmp(note_ + kNoteBytes, now + kNoteBytes, piece) != 0;
  return {};
}

bool CudaDevice::NoteHolds(const Buffer& buffer, unsigned char value) {
  const std::size_t piece = std::min(static_cast<std::size_t>(buffer.bytes), kNoteBytes);
  const auto is_value = [value](unsigned char byte) { return byte == value; };
  return std::all_of(note_, note_ + piece, is_value) &&
         std::all_of(note_ + kNoteBytes, note_ + kNoteBytes + piece, is_value);
}

EngineError CudaDevice::FillInput(const OperandSpec& spec, int operand, std::uint64_t seed,
                                  void* data) {
  return Wait(EnqueueFill(spec, operand, seed, data, stream_), "filling the inputs");
}

EngineError CudaDevice::Digest(const void* data, std::int64_t bytes, std::uint64_t* digest) {
  if (EngineError error =
          FromCuda(cudaMemsetAsync(digest_, 0, sizeof(*digest_), stream_), "a digest")) {
    return error;
  }
  if (EngineError error = FromCuda(EnqueueDigest(data, bytes, digest_, stream_), "a digest")) {
    return error;
  }
  unsigned long long sum = 0;
  if (EngineError error = Download(digest_, sizeof(sum), &sum)) return error;
  *digest = sum + static_cast<std::uint64_t>(bytes);
  return {};
}

EngineError CudaDevice::Download(const void* data, std::int64_t bytes, void* host) {
  return Wait(
      cudaMemcpyAsync(host, data, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, stream_),
      "reading device memory");
}

}  // namespace kbench::engine
