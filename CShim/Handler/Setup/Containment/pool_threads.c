// The threads of the pool (pool.h). Each seat of the pool has one thread. One more thread is the spare, which takes the
// seat of a thread that a trap has stopped.
#include "cs_platform.h"

#if CS_SUPPORTED

#include "seat.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../Threads/alternate_stack.h"

// What a new thread needs. The spare thread sleeps until it gets a seat.
typedef struct newcomer {
  cs_seat *seat;
  uint32_t has_seat; // atomic, a futex
} newcomer;

uint64_t cs_seat_run_start;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static const char *obstacle;
static uint32_t wanted_width;
static newcomer *spare; // NULL: none, because no thread could be created
static sigset_t mask;   // the signals that the threads of the pool block

// Dispatch's threads block all signals except these, and also SIGPROF if the program blocks it. Threads of the pool run
// the same code, and therefore block the same signals.
static void choose_mask(void) {
  const int open[] = {SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV, SIGSYS, SIGPIPE, SIGPROF, SIGABRT};
  sigset_t starters;
  sigfillset(&mask);
  pthread_sigmask(SIG_SETMASK, NULL, &starters);
  for (size_t index = 0; index < sizeof open / sizeof open[0]; index++) {
    if (open[index] != SIGPROF || sigismember(&starters, SIGPROF) == 0) sigdelset(&mask, open[index]);
  }
}

static void *begin(void *context) {
  newcomer *given = context;
  // A sanitizer's pthread_create overwrites the signal mask, so the mask is set again.
  pthread_sigmask(SIG_SETMASK, &mask, NULL);
  prctl(PR_SET_NAME, "swift-pool", 0, 0, 0);
  // Dispatch sets the nice value 0 for its threads of the default priority, if the process is allowed to do so. The
  // threads of the pool do the same, so that they share the processor with other threads as Dispatch's threads would.
  setpriority(PRIO_PROCESS, 0, 0); // on Linux, 0 is the calling thread
  cs_alternate_stack_give_here();
  // acquire: pairs with the release store of cs_seat_replace().
  while (__atomic_load_n(&given->has_seat, __ATOMIC_ACQUIRE) == 0)
    syscall(SYS_futex, &given->has_seat, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
  cs_seat *seat = given->seat;
  free(given);
  cs_seat_run(seat);
}

// Creates a thread for the seat, or a spare thread if `seat` is NULL. Returns NULL if the thread cannot be created.
static newcomer *create(cs_seat *seat) {
  pthread_attr_t attributes;
  pthread_t thread;
  newcomer *given = calloc(1, sizeof *given);
  if (given == NULL) return NULL;
  if (pthread_attr_init(&attributes) != 0) {
    free(given);
    return NULL;
  }
  given->seat = seat;
  given->has_seat = seat != NULL;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // The mask applies from the first instruction. An inherited mask could block the signal of a trap. The kernel then
  // ends the process at a trap without calling the crash handler.
  const bool is_created =
      pthread_attr_setsigmask_np(&attributes, &mask) == 0 && pthread_create(&thread, &attributes, begin, given) == 0;
  pthread_attr_destroy(&attributes);
  if (is_created) return given;
  free(given);
  return NULL;
}

bool cs_seats_start(uint32_t width) {
  choose_mask();
  if (!cs_alternate_stack_prepare()) return false;
  for (uint32_t index = 0; index < width; index++) {
    if (create(&cs_seats[index]) == NULL) return false;
  }
  spare = create(NULL);
  return spare != NULL;
}

bool cs_seat_replace(cs_seat *seat) {
  if (__atomic_exchange_n(&seat->is_parked, 0, __ATOMIC_RELAXED) == 0) return true;
  newcomer *successor = spare;
  spare = NULL;
  if (successor != NULL) {
    successor->seat = seat;
    // release: pairs with the acquire load of begin(). After this store, the thread can free the structure at any time.
    __atomic_store_n(&successor->has_seat, 1, __ATOMIC_RELEASE);
    syscall(SYS_futex, &successor->has_seat, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
  } else if (create(seat) == NULL) {
    __atomic_store_n(&seat->is_parked, 1, __ATOMIC_RELAXED);
    return false;
  }
  spare = create(NULL);
  return true;
}

static uint32_t cpu_count(void) {
  cpu_set_t set;
  // sched_getaffinity() fails if the machine has more CPUs than cpu_set_t has bits.
  if (sched_getaffinity(0, sizeof set, &set) == 0) return (uint32_t)CPU_COUNT(&set);
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  return count < 1 ? 1 : (uint32_t)count;
}

static void start(void) {
  obstacle = cs_pool_runtime_check();
  if (obstacle != NULL) return;
  const uint32_t count = wanted_width != 0 ? wanted_width : cpu_count();
  const uint32_t width = count > CS_SEAT_LIMIT ? CS_SEAT_LIMIT : count;
  cs_seat_run_start = (uint64_t)(uintptr_t)cs_seat_run;
  cs_pool_open(width);
  if (!cs_seats_start(width)) {
    obstacle = "the threads of the pool cannot be created";
  } else if (!cs_pool_runtime_hook()) {
    obstacle = "other code receives the jobs of Swift's global executor";
  }
}

const char *cs_pool_start(uint32_t width) {
  if (!__atomic_load_n(&wanted_width, __ATOMIC_RELAXED)) wanted_width = width;
  pthread_once(&once, start);
  return obstacle;
}

void cs_pool_forget(void) {
  cs_pool_runtime_unhook();
  obstacle = "a forked child has no pool";
}

#endif
