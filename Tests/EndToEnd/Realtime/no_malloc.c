// An allocator for crash.c and faults.c. It ends the program with status 99 if a thread allocates in the signal
// handler.
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../../CShim/Handler/Signal/Dispatch/crasher.h"
#include "../../../CShim/Handler/Signal/Dispatch/state.h"
#include "../../../CShim/Handler/Signal/Threads/sweep_answer.h"

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *memory);

// Ends the program if the calling thread is in the handler (it has claimed a slot), or if it answers a thread sweep.
static void refuse_in_handler(void) {
  static const char text[] = "the handler allocates\n";
  if (cs_process.ring == NULL || cs_process.pid == 0) return;
  const int tid = cs_gettid();
  if (cs_crasher_of(tid) == NULL && !cs_sweep_is_answering(tid)) return;
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(98);
  _exit(99);
}

void *malloc(size_t size) {
  refuse_in_handler();
  return __libc_malloc(size);
}

void *calloc(size_t count, size_t size) {
  refuse_in_handler();
  return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size) {
  refuse_in_handler();
  return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  refuse_in_handler();
  return __libc_memalign(alignment, size);
}

int posix_memalign(void **ret_memory, size_t alignment, size_t size) {
  refuse_in_handler();
  *ret_memory = __libc_memalign(alignment, size);
  return *ret_memory == NULL ? ENOMEM : 0;
}

void free(void *memory) {
  refuse_in_handler();
  __libc_free(memory);
}

// Tests refuse_in_handler(): enters the state of a thread in the handler and allocates, which must end the program with
// status 99.
__attribute__((constructor(103))) static void expect_refusal(void) {
  const char *wanted = getenv("EXPECT_REFUSAL");
  static cs_ring ring;
  if (wanted == NULL) return;
  const siginfo_t information = {.si_signo = SIGSEGV};
  cs_process.ring = &ring;
  cs_process.pid = cs_getpid();
  cs_crasher_claim(cs_gettid(), SIGSEGV, &information, NULL);
  void *volatile memory = malloc(8);
  (void)memory;
  _exit(97);
}
