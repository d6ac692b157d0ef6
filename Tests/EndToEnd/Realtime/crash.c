// Crashes under -fsanitize=realtime, which ends the program if the signal handler allocates, locks or blocks, even in
// libc. A second build, with no_malloc.c, crashes under an allocator that ends the program if the handler allocates.
// scripts/check/realtime builds and runs both programs.
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "cs_shim.h"
#include "cs_signal_safe.h"
#include "cs_testing.h"

static volatile uint32_t *volatile nowhere = (volatile uint32_t *)8;

// This thread-local storage is larger than the stack that the shield requests for its own thread. glibc places
// thread-local storage on the thread's stack. The shield's thread must start nevertheless.
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

// An allocation that the sanitizer must report. If the sanitizer does not report it, the other results of this program
// prove nothing.
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

// Starts threads for the thread sweep: six that answer, and two that block all signals.
static void make_threads(void) {
  pthread_t thread;
  for (int index = 0; index < 8; index++)
    pthread_create(&thread, NULL, index < 6 ? wait_for_ever : block_signals, NULL);
}

static void *overflow(void *unused) {
  recurse(0);
  return unused;
}

static pthread_barrier_t start_line;

static void *crash_together(void *unused) {
  pthread_barrier_wait(&start_line);
  *nowhere = 1;
  return unused;
}

static void crash_on_threads(unsigned count) {
  pthread_t thread;
  pthread_barrier_init(&start_line, NULL, count);
  for (unsigned index = 1; index < count; index++)
    pthread_create(&thread, NULL, crash_together, NULL);
  crash_together(NULL);
}

static void overflow_on_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, overflow, NULL);
  pthread_join(thread, NULL);
}

static void use_up_descriptors(void) {
  const struct rlimit limit = {256, 256};
  setrlimit(RLIMIT_NOFILE, &limit);
  while (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) {
  }
}

// Acts as a crashd that listens on its socket, but accepts no connection and sends nothing.
static void listen_at_socket(void) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv("CRASHSHIELD_SOCKET"));
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0 || listen(listener, 8) != 0) _exit(4);
}

// Crashes in an image that was loaded after the shield had last read the image list.
static void crash_in_late_library(void) {
  void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
  double (*remainder)(double, double, int *) = NULL;
  if (library != NULL) *(void **)&remainder = dlsym(library, "remquo");
  if (remainder != NULL) remainder(7, 2, (int *)8);
}

static struct sigaction before;

static void chain(int signal, siginfo_t *information, void *context) {
  before.sa_sigaction(signal, information, context);
}

static void replace_handler(void) {
  const struct sigaction action = {.sa_sigaction = chain, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigaction(SIGSEGV, &action, &before);
}

// Runs isolated work that traps.
static void trap(void *unused) {
  (void)unused;
  __builtin_trap();
}

int main(int count, char **arguments) {
  const char *way = count > 1 ? arguments[1] : "";
  storage[0] = 1;
  if (strcmp(way, "attached") == 0) listen_at_socket();
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
  if (strcmp(way, "simultaneous") == 0) crash_on_threads(8);
  if (strcmp(way, "thread-overflow") == 0) overflow_on_thread();
  if (strcmp(way, "late-library") == 0) crash_in_late_library();
  if (strcmp(way, "late-daemon") == 0) listen_at_socket();
  if (strcmp(way, "no-descriptors") == 0) use_up_descriptors();
  if (strcmp(way, "chained") == 0) replace_handler();
  for (const char *const *other =
           (const char *const[]){"null", "attached", "late-daemon", "no-descriptors", "chained", NULL};
       *other != NULL; other++) {
    if (strcmp(way, *other) == 0) *nowhere = 1;
  }
  if (strcmp(way, "call") == 0) ((void (*)(void))nowhere)();
  if (strcmp(way, "callback") == 0) fault_in_callback();
  if (strcmp(way, "overflow") == 0) recurse(0);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "double-free") == 0) free_twice();
  if (strcmp(way, "raise") == 0) raise(SIGBUS);
  if (strcmp(way, "trap") == 0) __asm__ volatile("int3");
  // If the trap was contained, raise SIGBUS: a trap that is not contained ends the process by SIGILL.
  if (strcmp(way, "contained") == 0 && cs_shim_contained_run(trap, NULL) == CS_SHIM_CONTAINED_TRAPPED) raise(SIGBUS);
  if (strcmp(way, "twice") == 0) {
    cs_testing_inject(CS_INJECT_CRASH, CS_INJECT_REGISTERS);
    *nowhere = 1;
  }
  return 3;
}
