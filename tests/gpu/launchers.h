// Our CUDA implementations for foreign stopwatches: a C ABI that makes an instance of any of them
// and launches it on the caller's stream, so that NVBench, do_bench and Nsight Compute time exactly
// the kernels, over exactly the data, that kbench times. A test library, no part of the service;
// called from Python through ctypes (launchers.py). Whoever calls owns what it got: every
// kbl_create is matched by a kbl_destroy, every kbl_allocate by a kbl_free. One thread at a time,
// on the device that is current.
//
// Names are the catalog's: kernel "matmul", dtype "bf16", shape "4096", implementation "cublas".
// A function that can fail returns a negative number or null, and says in `error` (at most `size`
// bytes with the closing 0) what was wrong and what would be right.
#pragma once

#include <cstddef>
#include <cstdint>

#define KBL_API extern "C" __attribute__((visibility("default")))

struct kbl_launcher;

// The operands of a problem in the catalog's order, the output last: returns how many, and writes
// the bytes of each. `null` has none.
KBL_API int kbl_operands(const char* kernel, const char* dtype, const char* shape,
                         std::int64_t* bytes, int capacity, char* error, std::size_t size);

// Device memory for the operands: inputs filled as kbench fills them from this seed (uniform in
// [-1, 1), or [0, 1) where a sum would cancel), the output zero. Returns 0.
KBL_API int kbl_allocate(const char* kernel, const char* dtype, const char* shape,
                         std::uint64_t seed, void** operands, int count, char* error,
                         std::size_t size);
KBL_API void kbl_free(void** operands, int count);

// An instance over device memory that the caller keeps alive until kbl_destroy.
KBL_API kbl_launcher* kbl_create(const char* kernel, const char* dtype, const char* shape,
                                 const char* implementation, void** operands, int count,
                                 char* error, std::size_t size);
KBL_API void kbl_destroy(kbl_launcher* launcher);

// Enqueues one launch on the cudaStream_t (null: the legacy default stream); never waits. Returns
// 0, or an error that kbl_error_text() explains.
KBL_API int kbl_launch(kbl_launcher* launcher, void* stream);
KBL_API void kbl_error_text(kbl_launcher* launcher, int code, char* text, std::size_t size);

// "key=value" lines of what the implementation says of itself: library version, block, grid.
KBL_API void kbl_configuration(kbl_launcher* launcher, char* text, std::size_t size);

// `count` launches back to back on the default stream between two events, then waits. Returns 0 and
// the seconds between the events.
KBL_API int kbl_time_batch(kbl_launcher* launcher, int count, double* seconds, char* error,
                           std::size_t size);

// Waits for the device. Returns 0.
KBL_API int kbl_synchronize(char* error, std::size_t size);

// Where a profiler that was told to wait begins (1) and stops (0) to look.
KBL_API int kbl_profile(int on, char* error, std::size_t size);
