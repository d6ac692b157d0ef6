// Threads that write the current time to memory in a loop while the main thread crashes. scripts/measure/run-on builds
// and runs this program. Usage: threads FILE. For each thread, FILE has two 64-bit words, in nanoseconds of
// CLOCK_MONOTONIC. The first word is the time at which the thread first detected the end of the thread sweep (the
// record of all threads' stacks), or 0. The second word is the last time that the thread wrote before the process
// ended. Threads with an odd number block all signals.
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../../../CShim/Handler/Signal/Dispatch/state.h"
#include "cs_shim.h"

#define COUNT 4

typedef struct thread_times {
  volatile uint64_t swept_ns, last_ns;
} thread_times;

static thread_times *times;

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static bool has_swept(void) {
  const uint32_t sweep = __atomic_load_n(&cs_process.ring->header.sweep, __ATOMIC_ACQUIRE);
  return sweep == CS_RING_SWEEP_DONE || sweep == CS_RING_SWEEP_BLIND;
}

static void *write_times(void *argument) {
  const uintptr_t index = (uintptr_t)argument;
  if (index % 2 == 1) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
  }
  while (true) {
    if (times[index].swept_ns == 0 && has_swept()) times[index].swept_ns = now();
    times[index].last_ns = now();
  }
}

int main(int count, char **arguments) {
  const int file = count == 2 ? open(arguments[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (file < 0 || ftruncate(file, COUNT * sizeof *times) != 0) return 1;
  times = mmap(NULL, COUNT * sizeof *times, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (times == MAP_FAILED || cs_shim_start(NULL, NULL) != CS_SHIM_OK) return 1;
  for (uintptr_t index = 0; index < COUNT; index++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_times, (void *)index) != 0) return 1;
  }
  for (int index = 0; index < COUNT; index++)
    while (times[index].last_ns == 0)
      sched_yield();
  *(volatile int *)8 = 1;
}
