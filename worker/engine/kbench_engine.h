/* The C ABI of the measuring engine: the one stopwatch, input generator and output checker that
 * every runner uses, C++ and Python alike. libkbench-engine.so holds the CPU timeline,
 * libkbench-engine-cuda.so the CPU and the CUDA timeline; both export these functions and nothing
 * else. An engine serves one case at a time and is used from one thread. Times are seconds, sizes
 * bytes. */
#ifndef KBENCH_ENGINE_H_
#define KBENCH_ENGINE_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KB_API __attribute__((visibility("default")))

typedef struct kb_engine kb_engine;

typedef enum {
  KB_OK = 0,
  KB_INVALID_ARGUMENT = 1,
  KB_OUT_OF_MEMORY = 2, /* kb_needed_bytes and kb_free_bytes tell the numbers */
  KB_LAUNCH_FAILED = 3, /* the callback returned an error: the time is thrown away */
  KB_DEVICE_ERROR = 4,  /* the context is poisoned: the process must end */
  KB_TIMEOUT = 5,       /* the blocker ran out even at one sample */
  KB_IO_ERROR = 6,
  KB_NOT_CAPTURABLE = 7 /* mode graph: the launch cannot be captured in a graph */
} kb_status;

/* Enqueues one launch on `stream` (a cudaStream_t, NULL on a CPU). 0 is success; anything else ends
 * the burst with KB_LAUNCH_FAILED. */
typedef int (*kb_launch)(void* user, void* stream);

typedef struct {
  const char* kernel;
  const char* dtype;
  const char* shape; /* canonical */
  const char* mode;  /* "cold", "hot", "graph", "steady" */
  const char* flush; /* "clean", "dirty", "none" */
  uint64_t seed;
  const char* reference_dir;  /* may be NULL: the reference is not shared */
  int64_t memory_limit_bytes; /* 0: what is free */
  int64_t flush_bytes;        /* each half of a flush; 0: twice the L2 */
} kb_case;

typedef struct {
  int32_t passed;
  double relative_error; /* -1: the output holds NaN or infinities */
  double tolerance;
  char method[32];
  char reason[32];
  char message[256];
} kb_check;

typedef struct {
  int32_t samples;
  double max_seconds;
} kb_burst_spec;

typedef struct {
  double* device_seconds; /* in: room for spec.samples; out: accepted samples in order */
  double* submit_seconds; /* likewise; untouched where submit_count is 0 */
  int32_t count;
  int32_t submit_count;
  int32_t discarded;
  double seconds; /* wall time of the burst */
  uint32_t flags; /* KB_FLAG_* */
  /* Share of `seconds` in which the device ran the launches themselves. */
  double duty_ratio;
  /* Cycles a second of the device's cores during the burst, by their own counters; 0: not known. */
  double clock_hertz;
} kb_burst_record;

/* A launch that waits for the device ends its burst after so long (CUDA). */
#define KB_BLOCKER_SECONDS 2.0

#define KB_FLAG_HOST_STALL 1u
#define KB_FLAG_MIGRATED 2u
#define KB_FLAG_BLOCKER_TIMEOUT 4u
#define KB_FLAG_STOLEN 8u /* CPU: the hypervisor or another task took the core */
/* CUDA: a launch works on another stream, which its time does not hold. */
#define KB_FLAG_SIDE_STREAM 16u
/* CUDA: somebody asked for L2 lines that persist, which would survive a flush. */
#define KB_FLAG_PERSISTING_L2 32u

typedef struct {
  /* "cuda-events", "cuda-graph-rotation", "cuda-back-to-back", "steady-clock",
   * "steady-clock-back-to-back" */
  char mechanism[32];
  double quantum_seconds;
  int64_t flush_bytes;
  int64_t footprint_bytes;
  int64_t device_memory_bytes;
  int32_t threads;
  int32_t launches_per_sample; /* 1, except in modes graph and steady */
  int32_t operand_sets;        /* mode graph rotates through so many */
} kb_facts;

#define KB_KNOWN_DURATIONS 4

/* What the stopwatch costs and what the device can do. Seconds, bytes, byte/s; 0: not measured on
 * this kind of device. See kbench.v1.Calibration for the meaning of each. */
typedef struct {
  int32_t passed;
  char failed_step[32];
  char message[256];
  double event_floor_seconds;
  double null_kernel_seconds;
  double quantum_seconds;
  double timer_tick_seconds;
  double event_cost_seconds;
  int32_t known_count;
  double known_expected_seconds[KB_KNOWN_DURATIONS];
  double known_measured_seconds[KB_KNOWN_DURATIONS];
  double known_allowed_seconds[KB_KNOWN_DURATIONS];
  int64_t flush_bytes;
  double flush_cold_ratio;
  double read_bandwidth;
  double write_bandwidth;
  double copy_bandwidth;
} kb_calibration;

enum { KB_VERIFY_BEFORE = 1, KB_VERIFY_AFTER = 2, KB_VERIFY_NEW_SEED = 3 };

KB_API const char* kb_version(void);
/* `device`: "cpu" or "cuda" (the first visible one). Creates the context. On failure *out is NULL
 * and `error` says why. */
KB_API kb_status kb_open(const char* device, int32_t threads, kb_engine** out, char* error,
                         size_t error_size);
KB_API void kb_close(kb_engine* engine);
/* The message of the last call that failed; valid until the next call. */
KB_API const char* kb_error(const kb_engine* engine);
KB_API int64_t kb_needed_bytes(const kb_engine* engine);
KB_API int64_t kb_free_bytes(const kb_engine* engine);
/* What is free on the device now, whatever the last call did; 0: that cannot be asked. */
KB_API int64_t kb_device_free_bytes(const kb_engine* engine);

/* Allocates the operands between guard bands, fills the inputs from the seed, poisons the output
 * with 0xFF. */
KB_API kb_status kb_case_open(kb_engine* engine, const kb_case* spec);
KB_API void kb_case_close(kb_engine* engine);
KB_API int32_t kb_operand_count(const kb_engine* engine);
KB_API kb_status kb_operand(const kb_engine* engine, int32_t index, void** data, int64_t* bytes,
                            int32_t* is_output);
/* Mode graph rotates through complete operand sets, inputs and outputs, so that no launch finds
 * the last one's lines in the cache. A caller makes an instance for each set; the launch callback
 * asks for the set whose turn it is. All sets hold the same inputs. One set in the other modes. */
KB_API int32_t kb_operand_sets(const kb_engine* engine);
KB_API kb_status kb_operand_of(const kb_engine* engine, int32_t set, int32_t index, void** data);
KB_API int32_t kb_current_set(const kb_engine* engine);
KB_API void* kb_stream(const kb_engine* engine);

#define KB_MOST_EXTENTS 4

/* An operand of the open case, row-major and dense. */
typedef struct {
  char name[16];  /* "a", "x", "q" */
  char dtype[16]; /* how its elements lie in memory: never tf32, which is fp32 */
  int32_t dims;
  int64_t extents[KB_MOST_EXTENTS];
  int32_t is_output; /* the last one is */
} kb_operand_info;
KB_API kb_status kb_describe_operand(const kb_engine* engine, int32_t index, kb_operand_info* info);

/* What somebody typed, as the catalog resolved it, or why it did not. */
typedef struct {
  char shape[160]; /* canonical; empty: there is no such problem */
  char mode[16];
  char reason[32]; /* UNKNOWN_KERNEL, UNSUPPORTED_DTYPE, BAD_SIZE, UNKNOWN_MODE */
  char message[512];
} kb_resolved;
/* Needs no engine. `mode` empty: "cold". KB_INVALID_ARGUMENT where there is no such problem:
 * `reason` and `message` say why and what would be right. */
KB_API kb_status kb_resolve(const char* kernel, const char* dtype, const char* size,
                            const char* mode, kb_resolved* resolved);
/* What one launch of a problem has to do: the larger of its FLOPs and its compulsory bytes. `shape`
 * canonical. Needs no engine. KB_INVALID_ARGUMENT for a problem that the catalog does not know. */
KB_API kb_status kb_work(const char* kernel, const char* dtype, const char* shape, double* work);
/* The canonical shape of the same problem made smaller, to about `most_work` FLOP at most where
 * there is one so small: whoever has to know beforehand how long a launch takes tries it on these.
 * KB_INVALID_ARGUMENT also where `size` bytes do not hold it. */
KB_API kb_status kb_scaled_shape(const char* kernel, const char* dtype, const char* shape,
                                 double most_work, char* out, size_t size);
KB_API kb_status kb_get_facts(const kb_engine* engine, kb_facts* facts);

/* One launch from an idle queue to its end; `seconds` is host time. */
KB_API kb_status kb_call(kb_engine* engine, kb_launch launch, void* user, double* seconds);
KB_API kb_status kb_verify(kb_engine* engine, int32_t stage, uint64_t seed, kb_launch launch,
                           void* user, kb_check* check);
KB_API kb_status kb_burst(kb_engine* engine, const kb_burst_spec* spec, kb_launch launch,
                          void* user, kb_burst_record* record);

/* Calls `launch` so many times with nothing between, on no stream: `seconds` is host time of one
 * call. Needs no engine. Who hands in a callback from another language learns what crossing over
 * costs from one that does nothing: that much of every host submit time is not the launch's. */
KB_API kb_status kb_time_callback(kb_launch launch, void* user, int32_t calls, double* seconds);

/* A second place for the output, as large as the output and between guard bands of its own, for
 * launches that are not the case's: whoever chooses among several configurations of a kernel tries
 * them there, so that nothing of a trial is left in the output. Made by the first call, kept until
 * kb_scratch_close or the end of the case; NULL for a kernel without operands. KB_OUT_OF_MEMORY
 * leaves the case as it was. */
KB_API kb_status kb_scratch_open(kb_engine* engine, void** data);
KB_API void kb_scratch_close(kb_engine* engine);
/* A burst of launches that are not the case's, with the case's flush (mode graph: clean), one
 * launch a sample in every mode. Leaves nothing behind for a check to find. The next kb_burst finds
 * anew how many launches make a sample: the launch may be another one by then. */
KB_API kb_status kb_trial(kb_engine* engine, const kb_burst_spec* spec, kb_launch launch,
                          void* user, kb_burst_record* record);
/* Needs no open case. KB_OK with passed = 0 when a step failed: the device answers, and lies. */
KB_API kb_status kb_calibrate(kb_engine* engine, kb_calibration* calibration);

#ifdef __cplusplus
}
#endif
#endif /* KBENCH_ENGINE_H_ */
