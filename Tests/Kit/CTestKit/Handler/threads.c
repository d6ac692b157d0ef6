// Threads that overflow their stacks, and the lifetime of their alternate stacks.
#include "ways.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define OWN_STACK_BYTES 65536
// PTHREAD_STACK_MIN, and room for the thread-local variables of the test process.
#define SMALL_STACK_BYTES (PTHREAD_STACK_MIN + (size_t)16384)

static _Alignas(16) uint8_t own_stack[OWN_STACK_BYTES];
static pthread_key_t key;

static void *overflow(void *unused) {
  cs_test_recurse(0);
  return unused;
}

static void overflow_in_destructor(void *unused) {
  overflow(unused);
}

static void set_own_stack(void) {
  const stack_t stack = {.ss_sp = own_stack, .ss_size = sizeof own_stack};
  sigaltstack(&stack, NULL);
}

static void *overflow_with_own_stack(void *unused) {
  set_own_stack();
  return overflow(unused);
}

static void *leave_to_destructor(void *unused) {
  pthread_setspecific(key, &key);
  return unused;
}

static bool run_thread(void *(*routine)(void *), void *argument, size_t stack_bytes) {
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  if (stack_bytes != 0) pthread_attr_setstacksize(&attributes, stack_bytes);
  const int error = pthread_create(&thread, &attributes, routine, argument);
  pthread_attr_destroy(&attributes);
  return error == 0 && pthread_join(thread, NULL) == 0;
}

// Returns the address of the calling thread's alternate stack, or NULL.
static void *alternate_stack(void) {
  stack_t present = {0};
  sigaltstack(NULL, &present);
  return (present.ss_flags & SS_DISABLE) != 0 ? NULL : present.ss_sp;
}

static void *note_stack(void *to) {
  *(void **)to = alternate_stack();
  return NULL;
}

static void *note_stack_and_exit(void *to) {
  note_stack(to);
  pthread_exit(NULL);
}

static void *note_stack_and_be_cancelled(void *to) {
  note_stack(to);
  pthread_cancel(pthread_self());
  pthread_testcancel();
  return NULL;
}

static void *note_stack_and_set_own(void *to) {
  note_stack(to);
  set_own_stack();
  return NULL;
}

static bool is_mapped(void *page) {
  unsigned char resident;
  return mincore(page, 1, &resident) == 0 || errno != ENOMEM;
}

static int stacks_given(const char *directory) {
  void *before = &key;
  void *after = NULL;
  void *in_child = &key;
  if (!run_thread(note_stack, &before, 0) || before != NULL) return 1;
  cs_test_start(directory);
  if (!run_thread(note_stack, &after, 0) || after == NULL) return 2;
  if (alternate_stack() == NULL) return 3;
  const int child = fork();
  if (child == 0) _exit(run_thread(note_stack, &in_child, 0) && in_child == NULL ? 0 : 1);
  return cs_test_wait(child) == 0 ? 0 : 4;
}

static int stacks_taken_back(const char *directory) {
  void *(*const routines[])(void *) = {note_stack, note_stack_and_exit, note_stack_and_be_cancelled,
                                       note_stack_and_set_own};
  cs_test_start(directory);
  for (int index = 0; index < 4; index++) {
    void *stack = NULL;
    if (!run_thread(routines[index], &stack, 0) || stack == NULL) return 10 + index;
    if (is_mapped(stack)) return 20 + index;
  }
  own_stack[0] = 1; // faults if the shield has unmapped the program's alternate stack
  return 0;
}

static uint64_t address_space_bytes(void) {
  FILE *file = fopen("/proc/self/statm", "re");
  unsigned long pages = 0;
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) pages = 0;
  if (file != NULL) fclose(file);
  return (uint64_t)pages * 4096;
}

static int stack_refused(const char *directory) {
  static _Alignas(4096) uint8_t stack[256 * 1024];
  void *given = &key;
  pthread_t thread;
  pthread_attr_t attributes;
  cs_test_start(directory);
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, sizeof stack);
  const struct rlimit limit = {address_space_bytes() + 4096, RLIM_INFINITY};
  if (limit.rlim_cur == 4096 || setrlimit(RLIMIT_AS, &limit) != 0) return 1;
  if (pthread_create(&thread, &attributes, note_stack, &given) != 0) return 2;
  if (pthread_join(thread, NULL) != 0) return 3;
  return given == NULL ? 0 : 4;
}

// A stack of this size is a new mapping, because glibc has no stack of an earlier thread that is large enough.
#define LARGE_STACK_BYTES ((size_t)16 * 1024 * 1024)

static int stack_crowds_out(const char *directory) {
  void *given = &key;
  cs_test_start(directory);
  // Leave some free heap memory, which libc needs for its data about the new thread.
  void *volatile room = malloc(65536);
  free(room);
  const uint64_t used = address_space_bytes();
  // The limit leaves room for the thread's stack, its guard page, and 40 KiB more. This is too little for the alternate
  // stack.
  const struct rlimit limit = {used + LARGE_STACK_BYTES + 11 * (uint64_t)4096, RLIM_INFINITY};
  if (used == 0 || setrlimit(RLIMIT_AS, &limit) != 0) return 1;
  if (!run_thread(note_stack, &given, LARGE_STACK_BYTES)) return 2;
  return given == NULL ? 0 : 3;
}

static int make_thread_in_callback(struct dl_phdr_info *info, size_t size, void *context) {
  (void)info;
  (void)size;
  // This callback runs while the loader's lock is held. It returns when the other thread has created a thread, and the
  // created thread has finished.
  pthread_barrier_wait(context);
  pthread_barrier_wait(context);
  return 1;
}

static void *hold_loader_lock(void *barrier) {
  dl_iterate_phdr(make_thread_in_callback, barrier);
  return NULL;
}

static int thread_beside_loader_lock(const char *directory) {
  pthread_barrier_t barrier;
  pthread_t holder;
  void *stack = NULL;
  cs_test_start(directory);
  pthread_barrier_init(&barrier, NULL, 2);
  if (pthread_create(&holder, NULL, hold_loader_lock, &barrier) != 0) return 1;
  pthread_barrier_wait(&barrier);
  const bool has_run = run_thread(note_stack, &stack, 0);
  pthread_barrier_wait(&barrier);
  pthread_join(holder, NULL);
  return has_run && stack != NULL ? 0 : 2;
}

int cs_test_threads_run(cs_test_way way, const char *directory) {
  if (way == CS_TEST_STACKS_GIVEN) return stacks_given(directory);
  if (way == CS_TEST_STACKS_TAKEN_BACK) return stacks_taken_back(directory);
  if (way == CS_TEST_STACK_REFUSED) return stack_refused(directory);
  if (way == CS_TEST_STACK_CROWDS_OUT) return stack_crowds_out(directory);
  if (way == CS_TEST_THREAD_BESIDE_LOADER_LOCK) return thread_beside_loader_lock(directory);

  if (way == CS_TEST_NO_STACKS_OVERFLOW) setenv("CRASHSHIELD_ALTSTACKS", "0", 1);
  cs_test_start(directory);
  pthread_key_create(&key, overflow_in_destructor);
  const size_t stack_bytes = way == CS_TEST_SMALL_THREAD_OVERFLOW ? SMALL_STACK_BYTES : 0;
  void *(*routine)(void *) = overflow;
  if (way == CS_TEST_DESTRUCTOR_OVERFLOW) routine = leave_to_destructor;
  if (way == CS_TEST_OWN_STACK_OVERFLOW) routine = overflow_with_own_stack;
  run_thread(routine, NULL, stack_bytes);
  return 1;
}
