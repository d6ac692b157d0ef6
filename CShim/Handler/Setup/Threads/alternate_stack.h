// Alternate signal stacks of threads, and their release when the threads end.
#ifndef CS_ALTERNATE_STACK_H
#define CS_ALTERNATE_STACK_H

#include <stdbool.h>
#include <stdint.h>

// The routine and the argument of a new thread, and the alternate stack that the shield maps for it.
typedef struct cs_thread {
  void *(*routine)(void *);
  void *argument;
  uint8_t *memory; // the mapping: the guard page, then the stack
  int round;       // the current round of destructors while the thread ends
} cs_thread;

// Returns the size of an alternate stack, without its guard page. `minimum` is the kernel's least size of a signal
// stack (AT_MINSIGSTKSZ), which depends on the vector registers.
uint64_t cs_alternate_stack_bytes(uint64_t minimum, uint64_t page);

// Prepares the other functions. Returns false if no key for thread-specific data is free. Precondition: called before
// the other functions.
bool cs_alternate_stack_prepare(void);

// Maps a stack for a thread before the thread is created. Returns false if there is no memory. The creating thread maps
// the stack. If each new thread mapped its own stack, many new threads could wait for the lock of the address space at
// the same time.
bool cs_alternate_stack_map(cs_thread *thread);
void cs_alternate_stack_unmap(const cs_thread *thread);

// Installs the stack for the calling thread, unless the thread already has an alternate stack. Returns true if the
// stack was installed. After that, the thread owns `thread`, which malloc allocated, until the thread ends. Otherwise,
// for example if the thread already has an alternate stack, unmaps the new stack and returns false.
bool cs_alternate_stack_take(cs_thread *thread);

// Maps and installs a stack for the calling thread.
void cs_alternate_stack_give_here(void);

// Sets whether threads that start after this call get an alternate stack.
void cs_alternate_stacks_switch(bool is_on);
bool cs_alternate_stacks_are_on(void);

#endif
