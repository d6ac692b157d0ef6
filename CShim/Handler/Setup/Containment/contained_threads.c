// The threads that run contained work (Shield.isolated): if the work traps, only its thread is stopped, and the process
// continues. Signal/Containment/containment.c handles traps on these threads.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <linux/futex.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../setup.h"
#include "contained_requests.h"

#include "../../Signal/Capture/registers_here.h"
#include "../../Signal/Containment/containment.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *obstacle; // the reason why this process cannot contain traps; NULL if it can

// The contained work of this thread. With the initial-exec TLS model, the variable is at a fixed offset from the thread
// pointer. The crash handler can therefore read the variable without a function call.
static __thread cs_contained *here __attribute__((tls_model("initial-exec")));

static void prepare(void) {
  obstacle = cs_contained_find(&cs_contained_here);
  if (obstacle != NULL) return;
  const int64_t offset = (int64_t)((uint64_t)(uintptr_t)&here - cs_thread_pointer());
  // release: pairs with the acquire load of work_here() in the handler.
  __atomic_store_n(&cs_contained_here.offset, offset, __ATOMIC_RELEASE);
}

void cs_contained_forget_here(void) {
  here = NULL;
}

static void let_go(cs_contained *work) {
  if (__atomic_sub_fetch(&work->references, 1, __ATOMIC_ACQ_REL) == 0) free(work);
}

// This function also runs if the thread ends before the work returns, for example by pthread_exit().
static void leave(void *context) {
  cs_contained *work = context;
  here = NULL;
  // release: pairs with the acquire load of cs_shim_contained_run().
  __atomic_store_n(&work->end, CS_SHIM_CONTAINED_FINISHED, __ATOMIC_RELEASE);
  syscall(SYS_futex, &work->end, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  let_go(work);
}

typedef struct start {
  cs_contained *work;
  void (*routine)(void *);
  void *argument;
} start;

// The outermost frame of contained work belongs to this function. The crash handler searches the stack of a trapping
// thread for this frame. The function is not inlined, so that it has its own frame.
__attribute__((noinline)) static void *begin(void *context) {
  const start given = *(start *)context;
  free(context);
  pthread_cleanup_push(leave, given.work);
  here = given.work;
  given.routine(given.argument);
  pthread_cleanup_pop(1);
  return NULL;
}

static bool start_thread(const start *given) {
  pthread_attr_t attributes;
  pthread_t thread;
  start *copy = malloc(sizeof *copy);
  if (copy == NULL) return false;
  *copy = *given;
  if (pthread_attr_init(&attributes) != 0) {
    free(copy);
    return false;
  }
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const bool is_started = pthread_create(&thread, &attributes, begin, copy) == 0;
  pthread_attr_destroy(&attributes);
  if (!is_started) free(copy);
  return is_started;
}

cs_shim_contained_end cs_shim_contained_run(void (*routine)(void *), void *argument) {
  pthread_once(&once, prepare);
  cs_contained *work = calloc(1, sizeof *work);
  if (work == NULL) return CS_SHIM_CONTAINED_NO_THREAD;
  work->references = 2;
  work->pid = getpid();
  work->begin = (uint64_t)(uintptr_t)begin;
  const start given = {.work = work, .routine = routine, .argument = argument};
  if (!start_thread(&given)) {
    free(work);
    return CS_SHIM_CONTAINED_NO_THREAD;
  }
  uint32_t end = 0;
  // acquire: pairs with the release stores of leave(), and of park() in the handler.
  while ((end = __atomic_load_n(&work->end, __ATOMIC_ACQUIRE)) == 0)
    syscall(SYS_futex, &work->end, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  let_go(work);
  return (cs_shim_contained_end)end;
}

const char *cs_shim_contained_obstacle(void) {
  pthread_once(&once, prepare);
  return obstacle;
}

void cs_shim_contained_set_budget(uint32_t threads) {
  __atomic_store_n(&cs_contained_budget, threads, __ATOMIC_RELAXED);
}

uint32_t cs_shim_contained_budget(void) {
  return __atomic_load_n(&cs_contained_budget, __ATOMIC_RELAXED);
}

uint32_t cs_shim_contained_parked(void) {
  return __atomic_load_n(&cs_contained_parked, __ATOMIC_RELAXED);
}

void cs_shim_contained_task_begins(void) {
  cs_ring_registers registers = {0};
  // If `offset` is 0, containment of traps is off.
  if (here == NULL || __atomic_load_n(&cs_contained_here.offset, __ATOMIC_RELAXED) == 0) return;
  cs_registers_here(&registers);
  cs_contained_note_way(here, &registers);
}

void *cs_shim_contained_keep(void) {
  if (here != NULL) __atomic_fetch_add(&here->references, 1, __ATOMIC_RELAXED);
  return here;
}

void cs_shim_contained_release(void *kept) {
  if (kept != NULL) let_go(kept);
}

void *cs_shim_contained_hold(void *kept) {
  cs_contained *work = kept != NULL ? kept : here;
  if (work == NULL) return cs_contained_request_hold();
  __atomic_fetch_add(&work->references, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&work->holds, 1, __ATOMIC_RELAXED);
  return work;
}

void cs_shim_contained_let_go(void *hold) {
  if (hold == NULL || cs_contained_request_let_go(hold)) return;
  cs_contained *work = hold;
  __atomic_fetch_sub(&work->holds, 1, __ATOMIC_RELAXED);
  let_go(work);
}

#endif
