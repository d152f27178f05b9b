#include "kernels/reference/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace kbench::reference {

void ParallelFor(std::int64_t pieces, int threads, const std::function<void(std::int64_t)>& work) {
  std::atomic<std::int64_t> next{0};
  std::exception_ptr failure;
  std::mutex failure_mutex;
  const auto run = [&] {
    try {
      for (std::int64_t i = next++; i < pieces; i = next++) work(i);
    } catch (...) {
      next = pieces;
      const std::lock_guard<std::mutex> lock(failure_mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  const std::int64_t wanted = std::min<std::int64_t>(threads, pieces) - 1;
  try {
    for (std::int64_t i = 0; i < wanted; ++i) helpers.emplace_back(run);
  } catch (const std::system_error&) {
    // No more threads to be had: those there are do it.
  }
  run();
  for (std::thread& helper : helpers) helper.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kbench::reference
