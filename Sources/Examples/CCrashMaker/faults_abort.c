// Deaths by abort(), by glibc's own checks and by a signal that was sent.
#include "faults.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

FAULT void cs_fault_abort(void) {
  abort(); // fault: abort
}

FAULT void cs_fault_libc_assert(void) {
  // What assert() expands to, also where NDEBUG is defined.
  int64_t stock = cs_opaque(-1);
  if (stock < 0) __assert_fail("stock >= 0", "warehouse.c", 12, "take_from_stock"); // fault: libc-assert
}

FAULT void cs_fault_double_free(void) {
  void *block = malloc(64);
  void *same = opaque_pointer((uint64_t)(uintptr_t)block);
  free(block);
  free(same);   // fault: double-free
  cs_opaque(1); // The call is not the last one: it keeps this frame on the stack.
}

FAULT void cs_fault_free_invalid(void) {
  // Zeros, because free() takes the words before a pointer for the size of its block.
  char *block = calloc(1, 64);
  void *inside = opaque_pointer((uint64_t)(uintptr_t)block + 24);
  free(inside); // fault: free-invalid
  cs_opaque(1);
}

FAULT void cs_fault_raise(void) {
  raise(SIGSEGV); // fault: raise
  cs_opaque(1);
}

static FAULT void kill_from_outside(int signal) {
  pid_t victim = getpid();
  pid_t child = fork();
  if (child == 0) {
    kill(victim, signal);
    _exit(0);
  }
  if (child < 0) return;
  // Bounded: the signal comes within the first of these, or something is very wrong.
  for (int second = 0; second < 10; second++) {
    sleep(1);
  }
}

// Which thread gets it is the kernel's choice: the first one, unless it blocks it.

FAULT void cs_fault_kill_from_outside(void) {
  kill_from_outside(SIGSEGV);
  cs_opaque(1);
}

FAULT void cs_fault_kill_abort_from_outside(void) {
  kill_from_outside(SIGABRT);
  cs_opaque(1);
}

FAULT void cs_fault_kill_ill_from_outside(void) {
  kill_from_outside(SIGILL);
  cs_opaque(1);
}

extern const char *volatile *swift_getFatalErrorMessageBuffer(void) __attribute__((weak));

bool cs_runtime_has_spoken(void) {
  return swift_getFatalErrorMessageBuffer == NULL || *swift_getFatalErrorMessageBuffer() != NULL;
}
