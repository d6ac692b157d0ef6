// Crashes under -fsanitize=realtime, which ends the program when the handler allocates, locks or blocks, also deep
// inside of libc. scripts/check-realtime builds and runs it.
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cs_shim.h"
#include "cs_signal_safe.h"
#include "cs_testing.h"

static volatile uint32_t *volatile nowhere = (volatile uint32_t *)8;

// More static thread-locals than the stack that the shim gives its thread: it must start all the same.
static _Thread_local volatile char storage[512 * 1024];

static int compare(const void *left, const void *right) {
  (void)left;
  (void)right;
  return (int)*nowhere;
}

static void fault_in_callback(void) {
  int numbers[9] = {3, 2, 1};
  qsort(numbers, 9, sizeof numbers[0], compare);
}

__attribute__((noinline)) static uint32_t recurse(uint32_t depth) {
  volatile uint32_t here = depth;
  const uint32_t below = recurse(depth + 1);
  return here + below;
}

static void free_twice(void) {
  void *volatile memory = malloc(24);
  free(memory);
  free(memory);
}

static void *(*volatile allocate)(size_t) = malloc;

// What the sanitizer must find; if it does not, the other results mean nothing.
static void allocate_where_forbidden(void) SIGNAL_SAFE {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wfunction-effects"
  void *volatile memory = allocate(24);
  (void)memory;
#pragma clang diagnostic pop
}

static void *wait_for_ever(void *unused) {
  for (;;)
    pause();
  return unused;
}

static void *block_signals(void *unused) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  return wait_for_ever(unused);
}

// Threads for the sweep: such as answer and such as do not.
static void make_threads(void) {
  pthread_t thread;
  for (int index = 0; index < 8; index++)
    pthread_create(&thread, NULL, index < 6 ? wait_for_ever : block_signals, NULL);
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  storage[0] = 1;
  cs_shim_failure failure = {0};
  if (cs_shim_start(NULL, &failure) != CS_SHIM_OK) {
    fprintf(stderr, "cannot start: %s\n", failure.what);
    return 2;
  }
  if (strcmp(way, "control") == 0) allocate_where_forbidden();
  if (strcmp(way, "threads") == 0) {
    make_threads();
    *nowhere = 1;
  }
  if (strcmp(way, "null") == 0) *nowhere = 1;
  if (strcmp(way, "call") == 0) ((void (*)(void))nowhere)();
  if (strcmp(way, "callback") == 0) fault_in_callback();
  if (strcmp(way, "overflow") == 0) recurse(0);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "double-free") == 0) free_twice();
  if (strcmp(way, "raise") == 0) raise(SIGBUS);
  if (strcmp(way, "trap") == 0) __asm__ volatile("int3");
  if (strcmp(way, "twice") == 0) {
    cs_testing_trouble_handler(CS_TROUBLE_CRASH, CS_TROUBLE_REGISTERS);
    *nowhere = 1;
  }
  return 3;
}
