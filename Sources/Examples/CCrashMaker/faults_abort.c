// Crashes by abort(), by glibc's own checks, and by a sent signal.
#include "faults.h"

#include <assert.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

FAULT void cs_fault_abort(void) {
  abort(); // fault: abort
}

FAULT void cs_fault_libc_assert(void) {
  // Call the function to which assert() expands, because assert() itself does nothing if NDEBUG is defined.
  int64_t stock = cs_opaque(-1);
  if (stock < 0) __assert_fail("stock >= 0", "warehouse.c", 12, "take_from_stock"); // fault: libc-assert
}

FAULT void cs_fault_double_free(void) {
  void *block = malloc(64);
  void *same = opaque_pointer((uint64_t)(uintptr_t)block);
  free(block);
  free(same);   // fault: double-free
  cs_opaque(1); // A call after the fault prevents a tail call, which would remove this frame.
}

FAULT void cs_fault_free_invalid(void) {
  // Zero the block, because free() reads the size of a block from the words before the pointer.
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
  // Wait at most ten seconds; the signal normally arrives in the first second.
  for (int second = 0; second < 10; second++) {
    sleep(1);
  }
}

// The kernel chooses the thread that receives a signal for the process. The kernel chooses the first thread if that
// thread does not block the signal.

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
