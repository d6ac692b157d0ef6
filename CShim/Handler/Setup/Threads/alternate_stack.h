// Alternate signal stacks of threads, and their release when the threads end.
#ifndef CS_ALTERNATE_STACK_H
#define CS_ALTERNATE_STACK_H

#include <stdbool.h>
#include <stdint.h>

// A new thread: its routine and argument, and the alternate stack that the shield gives it.
typedef struct cs_thread {
  void *(*routine)(void *);
  void *argument;
  uint8_t *memory; // the guard page, then the stack
  int round;       // the current round of destructors at the thread's end
} cs_thread;

// Precondition: called once, before the other functions. false: no key is left for thread-specific data.
bool cs_alternate_stack_prepare(void);

// Maps a stack for a thread before its creation. false: there is no memory. The creating thread maps it: if a hundred
// new threads each mapped their own, they would all wait for the lock of the address space.
bool cs_alternate_stack_map(cs_thread *thread);
void cs_alternate_stack_unmap(const cs_thread *thread);

// Installs the stack for the calling thread, unless it has an alternate stack already. true: the thread keeps `thread`,
// which malloc allocated, until its end. false: the stack was unmapped.
bool cs_alternate_stack_take(cs_thread *thread);

// Maps and installs a stack for the calling thread.
void cs_alternate_stack_give_here(void);

// Sets whether threads that start from now on get an alternate stack.
void cs_alternate_stacks_switch(bool is_on);
bool cs_alternate_stacks_are_on(void);

#endif
