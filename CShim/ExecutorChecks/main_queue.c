// Determines whether this thread executes the main queue. Dispatch's only public function for this check
// (dispatch_assert_queue) ends the process if the thread does not execute the queue. However, each queue stores the ID
// of the thread that executes it. The offset of this thread ID is the same in all queues. This code finds the offset in
// a queue that it creates itself.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "executor_checks.h"

// The number of 32-bit words at the start of a queue in which the search looks for the thread ID. A queue has more
// words, so all reads are inside the queue.
#define HALVES 24
// The mask of the thread ID in its 32-bit word. Dispatch's lock uses the other bits.
#define NUMBER     UINT32_C(0x3fffffff)
#define NOWHERE    (-1)
#define NOT_LOOKED (-2)

#define DISPATCH(result) extern __attribute__((weak, visibility("default"))) result
DISPATCH(void *) dispatch_queue_create(const char *label, void *attributes);
DISPATCH(void) dispatch_sync_f(void *queue, void *context, void (*work)(void *context));
DISPATCH(void) dispatch_release(void *object);
DISPATCH(uint32_t) _dispatch_main_q[];

typedef struct {
  const char *text;
  uintptr_t bytes;
} type_name;
extern __attribute__((weak, visibility("default"), swiftcall)) type_name swift_getTypeName(const void *type,
                                                                                           bool is_qualified);

// The index of the 32-bit word that contains the thread ID. Accesses to this variable and to `dispatch_executor` are
// relaxed, because their values do not refer to data that another thread writes.
static _Atomic int32_t owner_half = NOT_LOOKED;
// The main executor, if its type showed that it runs on Dispatch's main queue; 0: not yet identified.
static _Atomic uintptr_t dispatch_executor;
// The process in which this code was loaded. In a forked child, thread IDs differ from the IDs that Dispatch stored in
// the parent, so they cannot be compared.
static pid_t process;

typedef struct look {
  const uint32_t *queue;
  uint32_t number;
  uint32_t found; // one bit for each 32-bit word
} look;

__attribute__((no_sanitize("address", "thread"))) static uint32_t halves_with(const uint32_t *queue, uint32_t number) {
  uint32_t found = 0;
  for (uint32_t half = 0; half < HALVES; half++) {
    if ((__atomic_load_n(&queue[half], __ATOMIC_RELAXED) & NUMBER) == number) found |= 1u << half;
  }
  return found;
}

static void look_within(void *context) {
  look *const look = context;
  look->found = halves_with(look->queue, look->number);
}

static int32_t find_owner_half(uint32_t number) {
  void *const queue = dispatch_queue_create("crash-shield.isolation", NULL);
  if (queue == NULL) return NOWHERE;
  look look = {.queue = queue, .number = number};
  const uint32_t before = halves_with(queue, number);
  dispatch_sync_f(queue, &look, look_within);
  const uint32_t after = halves_with(queue, number);
  dispatch_release(queue);
  const bool is_one = before == 0 && after == 0 && __builtin_popcount(look.found) == 1;
  return is_one ? __builtin_ctz(look.found) : NOWHERE;
}

static bool is_dispatch_executor(uintptr_t identity) {
  static const char name[] = "Swift.DispatchMainExecutor";
  if (atomic_load_explicit(&dispatch_executor, memory_order_relaxed) == identity) return true;
  // The first word of a Swift object is the address of its type metadata.
  const type_name type = swift_getTypeName(*(const void *const *)identity, true); // NOLINT(performance-no-int-to-ptr)
  if (type.bytes != sizeof name - 1 || memcmp(type.text, name, sizeof name - 1) != 0) return false;
  atomic_store_explicit(&dispatch_executor, identity, memory_order_relaxed);
  return true;
}

bool cs_executor_is_off_main_queue(uintptr_t identity) {
  if (_dispatch_main_q == NULL || dispatch_queue_create == NULL || dispatch_sync_f == NULL ||
      dispatch_release == NULL || swift_getTypeName == NULL || getpid() != process)
    return false;
  const uint32_t number = (uint32_t)syscall(SYS_gettid);
  int32_t half = atomic_load_explicit(&owner_half, memory_order_relaxed);
  if (half == NOT_LOOKED) {
    // Another thread can search at the same time. Both threads find the same index, so both can store it.
    half = find_owner_half(number);
    atomic_store_explicit(&owner_half, half, memory_order_relaxed);
  }
  if (half == NOWHERE || !is_dispatch_executor(identity)) return false;
  return (__atomic_load_n(&_dispatch_main_q[half], __ATOMIC_RELAXED) & NUMBER) != number;
}

__attribute__((constructor)) static void know_process(void) {
  process = getpid();
}

#endif
