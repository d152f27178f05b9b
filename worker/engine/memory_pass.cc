#include "worker/engine/memory_pass.h"

#include <immintrin.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

namespace kbench::engine {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Stores that go past the caches: no line is read before it is written over.
void StreamWrite(char* to, const char* from, std::size_t bytes) {
  __m128i value = _mm_setzero_si128();
  for (std::size_t i = 0; i < bytes; i += sizeof(value)) {
    if (from != nullptr) value = _mm_load_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i), value);
  }
  _mm_sfence();
}

// Several lines in flight at once.
const void* WideRead(const char* data, std::size_t bytes) {
  constexpr std::size_t kStreams = 4;
  const std::size_t part = bytes / kStreams / 64 * 64;
  __m128i any[kStreams] = {};
  for (std::size_t i = 0; i < part; i += 64) {
    for (std::size_t stream = 0; stream < kStreams; ++stream) {
      const auto* line = reinterpret_cast<const __m128i*>(data + stream * part + i);
      for (int word = 0; word < 4; ++word) {
        any[stream] = _mm_or_si128(any[stream], _mm_load_si128(line + word));
      }
    }
  }
  const __m128i all = _mm_or_si128(_mm_or_si128(any[0], any[1]), _mm_or_si128(any[2], any[3]));
  // The rest of a share that is no multiple of four lines.
  const void* found = std::memchr(data + kStreams * part, 0xFF, bytes - kStreams * part);
  return _mm_movemask_epi8(all) != 0 ? data : found;
}

// One thread's share; what it returns keeps a read from being optimised away.
const void* Pass(PassKind kind, char* data, char* other, std::size_t bytes) {
  switch (kind) {
    case PassKind::kRead:
      return std::memchr(data, 0xFF, bytes);  // the C library's widest loads, in any build
    case PassKind::kWideRead:
      return WideRead(data, bytes);
    case PassKind::kWrite:
      return std::memset(data, 0, bytes);
    case PassKind::kStreamingWrite:
      StreamWrite(data, nullptr, bytes);
      return data;
    case PassKind::kCopy:
      return std::memcpy(other, data, bytes);
    case PassKind::kStreamingCopy:
      StreamWrite(other, data, bytes);
      return other;
  }
  return nullptr;
}

}  // namespace

double MemoryPassSeconds(PassKind kind, char* data, std::int64_t bytes, int threads) {
  const bool copies = kind == PassKind::kCopy || kind == PassKind::kStreamingCopy;
  const auto span = static_cast<std::size_t>(copies ? bytes / 2 : bytes);
  const std::size_t share = span / static_cast<std::size_t>(threads);
  std::atomic<int> ready{0};
  std::atomic<bool> go{false};
  std::atomic<const void*> sink{nullptr};
  std::vector<SteadyClock::time_point> ends(static_cast<std::size_t>(threads));
  const auto work = [&](std::size_t i) {
    ready.fetch_add(1);
    while (!go.load()) std::this_thread::yield();
    char* from = data + i * share;
    sink.store(Pass(kind, from, from + span, share));
    ends[i] = SteadyClock::now();
  };
  std::vector<std::thread> helpers;
  for (int i = 1; i < threads; ++i) helpers.emplace_back(work, static_cast<std::size_t>(i));
  while (ready.load() < threads - 1) std::this_thread::yield();
  const auto begin = SteadyClock::now();
  go.store(true);
  work(0);
  for (std::thread& helper : helpers) helper.join();
  return std::chrono::duration<double>(*std::max_element(ends.begin(), ends.end()) - begin).count();
}

}  // namespace kbench::engine
