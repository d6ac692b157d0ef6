// Gives alternate signal stacks to threads. If a thread without an alternate stack overflows its stack, the kernel ends
// the process and runs no handler.
#include "cs_platform.h"

#if CS_SUPPORTED

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "alternate_stack.h"

// The size of an alternate stack. The shield's handler uses 7 KiB of this size. The rest is for the program's handlers
// that the shield's handler calls.
#define ALTERNATE_STACK_BYTES (UINT64_C(64) * 1024)

// The key of the thread-specific data. Its destructor releases the alternate stack when the thread ends.
static pthread_key_t key;
static bool has_key;
static uint64_t page_bytes;  // of the kernel
static uint64_t stack_bytes; // of an alternate stack, without its guard page
static uint32_t is_giving;   // atomic

static void take_back(cs_thread *thread) {
  stack_t present = {0};
  const bool is_ours = sigaltstack(NULL, &present) == 0 && present.ss_sp == thread->memory + page_bytes;
  const stack_t none = {.ss_flags = SS_DISABLE};
  // If the thread ends inside a signal handler, the thread still runs on the alternate stack, so sigaltstack() fails.
  // The alternate stack then stays mapped.
  if (!is_ours || sigaltstack(&none, NULL) == 0) cs_alternate_stack_unmap(thread);
  free(thread);
}

// pthread calls the destructors of all keys in several rounds. The destructors of other keys are code of the program
// and can also overflow the stack, so this destructor releases the alternate stack only in the last round.
static void at_thread_end(void *value) {
  cs_thread *thread = value;
  thread->round++;
  if (thread->round < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(key, thread) == 0) return;
  take_back(thread);
}

uint64_t cs_alternate_stack_bytes(uint64_t minimum, uint64_t page) {
  return (ALTERNATE_STACK_BYTES + minimum + page - 1) & ~(page - 1);
}

bool cs_alternate_stack_prepare(void) {
  page_bytes = getauxval(AT_PAGESZ);
  stack_bytes = cs_alternate_stack_bytes(getauxval(AT_MINSIGSTKSZ), page_bytes);
  // The key is never deleted, because its destructor must run when a thread with an alternate stack ends.
  if (!has_key) has_key = pthread_key_create(&key, at_thread_end) == 0;
  return has_key;
}

bool cs_alternate_stack_map(cs_thread *thread) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK;
  uint8_t *memory = mmap(NULL, stack_bytes + page_bytes, PROT_NONE, flags, -1, 0);
  if (memory == MAP_FAILED) return false;
  thread->memory = memory;
  // The lowest page stays inaccessible, as a guard page.
  if (mprotect(memory + page_bytes, stack_bytes, PROT_READ | PROT_WRITE) == 0) return true;
  cs_alternate_stack_unmap(thread);
  return false;
}

void cs_alternate_stack_unmap(const cs_thread *thread) {
  munmap(thread->memory, stack_bytes + page_bytes);
}

bool cs_alternate_stack_take(cs_thread *thread) {
  const stack_t stack = {.ss_sp = thread->memory + page_bytes, .ss_size = stack_bytes};
  stack_t present = {0};
  thread->round = 0;
  if (sigaltstack(NULL, &present) == 0 && (present.ss_flags & SS_DISABLE) != 0 &&
      pthread_setspecific(key, thread) == 0) {
    if (sigaltstack(&stack, NULL) == 0) return true;
    pthread_setspecific(key, NULL);
  }
  cs_alternate_stack_unmap(thread);
  return false;
}

void cs_alternate_stack_give_here(void) {
  cs_thread *thread = calloc(1, sizeof *thread);
  if (thread != NULL && (!cs_alternate_stack_map(thread) || !cs_alternate_stack_take(thread))) free(thread);
}

// release: pairs with the acquire load of cs_alternate_stacks_are_on(). A thread for which that function returns true
// can therefore use the key.
void cs_alternate_stacks_switch(bool is_on) {
  __atomic_store_n(&is_giving, is_on ? 1 : 0, __ATOMIC_RELEASE);
}

bool cs_alternate_stacks_are_on(void) {
  return __atomic_load_n(&is_giving, __ATOMIC_ACQUIRE) != 0;
}

#endif
