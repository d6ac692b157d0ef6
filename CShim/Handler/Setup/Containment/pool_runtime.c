// The part of the pool (pool.h) that depends on the version of the Swift runtime.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "seat.h"

#include <stddef.h>

#include "cs_shim.h"

// The versions of the runtime whose job layout and hook were checked: 6.0 to 6.3. The runtime stores its major version
// in the third byte, and its minor version in the second byte.
#define FIRST_VERSION 0x60000
#define LAST_VERSION  0x603ff

#define FLAGS_OFFSET 32
#define JOB_BYTES    128

// For functions with two or three pointer arguments, Swift's calling convention equals C's on this platform.
extern void swift_job_run(void *job, void *executor, const void *executor_table) __attribute__((weak));
extern uint32_t swift_task_getJobFlags(const void *job) __attribute__((weak));
extern void *swift_task_enqueueGlobal_hook __attribute__((weak));
// The getter of `_SwiftStdlibVersion.current`.
extern uint32_t runtime_version(void) __asm__("$sSo19_SwiftStdlibVersionasE7currentABvgZ") __attribute__((weak));

static bool is_on; // atomic: whether this process has set the hook

// Returns whether the runtime reads the flags of a job at the offset that the pool uses. swift_task_getJobFlags() reads
// one word of the job and returns it. The flags follow the job's object header, which has 16 bytes, and two words that
// queues use.
static bool has_known_layout(void) {
  _Alignas(16) uint32_t job[JOB_BYTES / sizeof(uint32_t)];
  for (uint32_t index = 0; index < sizeof job / sizeof job[0]; index++)
    job[index] = index;
  return swift_task_getJobFlags(job) == FLAGS_OFFSET / sizeof job[0];
}

const char *cs_pool_runtime_check(void) {
  if (&swift_task_enqueueGlobal_hook == NULL || swift_job_run == NULL || swift_task_getJobFlags == NULL)
    return "the process has no Swift concurrency library";
  const uint32_t version = runtime_version == NULL ? 0 : runtime_version();
  if (version < FIRST_VERSION || version > LAST_VERSION) return "this version of the Swift runtime is not known";
  return has_known_layout() ? NULL : "the layout of the Swift runtime's jobs is not known";
}

void cs_pool_runtime_run(void *job) {
  swift_job_run(job, NULL, NULL); // NULL: the job runs on no serial executor
}

// The runtime calls this function for each job that becomes ready. The pool never calls the `original` function, which
// would run the job on Dispatch's threads.
static void enqueue(void *job, void *original) {
  (void)original;
  cs_shim_pool_enqueue(job);
}

bool cs_pool_runtime_hook(void) {
  void *expected = NULL;
  const bool is_set = __atomic_compare_exchange_n(&swift_task_enqueueGlobal_hook, &expected, (void *)enqueue, false,
                                                  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
  __atomic_store_n(&is_on, is_set, __ATOMIC_RELEASE);
  return is_set;
}

bool cs_shim_pool_is_on(void) {
  return __atomic_load_n(&is_on, __ATOMIC_ACQUIRE);
}

void cs_pool_runtime_unhook(void) {
  void *expected = (void *)enqueue;
  __atomic_store_n(&is_on, false, __ATOMIC_RELAXED);
  if (&swift_task_enqueueGlobal_hook == NULL) return;
  __atomic_compare_exchange_n(&swift_task_enqueueGlobal_hook, &expected, NULL, false, __ATOMIC_SEQ_CST,
                              __ATOMIC_RELAXED);
}

#endif
