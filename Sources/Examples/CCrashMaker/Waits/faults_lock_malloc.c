// A fault while another thread holds the lock of the only heap arena.
//
// glibc does not call a callback of the program while it holds that lock. Therefore a worker thread allocates memory in
// a loop, and a signal stops the worker at some point. If a probing thread cannot allocate while the worker is stopped,
// the worker was stopped while it held the lock. On a virtual machine, a running thread can keep running after a signal
// was sent to it, until its next system call. The worker's blocks therefore have a size for which each allocation and
// each free makes a system call while holding the lock.
#include "../faults.h"

#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

// The block size is more than FASTBIN_CONSOLIDATION_THRESHOLD of malloc/malloc.c (64 KiB), because free() of a smaller
// block does not trim the top of the heap. The block size is less than MAPPING_BYTES, because glibc creates a separate
// mapping for a larger block without taking the lock.
#define BLOCK_BYTES   100000
#define MAPPING_BYTES (4 * BLOCK_BYTES)
#define STOP_TRIES    2000
#define PROBE_NS      20000000

static sem_t begin, stopped, go_on, probe, probed;
static atomic_ulong rounds;

static void stop_here(int signal) {
  (void)signal;
  sem_post(&stopped);
  while (sem_wait(&go_on) != 0) {
  }
}

static void *allocate_forever(void *unused) {
  // Unblock the signal, because Dispatch's workers block it, and a new thread inherits the mask of its creator.
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGUSR1);
  pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
  while (sem_wait(&begin) != 0) {
  }
  for (;;) {
    free(opaque_pointer((uint64_t)(uintptr_t)malloc(BLOCK_BYTES)));
    atomic_fetch_add(&rounds, 1);
  }
  return unused;
}

// Waits until the worker has made progress. Without this progress, the next signal could stop the worker at the same
// instruction as the previous signal.
static void await_rounds(unsigned long count) {
  const unsigned long start = atomic_load(&rounds);
  while (atomic_load(&rounds) - start < count)
    sched_yield();
}

static void *probe_forever(void *unused) {
  for (;;) {
    while (sem_wait(&probe) != 0) {
    }
    free(opaque_pointer((uint64_t)(uintptr_t)malloc(BLOCK_BYTES)));
    sem_post(&probed);
  }
  return unused;
}

static int probe_is_stuck(void) {
  struct timespec limit;
  sem_post(&probe);
  clock_gettime(CLOCK_REALTIME, &limit);
  limit.tv_nsec += PROBE_NS;
  if (limit.tv_nsec >= 1000000000) {
    limit.tv_sec++;
    limit.tv_nsec -= 1000000000;
  }
  return sem_timedwait(&probed, &limit) != 0;
}

// Configures malloc for this scenario: one arena for all threads (set before another thread has its own arena), and
// system calls for the worker's blocks.
void cs_prepare_malloc_lock_held(void) {
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, MAPPING_BYTES);
  mallopt(M_TRIM_THRESHOLD, 0);
  mallopt(M_TOP_PAD, 0);
}

FAULT void cs_fault_malloc_lock_held(void) {
  pthread_t worker, prober;
  const struct sigaction action = {.sa_handler = stop_here, .sa_flags = SA_RESTART};
  sem_t *const semaphores[] = {&begin, &stopped, &go_on, &probe, &probed};
  if (sigaction(SIGUSR1, &action, NULL) != 0) return;
  for (size_t n = 0; n < sizeof semaphores / sizeof semaphores[0]; n++)
    if (sem_init(semaphores[n], 0, 0) != 0) return;
  if (pthread_create(&worker, NULL, allocate_forever, NULL) != 0) return;
  if (pthread_create(&prober, NULL, probe_forever, NULL) != 0) return;
  // Wait until the probing thread runs. The thread's creation allocates blocks, which must not follow the worker's
  // block in the heap. If such a block were freed, it would leave a hole. The worker's next block would be allocated
  // from this hole without a system call.
  sem_post(&probe);
  while (sem_wait(&probed) != 0) {
  }
  sem_post(&begin);
  for (int attempt = 0; attempt < STOP_TRIES; attempt++) {
    await_rounds((unsigned long)attempt % 7 + 1);
    pthread_kill(worker, SIGUSR1);
    while (sem_wait(&stopped) != 0) {
    }
    if (probe_is_stuck()) {
      volatile int *number = opaque_pointer(0);
      *number = 42; // fault: malloc-lock-held
    }
    sem_post(&go_on);
  }
}
